"""`manage.py chat`: the agent in the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from chat.connections.mcp_servers import close_mcp_servers
from chat.connections.model_clients import close_models
from chat.management.address import site_address
from chat.models import MessageRefused, Preferences, Profile, Turn, site_owner
from chat.terminal.console import Console
from chat.terminal.dialogue import Dialogue
from chat.turns.agents import Shell


class Command(BaseCommand):
    help = "Talk to the agent here. The conversation is kept, and can be reviewed in the browser."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", metavar="DIR", help="work on this directory; default: a new one")
        parser.add_argument(
            "--profile",
            metavar="TITLE",
            help="the agent's profile; default: the one that you begin with in the browser",
        )
        parser.add_argument(
            "prompt", metavar="PROMPT", nargs="?", help="answer this and exit; default: a dialogue"
        )

    def handle(
        self, *args: Any, workspace: str | None, profile: str | None, prompt: str | None, **options: Any
    ) -> None:
        directory = _directory(workspace) if workspace is not None else ""
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0, interactive=False)
        console = Console(sys.stdout, colour=_colourful(options))
        owner = site_owner()
        chosen = _profile(owner, profile)
        with asyncio.Runner() as runner:
            dialogue = Dialogue(owner, chosen, directory, console, runner)
            try:
                runner.run(Shell.find_out())
                completed = self._once(dialogue, prompt) if prompt is not None else self._loop(dialogue)
            finally:
                runner.run(close_mcp_servers())
                runner.run(close_models())
        if not completed:
            sys.exit(1)

    def _once(self, dialogue: Dialogue, prompt: str) -> bool:
        try:
            turn = dialogue.take(prompt)
        except MessageRefused as refusal:
            raise CommandError(str(refusal)) from None
        self._point_to(dialogue)
        return turn.status == Turn.Status.COMPLETED

    def _loop(self, dialogue: Dialogue) -> bool:
        if sys.stdin.isatty():
            import readline  # noqa: F401 (editing and history at the prompt)
        if settings.DEMO:
            dialogue.console.line(
                _("Demo mode: scripted replies, no AI. README.md explains how to connect a model.")
            )
        if Shell.problem:
            dialogue.console.line(Shell.problem, "quiet")
        dialogue.console.line(_("Ctrl-C stops a turn; exit or Ctrl-D quits."), "quiet")
        dialogue.run()
        self._point_to(dialogue)
        return not dialogue.leaving

    def _point_to(self, dialogue: Dialogue) -> None:
        if dialogue.conversation:
            site = site_address(settings.BIND, settings.PORT)
            dialogue.console.gap()
            dialogue.console.line(
                _("In the browser: %s") % f"{site}/conversations/{dialogue.conversation.pk}/"
            )


def _profile(owner: User, title: str | None) -> Profile | None:
    """The profile with this title, case-insensitive. Raises CommandError that lists the titles."""
    offered = Profile.offered_to(owner)
    if title is None:
        return Preferences.profile_of(owner)
    match = offered.filter(title__iexact=title).first()
    if match is None:
        titles = ", ".join(offered.values_list("title", flat=True))
        raise CommandError(f"--profile takes one of these: {titles}.")
    return match


def _directory(path: str) -> str:
    directory = Path(path).expanduser().resolve()
    if not directory.is_dir():
        raise CommandError(f"--workspace takes a directory that exists; {directory} is none.")
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        raise CommandError(f"--workspace takes a directory that you may read and write; {directory} is none.")
    return str(directory)


def _colourful(options: dict[str, Any]) -> bool:
    if options["force_color"]:
        return True
    plain = options["no_color"] or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain
