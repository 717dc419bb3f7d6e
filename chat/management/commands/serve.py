"""`manage.py serve`: the whole site in one process."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from twisted.internet import reactor

from agentsite.static_files import collect
from chat.management.address import site_address
from chat.management.open_files import allow_open_files
from chat.models import SignInLink, site_owner


class Command(BaseCommand):
    help = "Prepare database and assets, then serve the site with the agent worker inside."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", metavar="HOST:PORT", help="default: BIND and PORT of the environment")

    def handle(self, *args: Any, bind: str | None, **options: Any) -> None:
        host, port = self._listen_address(bind)
        allow_open_files()
        self._make_folders()
        call_command("migrate", verbosity=0, interactive=False)
        call_command("clearsessions")
        collect()
        token = SignInLink.issue(site_owner())
        # Imported late: the application looks for collected files on import.
        from agentsite.asgi import application
        from agentsite.guard import GuardedServer

        self.server = GuardedServer(
            application=application,
            endpoints=[f"tcp:port={port}:interface={_escaped(host)}"],
            ready_callable=lambda: self._ready(application, host, token),
            ping_interval=10,
            ping_timeout=10,
            websocket_timeout=-1,
            server_name="agentsite",
        )
        self.server.run()
        if not self.server.listening_addresses:
            raise CommandError(f"{host}:{port} is taken. Choose another with PORT=8001 or --bind HOST:PORT.")

    def _listen_address(self, bind: str | None) -> tuple[str, int]:
        if bind is None:
            return settings.BIND, settings.PORT
        host, colon, port = bind.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise CommandError(f"--bind takes HOST:PORT, such as 127.0.0.1:8000, not {bind!r}.")
        return host.strip("[]") or settings.BIND, int(port)

    def _make_folders(self) -> None:
        try:
            settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(
                f"DATA_DIR must be a folder that can be written to; {str(settings.STATIC_ROOT)!r} cannot be "
                f"made: {error.strerror}."
            ) from None

    def _ready(self, application: Any, host: str, token: str) -> None:
        self.server.guard()
        _host, port = self.server.listening_addresses[0]
        self.stdout.write(f"Sign in: {site_address(host, port)}/sign-in/{token}/", ending="\n")
        self.stdout.flush()
        reactor.callLater(0, application.start)  # type: ignore[arg-type] # seconds, as documented


def _escaped(host: str) -> str:
    return host.replace(":", r"\:")
