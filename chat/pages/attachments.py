"""Files that come with a message."""

from __future__ import annotations

import uuid
from typing import cast

from chat.agent.pictures import HEAD, MAX_BYTES, image_type
from chat.files.conversation_workspace import open_workspace, remove_workspace
from chat.files.pictures import PictureStore
from chat.files.roots import chosen_folder
from chat.files.uploads import Upload, check_uploads, naming, save_uploads
from chat.models import Attachment, Conversation, FollowUp, Profile, Turn
from chat.models.message import checked_message
from chat.pages.signed_in import SignedInRequest


def uploads_of(request: SignedInRequest) -> list[Upload]:
    """The files that the request brings; raises UploadRefused if they are too many or too large."""
    uploads = cast("list[Upload]", request.FILES.getlist("files"))
    check_uploads(uploads)
    return uploads


def message_of(
    request: SignedInRequest, conversation: Conversation, client_id: uuid.UUID
) -> tuple[str, list[Attachment]]:
    """The message's text, and the files that came with it: they are in the workspace now, and it names them.

    Raises UploadRefused, MessageRefused and WorkspaceError; then nothing was kept.
    """
    text = request.POST.get("text", "")
    uploads = uploads_of(request)
    if not uploads or _is_known(client_id):
        return text, []
    if text.strip():
        checked_message(text)
    names = save_uploads(open_workspace(conversation), uploads)
    album = PictureStore(conversation.pk)
    attached = [_attached(album, name, upload) for name, upload in zip(names, uploads, strict=True)]
    return naming(text, names), attached


def _attached(album: PictureStore, path: str, upload: Upload) -> Attachment:
    """The file as it came. Only what may be a picture, and is none too large, is looked at whole."""
    pieces = iter(upload.chunks())
    head = next(pieces, b"")
    attachment = Attachment(path=path, size=upload.size or len(head), media_type=image_type(head[:HEAD]))
    if not attachment.media_type:
        return attachment
    if attachment.size > MAX_BYTES:
        attachment.fault = Attachment.Fault.LARGE
        return attachment
    picture = album.keep(path, b"".join([head, *pieces]))
    attachment.digest, attachment.fault = picture.digest, picture.fault
    return attachment


def begin(request: SignedInRequest, client_id: uuid.UUID, profile: Profile | None) -> Conversation:
    """The conversation that the first page's form begins, on the folder and with the files that came with it.

    Raises what `message_of` raises, and FolderRefused.
    """
    folder = chosen_folder(request.POST.get("workspace", ""))
    new = Conversation(pk=uuid.uuid4(), owner=request.user, workspace=folder)
    try:
        text, attached = message_of(request, new, client_id)
        begun = Conversation.begin(request.user, text, client_id, profile, folder, new.pk, attached)
    except Exception:
        remove_workspace(new.pk)
        raise
    if begun != new:  # the same form, sent twice
        remove_workspace(new.pk)
    return begun


def _is_known(client_id: uuid.UUID) -> bool:
    """Whether a message of this id was taken before."""
    return any(rows.objects.filter(client_id=client_id).exists() for rows in (Turn, FollowUp))
