"""Import of conversations from files."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import UpdateError
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from chat.agent.workspace import WorkspaceError
from chat.export.importer import import_steps
from chat.export.validation import FileRefused
from chat.export.zip_file import json_files
from chat.models import Conversation
from chat.pages.audience import audience
from chat.pages.signed_in import SignedInRequest
from chat.pages.streaming import RowsStream

PROGRESS_AFTER = 1.0  # seconds until a progress page is sent
PROGRESS_MARK = "<!-- progress -->"
IMPORTED_KEY = "imported"  # session key: the sentence for the list to which the progress page leads
MAX_SHOWN = 20  # refusals that are shown
ZIP_FILE = b"PK\x03\x04"  # its first bytes

Readers = list[tuple[str, Callable[[], bytes]]]  # names may be the same


@dataclass
class Imported:
    """The new conversations, and a sentence for each file that was refused."""

    conversations: list[Conversation] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def context(self) -> dict[str, Any]:
        return {
            "conversations": self.conversations,
            "sentence": self.sentence,
            "refusals": self.refusals[:MAX_SHOWN],
            "more_refusals": max(len(self.refusals) - MAX_SHOWN, 0),
        }

    @property
    def sentence(self) -> str:
        number = len(self.conversations)
        return ngettext("%d conversation imported.", "%d conversations imported.", number) % number


OneFile = Generator[int, None, Conversation]
Steps = Generator[int, None, Imported]


@audience("signed_in")
@require_http_methods(["GET", "HEAD", "POST"])
def import_conversations(request: SignedInRequest) -> HttpResponseBase:
    """Show the form, or import its files and redirect to the new conversation, or to the list of several.

    An import that takes longer than PROGRESS_AFTER is answered with a streamed page that shows progress. If
    the client disconnects, the import is cancelled.
    """
    if request.method != "POST":
        return _page(request)
    deadline = time.monotonic() + PROGRESS_AFTER
    try:
        steps = _import_all(_readers(request.FILES.getlist("file")), request.user)
        while time.monotonic() < deadline:
            next(steps)
    except StopIteration as end:
        return _answer(request, end.value)
    except FileRefused as refusal:
        return _page(request, Imported(refusals=[str(refusal)]))
    return StreamingHttpResponse(RowsStream(_progress_page(request, steps), batch_size=1))


def _readers(uploads: list[UploadedFile[bytes]]) -> Readers:
    """The name of each file, and a function that reads it; a zip file counts as the JSON files that it has.

    The functions, and it for files that are nothing to import, raise FileRefused.
    """
    readers: Readers = []
    for upload in uploads:
        is_zip = upload.read(len(ZIP_FILE)) == ZIP_FILE
        upload.seek(0)
        if is_zip:
            found = [(f"{upload.name}: {name}", read) for name, read in json_files(upload)]
        else:
            found = [(str(upload.name), upload.read)]
        readers += [(name, partial(_bounded, read)) for name, read in found]
    if not uploads:
        raise FileRefused(_("Choose a file first."))
    if not readers:
        raise FileRefused(_("The ZIP file has no JSON files. Export conversations as JSON to import them."))
    return readers


def _bounded(read: Callable[[int], bytes]) -> bytes:
    max_bytes = settings.MAX_UPLOAD_BYTES
    data = read(max_bytes + 1)
    if len(data) > max_bytes:
        raise FileRefused(_("The file is larger than %s.") % filesizeformat(max_bytes))
    return bytes(data)


def _import_all(readers: Readers, owner: User) -> Steps:
    """Import one file after the other, each whole or not at all; yields the percentage done."""
    imported = Imported()
    for number, (name, read) in enumerate(readers):
        try:
            steps = import_steps(read(), owner)
            imported.conversations.append((yield from _part(steps, number, len(readers))))
        except (FileRefused, OSError, WorkspaceError, DatabaseError) as error:
            sentence = _refusal(error)
            imported.refusals.append(name + _(": ") + sentence if len(readers) > 1 else sentence)
        yield 100 * (number + 1) // len(readers)
    return imported


def _part(steps: OneFile, number: int, total: int) -> OneFile:
    """The steps of one file of several, with the percentage of all."""
    try:
        while True:
            yield (100 * number + next(steps)) // total
    except StopIteration as end:
        conversation: Conversation = end.value
        return conversation
    finally:
        steps.close()


def _progress_page(request: SignedInRequest, steps: Steps) -> Generator[str, None, None]:
    head, _mark, tail = render_to_string("importing.html", {"mark": PROGRESS_MARK}, request).partition(
        PROGRESS_MARK
    )
    yield head
    try:
        imported = yield from _bars(steps)
    finally:
        steps.close()
    if not imported.refusals and len(imported.conversations) > 1:
        request.session[IMPORTED_KEY] = imported.sentence
        with suppress(UpdateError):  # signed out meanwhile
            request.session.save()  # the page is on its way: the middleware has had its turn
    yield render_to_string("partials/_imported.html", imported.context())
    yield tail


def _bars(steps: Steps) -> Generator[str, None, Imported]:
    shown = -1
    while True:
        try:
            percent = next(steps)
        except StopIteration as end:
            imported: Imported = end.value
            return imported
        # Without progress a space is sent, which fails if the client has disconnected.
        bar = format_html('<progress max="100" value="{0}">{0}%</progress>', percent)
        yield bar if percent > shown else " "
        shown = max(shown, percent)


def _refusal(error: Exception) -> str:
    if isinstance(error, FileRefused):
        return str(error)
    if isinstance(error, DatabaseError):
        return _("Not imported: the database is unavailable, or the disk is full. Try again later.")
    return _("The disk is full, or the workspace could not be created.")


def _answer(request: SignedInRequest, imported: Imported) -> HttpResponse:
    if imported.refusals:
        return _page(request, imported)
    if len(imported.conversations) == 1:
        return redirect("conversation", imported.conversations[0].pk)
    messages.success(request, imported.sentence)
    return redirect("conversations")


def _page(request: SignedInRequest, imported: Imported | None = None) -> HttpResponse:
    imported = imported or Imported()
    context = {**imported.context(), "most_bytes": settings.MAX_UPLOAD_BYTES}
    is_refused = imported.refusals and not imported.conversations
    return render(request, "bring_in.html", context, status=400 if is_refused else 200)
