"""Import of a conversation from a file."""

from __future__ import annotations

import time
from collections.abc import Generator

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from chat.agent.workspace import WorkspaceError
from chat.export.importer import import_steps
from chat.export.validation import FileRefused
from chat.models import Conversation
from chat.pages.audience import audience
from chat.pages.signed_in import SignedInRequest
from chat.pages.streaming import RowsStream

PROGRESS_AFTER = 1.0  # seconds until a progress page is sent
PROGRESS_MARK = "<!-- progress -->"

Steps = Generator[int, None, Conversation]


@audience("signed_in")
@require_http_methods(["GET", "HEAD", "POST"])
def import_conversation(request: SignedInRequest) -> HttpResponseBase:
    """Show the form, or import its file and redirect to the new conversation.

    An import that takes longer than PROGRESS_AFTER is answered with a streamed page that shows progress. If
    the client disconnects, the import is cancelled.
    """
    if request.method != "POST":
        return _page(request)
    deadline = time.monotonic() + PROGRESS_AFTER
    try:
        steps = import_steps(_content(request.FILES.get("file")), request.user)
        while time.monotonic() < deadline:
            next(steps)
    except StopIteration as end:
        return redirect("conversation", end.value.pk)
    except (FileRefused, OSError, WorkspaceError) as error:
        return _page(request, _refusal(error))
    return StreamingHttpResponse(RowsStream(_progress_page(request, steps), batch_size=1))


def _progress_page(request: SignedInRequest, steps: Steps) -> Generator[str, None, None]:
    head, _mark, tail = render_to_string("importing.html", {"mark": PROGRESS_MARK}, request).partition(
        PROGRESS_MARK
    )
    yield head
    try:
        conversation = yield from _bars(steps)
        yield render_to_string("partials/_imported.html", {"conversation": conversation})
    except (FileRefused, OSError, WorkspaceError, DatabaseError) as error:
        yield render_to_string("partials/_imported.html", {"refusal": _refusal(error)})
    finally:
        steps.close()
    yield tail


def _bars(steps: Steps) -> Generator[str, None, Conversation]:
    shown = -1
    while True:
        try:
            percent = next(steps)
        except StopIteration as end:
            conversation: Conversation = end.value
            return conversation
        # Without progress a space is sent, which fails if the client has disconnected.
        bar = format_html('<progress max="100" value="{0}">{0}%</progress>', percent)
        yield bar if percent > shown else " "
        shown = max(shown, percent)


def _refusal(error: Exception) -> str:
    if isinstance(error, FileRefused):
        return str(error)
    if isinstance(error, DatabaseError):
        return _("Nothing was imported: the database is unavailable, or the disk is full. Try again later.")
    return _("The disk is full, or the workspace could not be created.")


def _content(file: UploadedFile[bytes] | None) -> bytes:
    if file is None:
        raise FileRefused(_("Choose a file first."))
    max_bytes = settings.MAX_UPLOAD_BYTES
    if (file.size or 0) > max_bytes:
        raise FileRefused(_("The file is larger than %s.") % filesizeformat(max_bytes))
    return bytes(file.read())


def _page(request: SignedInRequest, refusal: str = "") -> HttpResponse:
    context = {"refusal": refusal, "most_bytes": settings.MAX_UPLOAD_BYTES}
    return render(request, "bring_in.html", context, status=400 if refusal else 200)
