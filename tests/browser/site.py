"""A served site, and the people who look at it in a real browser."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

from tests.browser.line import Line
from tests.model_server import ScriptedModel
from tests.serving import Served, until

LEFT_EARLY = "closed before the connection is established"  # a page that was left while it connected
CUT_EARLY = "closed before receiving a handshake response"  # a line that was cut while a page connected


class Site:
    """A served site with one signed-in owner; a model, and a line to it, where replies are scripted."""

    model: ScriptedModel
    way_to_model: Line

    def __init__(self, served: Served, browser: Browser) -> None:
        self.served = served
        self.browser = browser

    @cached_property
    def signed_in(self) -> Any:
        """The owner's cookies, by way of the sign-in link, which needs no script."""
        context = self.browser.new_context(java_script_enabled=False)
        context.new_page().goto(self.served.link)
        state = context.storage_state()
        context.close()
        return state

    def forget_choices(self) -> None:
        """The first page remembers a choice of profile; let it offer the usual one."""
        with self._rows() as rows:
            rows.execute("DELETE FROM chat_preferences")

    def end_turns(self) -> None:
        """Stop whatever is still at work, or it would ask the model for what another test has scripted."""
        if not self.at_work():
            return
        context = self.browser.new_context(base_url=self.served.address, storage_state=self.signed_in)
        [token] = [each["value"] for each in context.cookies() if each["name"] == "csrftoken"]
        headers = {"X-CSRFToken": token, "Origin": self.served.address}
        for conversation in self.at_work():
            context.request.post(f"/conversations/{conversation}/stop/", headers=headers, max_redirects=0)
        until(lambda: not self.at_work(), self.served.written)
        context.close()

    def at_work(self) -> list[str]:
        """The conversations in which a turn has not ended."""
        asked = "SELECT conversation_id FROM chat_turn WHERE status IN ('queued', 'running', 'waiting')"
        with self._rows() as rows:
            return [str(uuid.UUID(key)) for (key,) in rows.execute(asked)]

    @contextmanager
    def connection(self, name: str) -> Iterator[None]:
        """The owner has a connection of that name to the scripted model, which was not asked for its list."""
        self.served.shell(
            "from chat.models import Connection; from django.contrib.auth.models import User;"
            f"connection = Connection(name='{name}', base_url='{self.model.base_url}', inside=True);"
            "connection.owner = User.objects.get(); connection.save()"
        )
        yield
        self.served.shell(
            f"from chat.models import Connection; Connection.objects.get(name='{name}').delete()"
        )

    @contextmanager
    def _rows(self) -> Iterator[sqlite3.Connection]:
        """The site's database, from beside it."""
        with closing(sqlite3.connect(self.served.data / "db.sqlite3", timeout=30)) as rows, rows:
            yield rows


class Visitors:
    """Opens pages, each in a browser of its own, and notes every complaint that a browser makes.

    Errors on the console (a breach of the content security policy is one), errors of scripts, dialogs, and
    requests to anywhere but loopback are complaints, unless their text is `expected`.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        self.expected = [LEFT_EARLY]

    def enter(self, site: Site, *, address: str = "", signed_in: bool = True, **options: Any) -> Page:
        """A blank page of somebody new, whose relative addresses are the site's."""
        state = site.signed_in if signed_in else None
        base = address or site.served.address
        context = self.browser.new_context(base_url=base, storage_state=state, **options)
        context.set_default_timeout(30_000)
        context.on("request", self._note_request)
        context.on("page", self._listen)
        self.contexts.append(context)
        return context.new_page()

    def stay_alone(self, page: Page) -> None:
        """Close every browser but that of `page`."""
        for context in self.contexts:
            if context is not page.context:
                context.close()

    def close(self) -> None:
        """Close every browser, as before a site ends whose end is of no interest."""
        for context in self.contexts:
            context.close()

    def leave(self) -> None:
        """Close everything, and fail if a browser complained."""
        self.close()
        assert not self.complaints, "\n".join(self.complaints)

    def _listen(self, page: Page) -> None:
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self._note(f"script: {error}"))
        page.on("dialog", self._note_dialog)

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console: {message.text}")

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:")):
            self._note(f"request: {request.url}")

    def _note_dialog(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note(self, complaint: str) -> None:
        if not any(text in complaint for text in self.expected):
            self.complaints.append(complaint)
