"""What anybody sees who has a share link: a record to be read, and nothing that can be done."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from chat.agent.pictures import HEAD, image_type
from chat.agent.workspace import WorkspaceError
from chat.export.page import Reading
from chat.export.pictures import digests_of
from chat.export.record import Record
from chat.files.conversation_workspace import workspace_of
from chat.files.names import safe_name
from chat.files.pictures import PictureStore
from chat.files.shared_files import open_shared, unchanged
from chat.models import ShareLink
from chat.pages.files import SANDBOXED, sent
from chat.pages.read_only import read_only_page
from chat.pages.streaming import Stream, content

# The address is a secret: no page that is linked to learns it, no cache keeps what was at it, no search
# engine lists it.
QUIET = {
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}

View = Callable[..., HttpResponseBase]


def for_anybody(view: Callable[..., HttpResponseBase]) -> View:
    """A view of a link that leads somewhere; all others are answered alike."""

    @login_not_required
    @require_safe
    @wraps(view)
    def answer(request: HttpRequest, token: str, **parts: Any) -> HttpResponseBase:
        link = ShareLink.led_to(token)
        try:
            response = view(link, **parts) if link else _nothing(request)
        except (Http404, WorkspaceError):
            response = _nothing(request)
        for name, value in QUIET.items():
            response.headers[name] = value
        return response

    return answer


@for_anybody
def shared(link: ShareLink) -> HttpResponseBase:
    """The conversation as it was."""
    files = unchanged(workspace_of(link.conversation), link.files)
    return _page(link, "reading/shared.html", files=files, gone=len(link.files) - len(files))


@for_anybody
def shared_replay(link: ShareLink) -> HttpResponseBase:
    """It again, in order."""
    return _page(link, "reading/replay.html", replays=True, back=reverse("shared", args=[link.token]))


@for_anybody
def shared_picture(link: ShareLink, digest: str) -> HttpResponseBase:
    """A picture that belongs to what is shared, where files are."""
    if not link.with_files or digest not in digests_of(link.conversation, link.last_turn):
        raise Http404
    data = PictureStore(link.conversation_id).read(digest)
    if data is None:
        raise Http404
    confined = {"Content-Security-Policy": SANDBOXED, "X-Content-Type-Options": "nosniff"}
    return HttpResponse(data, content_type=image_type(data[:HEAD]), headers=confined)


@for_anybody
def shared_file(link: ShareLink, path: str) -> HttpResponseBase:
    """A file that is as it was when it was shared, to be kept and never to be shown."""
    opened = open_shared(workspace_of(link.conversation), link.files, path)
    return sent(Stream(content(opened)), name=safe_name(path))


def _page(link: ShareLink, template: str, *, replays: bool = False, **more: Any) -> HttpResponseBase:
    record = Record.until(link.conversation, link.title, link.last_turn, link.last_revision)

    def picture(digest: str) -> str:
        return reverse("shared_picture", args=[link.token, digest]) if link.with_files else ""

    reading = Reading(picture, is_public=True, replays=replays)
    return read_only_page(record, reading, template, link=link, **more)


def _nothing(request: HttpRequest) -> HttpResponse:
    return render(request, "404.html", status=404)
