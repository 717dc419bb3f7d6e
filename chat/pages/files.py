"""The files of a conversation's workspace: seen, compared, taken out, brought in."""

from __future__ import annotations

import os
import uuid
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from chat.agent.pictures import HEAD, image_type
from chat.agent.scan import scan_workspace
from chat.agent.workspace import WorkspaceError
from chat.files.archive import archive, open_file
from chat.files.baseline import changes, start_of
from chat.files.colour import coloured_file
from chat.files.conversation_workspace import folder_of, open_workspace, workspace_of
from chat.files.names import safe_name
from chat.files.pictures import PictureStore
from chat.files.preview import MOST_PAINTED, FilePreview, look_at
from chat.files.tree import Tree, shown, tree_of
from chat.files.uploads import UploadRefused, save_uploads
from chat.live.diff import Diff, diff_of
from chat.models import Conversation
from chat.pages.attachments import uploads_of
from chat.pages.conversation import own_conversation
from chat.pages.signed_in import SignedInRequest
from chat.pages.streaming import Stream, content
from chat.search.index import index_files

# Whatever lies in a workspace, a browser that opens it runs nothing, fetches nothing, and shares no origin.
SANDBOXED = "sandbox; default-src 'none'; frame-ancestors 'none'"
_CONFINED = {"Content-Security-Policy": SANDBOXED, "X-Content-Type-Options": "nosniff"}


@require_safe
def folder(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """What is in a folder and beneath it: a page, or the part of one that stands beside the chat."""
    return _folder(request, own_conversation(request, conversation_id))


@require_safe
def file(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """One file: its text, its picture, or what changed in it since the conversation's start."""
    conversation = own_conversation(request, conversation_id)
    try:
        seen = look_at(workspace_of(conversation), request.GET.get("path", ""), start_of(conversation.pk))
    except WorkspaceError as error:
        return _draw(request, conversation, "_file", {"problem": str(error)}, status=404)
    compared = seen.kind == "other" or request.GET.get("as") == "change"
    diff = _diff(seen) if compared and seen.can_be_compared else None
    html = coloured_file(seen.text, seen.name) if seen.kind == "text" and not diff else ""
    lines = range(1, seen.text.count("\n") + (not seen.text.endswith("\n")) + 1) if html else range(0)
    context = {"file": seen, "diff": diff, "html": html, "numbers": "\n".join(map(str, lines))}
    return _draw(request, conversation, "_file", context)


@require_safe
def image(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """A picture, as its bytes say that it is one."""
    opened = _opened(request, own_conversation(request, conversation_id))
    kind = image_type(os.pread(opened, HEAD, 0))
    if not kind or os.fstat(opened).st_size > MOST_PAINTED:
        os.close(opened)
        raise Http404
    return sent(Stream(content(opened)), kind)


@require_safe
def picture(request: SignedInRequest, conversation_id: uuid.UUID, digest: str) -> HttpResponse:
    """A picture that came with a message or was looked at, as it was then."""
    data = PictureStore(own_conversation(request, conversation_id).pk).read(digest)
    if data is None:
        raise Http404
    # The same address is the same picture for ever.
    headers = {**_CONFINED, "Cache-Control": "private, max-age=86400, immutable"}
    return HttpResponse(data, content_type=image_type(data[:HEAD]), headers=headers)


@require_safe
def download(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """One file, to be kept and never to be shown."""
    opened = _opened(request, own_conversation(request, conversation_id))
    return sent(Stream(content(opened)), name=safe_name(request.GET.get("path", "")))


@require_safe
def download_all(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """The whole workspace as a zip file."""
    conversation = own_conversation(request, conversation_id)
    try:
        pieces = Stream(archive(workspace_of(conversation)))
    except WorkspaceError as error:
        return _draw(request, conversation, "_file", {"problem": str(error)}, status=404)
    return sent(pieces, name=f"{safe_name(conversation.title)[:60].strip()}.zip")


@require_POST
def upload(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Bring files into the workspace, with no message about them."""
    conversation = own_conversation(request, conversation_id)
    try:
        index_files(conversation, save_uploads(open_workspace(conversation), uploads_of(request)))
    except (UploadRefused, WorkspaceError) as refusal:
        return _folder(request, conversation, problem=str(refusal), status=400)
    return redirect("files", conversation.pk)


def _folder(
    request: SignedInRequest, conversation: Conversation, problem: str = "", status: int = 200
) -> HttpResponse:
    tree = None
    try:
        tree = _tree(conversation, request.GET.get("path", "."))
    except WorkspaceError as error:
        problem, status = problem or str(error), 404
    return _draw(request, conversation, "_files", {"tree": tree, "problem": problem}, status)


def _tree(conversation: Conversation, path: str) -> Tree:
    if not conversation.workspace and not folder_of(conversation).is_dir():
        return tree_of(".", [], {}, whole=True)  # nobody has worked there yet
    workspace = workspace_of(conversation)
    found = scan_workspace(workspace, path)
    changed = changes(workspace, start_of(conversation.pk), found)
    return tree_of(found.path, found.entries, changed, whole=found.whole)


def _diff(seen: FilePreview) -> Diff:
    before = None if seen.change == "new" else seen.before
    return diff_of(before, seen.text if seen.kind == "text" else seen.after, cut=seen.is_cut)


def _opened(request: SignedInRequest, conversation: Conversation) -> int:
    try:
        return open_file(workspace_of(conversation), request.GET.get("path", ""))
    except WorkspaceError as error:
        raise Http404(str(error)) from None


def sent(
    body: Stream, kind: str = "application/octet-stream", name: str | None = None
) -> StreamingHttpResponse:
    headers = {**_CONFINED, "Cache-Control": "private, no-store"}
    if name is not None:
        headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return StreamingHttpResponse(body, content_type=kind, headers=headers)


def _draw(
    request: SignedInRequest,
    conversation: Conversation,
    name: str,
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponse:
    """The partial alone for the panel beside the chat, which asks with `HX-Request`; else a page with it."""
    in_panel = "HX-Request" in request.headers
    context |= {
        "conversation": conversation,
        "in_panel": in_panel,
        "folder": shown(str(conversation.workspace)),
        "part": f"partials/{name}.html",
    }
    # What is refused is shown all the same, and htmx puts no refusal on a page.
    return render(
        request, context["part"] if in_panel else "files.html", context, status=200 if in_panel else status
    )
