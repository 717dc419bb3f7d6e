"""The files of a conversation's workspace: view, compare, download, upload."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe

from chat.agent.pictures import HEAD, image_type
from chat.agent.scan import scan_workspace
from chat.agent.tools.bash import without_terminal_codes
from chat.agent.workspace import WorkspaceError
from chat.export.zip_file import file_name
from chat.files.archive import archive, open_file
from chat.files.baseline import baseline_of, changes
from chat.files.colour import coloured_file
from chat.files.conversation_workspace import (
    delete_in,
    folder_of,
    rename_in,
    upload_files,
    version_with,
    workspace_of,
)
from chat.files.names import safe_name
from chat.files.pictures import PictureStore
from chat.files.preview import (
    MAX_IMAGE_BYTES,
    PDF,
    SVG,
    SVG_HEAD,
    FilePreview,
    picture_type,
    preview_of,
    table_of,
    text_of,
)
from chat.files.tree import Tree, address, shown, tree_of
from chat.files.uploads import UploadRefused
from chat.files.web_page import has_scripts, web_page_of
from chat.live.broadcast import publish_attachments_sync, publish_regions
from chat.live.diff import Diff, diff_of
from chat.models import Conversation
from chat.pages.attachments import uploads_of
from chat.pages.audience import audience
from chat.pages.conversation import own_conversation
from chat.pages.page_or_part import page_or_part
from chat.pages.signed_in import SignedInRequest
from chat.pages.streaming import Stream, content
from chat.search.index import index_files, unindex_file

# For files of a workspace: no scripts, no requests and an opaque origin.
SANDBOXED = "sandbox; default-src 'none'; frame-ancestors 'none'"
SVG_SANDBOXED = f"{SANDBOXED}; style-src 'unsafe-inline'"  # without it most would have no colours
PDF_CONFINED = "default-src 'none'; frame-ancestors 'none'"  # a viewer may not work in a sandbox
PAGE_SANDBOXED = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; frame-ancestors 'self'"
)
# With scripts, but no requests and no new tabs; the policy of the page around the frame lets it go nowhere.
# `Sec-Fetch-Dest` tells a frame from a tab, where it could. No policy forbids WebRTC, so the user decides.
PAGE_RUNNING = (
    "sandbox allow-scripts allow-forms allow-modals; default-src 'none'; script-src 'unsafe-inline' data:; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; "
    "form-action 'none'; frame-ancestors 'self'"
)
_MANY_LINES = 4000  # whose numbers would make scrolling jerk if they stayed beside long lines
_CONFINED = {"Content-Security-Policy": SANDBOXED, "X-Content-Type-Options": "nosniff"}


@audience("owner")
@require_safe
def folder(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    return _folder(request, own_conversation(request, conversation_id))


@audience("owner")
@require_safe
def file(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """A file as it is now, or `as` "change", "source" or "running"; with `picture`, that as it was sent."""
    conversation = own_conversation(request, conversation_id)
    digest = request.GET.get("picture", "")
    if digest and PictureStore(conversation.pk).read(digest) is not None:
        name = shown(request.GET.get("path", "").rpartition("/")[2])
        return _render(request, conversation, "_picture", {"digest": digest, "name": name})
    return _file(request, conversation, request.GET.get("path", ""), request.GET.get("as", ""))


def _file(
    request: SignedInRequest, conversation: Conversation, path: str, shown_as: str, problem: str = ""
) -> HttpResponse:
    """The file, with the problem for which its new name was refused."""
    own_address = _file_address(conversation, path, shown_as)
    try:
        preview = preview_of(workspace_of(conversation), path, baseline_of(conversation.pk))
    except WorkspaceError as error:
        return _missing_file(request, conversation, path, own_address, error)
    has_no_text = preview.kind == "other" and preview.change != "new"
    wants_diff = has_no_text or shown_as == "change"
    diff = _diff(preview) if wants_diff and preview.can_be_compared else None
    context: dict[str, Any] = {"file": preview, "diff": diff, "problem": problem}
    context |= {"address": own_address, "shown_as": shown_as}
    if preview.kind == "text" and not diff:
        context |= _text(preview, as_source=shown_as == "source")
        context["is_running"] = shown_as == "running"
    return _render(request, conversation, "_file", context, status=400 if problem else 200)


def _file_address(conversation: Conversation, path: str, shown_as: str) -> str:
    as_shown = f"&{urlencode({'as': shown_as})}" if shown_as else ""
    return reverse("file", args=[conversation.pk]) + address(path) + as_shown


def _missing_file(
    request: SignedInRequest, conversation: Conversation, path: str, own_address: str, error: WorkspaceError
) -> HttpResponse:
    problem, elsewhere = str(error), None
    if isinstance(error.__cause__, FileNotFoundError):
        elsewhere = version_with(conversation, path)
        if conversation.imported_at:
            problem = _("This file is not here: an imported conversation comes without its files.")
        elif elsewhere is None:
            problem = _(
                "This file is not in this version of the conversation: it is in another one, "
                "or was deleted or renamed."
            )
        else:
            problem = _("This file is not there any more: it was deleted or renamed.")
    context = {"problem": problem, "elsewhere": elsewhere, "missing": path, "find": shown(path)}
    context["address"] = own_address
    response = _render(request, conversation, "_file", context, status=404)
    add_never_cache_headers(response)  # it may be there when the user comes back, with another version
    return response


def _text(preview: FilePreview, as_source: bool) -> dict[str, Any]:
    """The text as what it describes, if it is known to be that, else its source with colours and numbers."""
    if preview.rendering and not as_source:
        table = table_of(preview.text) if preview.rendering == "table" else None
        if table or preview.rendering != "table":
            runs = preview.rendering == "page" and has_scripts(preview.text)
            return {"rendering": preview.rendering, "table": table, "has_scripts": runs}
    html = coloured_file(preview.text, preview.name)
    wraps = preview.name.lower().endswith(".txt")  # written to be read
    context = {"html": html, "is_long": preview.text.count("\n") > _MANY_LINES, "wraps": wraps}
    return {**context, "as_source": as_source and preview.rendering}


@audience("owner")
@require_safe
def image(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    descriptor = _open(request, own_conversation(request, conversation_id))
    return image_response(descriptor, request.GET.get("path", ""))


@audience("owner")
@require_safe
def pdf(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """A PDF file for the browser's own viewer."""
    descriptor = _open(request, own_conversation(request, conversation_id))
    if os.pread(descriptor, len(PDF), 0) != PDF:
        os.close(descriptor)
        raise Http404
    response = file_response(Stream(content(descriptor)), "application/pdf")
    name = safe_name(request.GET.get("path", ""))
    response.headers["Content-Disposition"] = content_disposition_header(False, name) or "inline"
    response.headers["Content-Security-Policy"] = PDF_CONFINED
    return response


