"""Public pages for the holder of a share link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from chat.agent.pictures import HEAD, image_type
from chat.agent.workspace import WorkspaceError
from chat.export.page import ReadOnly
from chat.export.pictures import digests_of
from chat.export.record import Record
from chat.files.conversation_workspace import workspace_of
from chat.files.names import safe_name
from chat.files.pictures import PictureStore
from chat.files.preview import PICTURE_NAMES
from chat.files.shared_files import open_shared, unchanged
from chat.models import ShareLink
from chat.pages.audience import audience
from chat.pages.files import SANDBOXED, file_response, image_response
from chat.pages.read_only import read_only_page
from chat.pages.streaming import Stream, content

# The URL is a secret: keep it out of referrers, caches and search engines.
PRIVACY_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}

View = Callable[..., HttpResponseBase]


def public(view: Callable[..., HttpResponseBase]) -> View:
    """Make a view public. It gets the live link; one that has ended gets a 410, an unknown token a 404."""

    @audience("anyone")
    @require_safe
    @wraps(view)
    def answer(request: HttpRequest, token: str, **kwargs: Any) -> HttpResponseBase:
        link = ShareLink.by_token(token)
        try:
            response = _answer(request, link, view, **kwargs)
        except (Http404, WorkspaceError):
            response = render(request, "404.html", status=404)
        for name, value in PRIVACY_HEADERS.items():
            response.headers[name] = value
        return response

    return answer


def _answer(request: HttpRequest, link: ShareLink | None, view: View, **kwargs: Any) -> HttpResponseBase:
    if link is None:
        raise Http404
    if not link.is_live:
        return render(request, "share_ended.html", {"link": link}, status=410)
    return view(link, **kwargs)


@public
def shared(link: ShareLink) -> HttpResponseBase:
    return _page(link, "reading/shared.html")


@public
def shared_replay(link: ShareLink) -> HttpResponseBase:
    return _page(link, "reading/replay.html", replays=True, back=reverse("shared", args=[link.token]))


@public
def shared_picture(link: ShareLink, digest: str) -> HttpResponseBase:
    if not link.with_files or digest not in digests_of(link.conversation, link.last_turn):
        raise Http404
    data = PictureStore(link.conversation_id).read(digest)
    if data is None:
        raise Http404
    headers = {"Content-Security-Policy": SANDBOXED, "X-Content-Type-Options": "nosniff"}
    return HttpResponse(data, content_type=image_type(data[:HEAD]), headers=headers)


@public
def shared_image(link: ShareLink, path: str) -> HttpResponseBase:
    return image_response(open_shared(workspace_of(link.conversation), link.files, path), path)


@public
def shared_file(link: ShareLink, path: str) -> HttpResponseBase:
    descriptor = open_shared(workspace_of(link.conversation), link.files, path)
    return file_response(Stream(content(descriptor)), name=safe_name(path))


def _page(link: ShareLink, template: str, *, replays: bool = False, **more: Any) -> HttpResponseBase:
    record = Record.until(link.conversation, link.title, link.last_turn, link.last_revision)

    def picture(digest: str) -> str:
        return reverse("shared_picture", args=[link.token, digest]) if link.with_files else ""

    files = unchanged(workspace_of(link.conversation), link.files)
    urls = SharedFiles(link.token, frozenset(file["path"] for file in files))
    read_only = ReadOnly(picture, urls, is_public=True, replays=replays)
    more |= {"link": link, "files": files, "gone": len(link.files) - len(files)}
    return read_only_page(record, read_only, template, **more)


@dataclass(frozen=True)
class SharedFiles:
    """The URLs of the files that a link still shares."""

    token: str
    paths: frozenset[str]

    def file(self, path: str) -> str:
        view = "shared_image" if path.lower().endswith(PICTURE_NAMES) else "shared_file"
        return reverse(view, args=[self.token, path]) if path in self.paths else ""

    def picture(self, path: str) -> str:
        return reverse("shared_image", args=[self.token, path]) if path in self.paths else ""
