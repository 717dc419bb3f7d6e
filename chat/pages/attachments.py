"""Files that are sent with a message."""

from __future__ import annotations

import uuid
from typing import cast

from chat.agent.pictures import HEAD, MAX_BYTES, image_type
from chat.files.conversation_workspace import remove_workspace, upload_files
from chat.files.pictures import PictureStore
from chat.files.roots import chosen_folder
from chat.files.uploads import Upload, check_uploads, with_file_names
from chat.models import Attachment, Conversation, FollowUp, ModelSettings, Profile, Turn
from chat.models.message import checked_message
from chat.pages.signed_in import SignedInRequest


def uploads_of(request: SignedInRequest) -> list[Upload]:
    """The request's files. Raises UploadRefused if they are too many or too large."""
    uploads = cast("list[Upload]", request.FILES.getlist("files"))
    for upload in uploads:
        upload.name = (upload.name or "").replace("%22", '"')  # as browsers send a quotation mark in a name
    check_uploads(uploads)
    return uploads


def message_of(
    request: SignedInRequest, conversation: Conversation, client_id: uuid.UUID
) -> tuple[str, list[Attachment]]:
    """The message's text and attachments. Saves the files in the workspace and names them in the text.

    Raises UploadRefused, MessageRefused or WorkspaceError; nothing is saved then.
    """
    text = request.POST.get("text", "")
    uploads = uploads_of(request)
    if not uploads:
        return text, []
    if _is_known(client_id):  # its files are saved; the text only must not be blank
        return with_file_names(text, [upload.name or "" for upload in uploads]), []
    if text.strip():
        checked_message(text)
    names = upload_files(conversation, uploads)
    pictures = PictureStore(conversation.pk)
    attached = [_attachment(pictures, name, upload) for name, upload in zip(names, uploads, strict=True)]
    return with_file_names(text, names), attached


def _attachment(pictures: PictureStore, path: str, upload: Upload) -> Attachment:
    chunks = iter(upload.chunks())
    head = next(chunks, b"")
    attachment = Attachment(path=path, size=upload.size or len(head), media_type=image_type(head[:HEAD]))
    if not attachment.media_type:
        return attachment
    if attachment.size > MAX_BYTES:
        attachment.fault = Attachment.Fault.LARGE
        return attachment
    picture = pictures.keep(path, b"".join([head, *chunks]))
    attachment.digest, attachment.fault = picture.digest, picture.fault
    return attachment


def create_conversation(
    request: SignedInRequest,
    client_id: uuid.UUID,
    profile: Profile | None,
    model: ModelSettings | None,
) -> Conversation:
    """Create the conversation that the form on the first page describes, with its folder and files.

    Idempotent per `client_id`. Raises what `message_of` raises, and FolderRefused.
    """
    folder = chosen_folder(request.POST.get("workspace", ""))
    new = Conversation(pk=uuid.uuid4(), owner=request.user, workspace=folder)
    try:
        new.profile, new.model = profile, model and model.saved()  # the demo's samples depend on them
        text, attached = message_of(request, new, client_id)
        conversation = Conversation.begin(
            request.user, text, client_id, profile, folder, new.pk, attached, new.model
        )
    except Exception:
        remove_workspace(new.pk)
        raise
    if conversation != new:  # the same form was sent before
        remove_workspace(new.pk)
    return conversation


def _is_known(client_id: uuid.UUID) -> bool:
    return any(rows.objects.filter(client_id=client_id).exists() for rows in (Turn, FollowUp))