@audience("owner")
@xframe_options_sameorigin
@require_safe
def web_page(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """An HTML file for a frame, with its stylesheets and pictures, without requests; `scripts` run or not."""
    workspace = workspace_of(own_conversation(request, conversation_id))
    scripts = "scripts" in request.GET and request.headers.get("Sec-Fetch-Dest") == "iframe"
    try:
        page = web_page_of(workspace, request.GET.get("path", ""), scripts=scripts)
    except WorkspaceError as error:
        raise Http404(str(error)) from None
    headers = {
        **_CONFINED,
        "Content-Security-Policy": PAGE_RUNNING if scripts else PAGE_SANDBOXED,
        "X-DNS-Prefetch-Control": "off",  # of the hosts of its links
        "Cache-Control": "private, no-store",
    }
    return HttpResponse(page, headers=headers)


def image_response(descriptor: int, path: str) -> HttpResponseBase:
    """The picture, after which the descriptor is closed; raises Http404 if it is none."""
    kind = picture_type(path, os.pread(descriptor, SVG_HEAD, 0))
    if not kind or os.fstat(descriptor).st_size > MAX_IMAGE_BYTES:
        os.close(descriptor)
        raise Http404
    response = file_response(Stream(content(descriptor)), kind)
    if kind == SVG:
        response.headers["Content-Security-Policy"] = SVG_SANDBOXED
    return response


@audience("owner")
@require_safe
def picture(request: SignedInRequest, conversation_id: uuid.UUID, digest: str) -> HttpResponse:
    """A stored picture of a message or tool call, as it was when it was stored."""
    data = PictureStore(own_conversation(request, conversation_id).pk).read(digest)
    if data is None:
        raise Http404
    # The URL has the content's digest.
    headers = {**_CONFINED, "Cache-Control": "private, max-age=86400, immutable"}
    return HttpResponse(data, content_type=image_type(data[:HEAD]), headers=headers)


@audience("owner")
@require_safe
def download(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    descriptor = _open(request, own_conversation(request, conversation_id))
    return file_response(Stream(content(descriptor)), name=safe_name(request.GET.get("path", "")))


@audience("owner")
@require_safe
def download_all(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    conversation = own_conversation(request, conversation_id)
    try:
        pieces = Stream(archive(workspace_of(conversation)))
    except WorkspaceError as error:
        return _render(request, conversation, "_file", {"problem": str(error)}, status=404)
    return file_response(pieces, name=file_name(conversation, "zip"))


@audience("owner")
@require_POST
def upload(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    try:
        index_files(conversation, upload_files(conversation, uploads_of(request)))
    except (UploadRefused, WorkspaceError) as refusal:
        return _folder(request, conversation, problem=str(refusal), status=400)
    async_to_sync(publish_regions)(conversation.pk, "files_button")
    return redirect("files", conversation.pk)


@audience("owner")
@require_POST
def rename(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Rename a file, and stay in it where it was open: `folder` names the list from which it was renamed."""
    conversation = own_conversation(request, conversation_id)
    path, name = request.POST.get("path", ""), request.POST.get("name", "").strip()
    shown_as = request.POST.get("as", "")
    was_open = not request.POST.get("folder")
    try:
        with _at_rest(conversation):
            new = rename_in(conversation, path, name)
    except WorkspaceError as refusal:
        if was_open:
            return _file(request, conversation, path, shown_as, problem=str(refusal))
        return _folder(request, conversation, problem=str(refusal), status=400)
    _changed(conversation, path, [new])
    publish_attachments_sync(conversation.pk, new)
    if was_open:
        return redirect(_file_address(conversation, new, shown_as))
    return _to_folder(request, conversation)


@audience("owner")
@require_POST
def delete(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    path = request.POST.get("path", "")
    try:
        with _at_rest(conversation):
            delete_in(conversation, path)
    except WorkspaceError as refusal:
        return _folder(request, conversation, problem=str(refusal), status=400)
    _changed(conversation, path, [])
    return _to_folder(request, conversation)


def _changed(conversation: Conversation, gone: str, new: list[str]) -> None:
    unindex_file(conversation, gone)
    index_files(conversation, new)
    async_to_sync(publish_regions)(conversation.pk, "files_button", "follow_ups")


def _to_folder(request: SignedInRequest, conversation: Conversation) -> HttpResponse:
    query = {"path": request.POST.get("folder") or "."}
    return redirect(f"{reverse('files', args=[conversation.pk])}?{urlencode(query)}")


@contextmanager
def _at_rest(conversation: Conversation) -> Iterator[None]:
    """Keeps a turn from starting; raises WorkspaceError if one is active."""
    with transaction.atomic():
        conversation.lock()
        if conversation.is_working():
            raise WorkspaceError(
                _("The agent is working with these files. Rename or delete them when it has finished.")
            )
        yield


def _folder(
    request: SignedInRequest, conversation: Conversation, problem: str = "", status: int = 200
) -> HttpResponse:
    tree = None
    try:
        tree = _tree(conversation, request.POST.get("folder") or request.GET.get("path", "."))
    except WorkspaceError as error:
        problem, status = problem or str(error), 404
    return _render(request, conversation, "_files", {"tree": tree, "problem": problem}, status)


def _tree(conversation: Conversation, path: str) -> Tree:
    if not conversation.workspace and not folder_of(conversation).is_dir():
        return tree_of(".", [], {}, whole=True)  # created on first use
    workspace = workspace_of(conversation)
    scan = scan_workspace(workspace, path)
    changed = changes(workspace, baseline_of(conversation.pk), scan)
    return tree_of(scan.path, scan.entries, changed, whole=scan.whole)


def _diff(preview: FilePreview) -> Diff:
    before = None if preview.change == "new" else preview.before
    after = preview.text if preview.kind == "text" else _comparable(preview.after)
    return diff_of(_comparable(before), after, cut=preview.is_cut)


def _comparable(data: bytes | None) -> str | bytes | None:
    decoded = text_of(data, cut=True) if data else None
    return without_terminal_codes(decoded[0]) if decoded else data and b"\0"


def _open(request: SignedInRequest, conversation: Conversation) -> int:
    try:
        return open_file(workspace_of(conversation), request.GET.get("path", ""))
    except WorkspaceError as error:
        raise Http404(str(error)) from None


def file_response(
    body: Stream, media_type: str = "application/octet-stream", name: str | None = None
) -> StreamingHttpResponse:
    headers = {**_CONFINED, "Cache-Control": "private, no-store"}
    if name is not None:
        headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return StreamingHttpResponse(body, content_type=media_type, headers=headers)


def _render(
    request: SignedInRequest,
    conversation: Conversation,
    name: str,
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponse:
    """Renders the partial alone if the panel asks (`HX-Request`), else a page with it."""
    context |= {
        "conversation": conversation,
        "in_panel": "HX-Request" in request.headers,
        "folder": shown(str(conversation.workspace)),
        "part": f"partials/{name}.html",
    }
    return page_or_part(request, "files.html", context["part"], context, status)
