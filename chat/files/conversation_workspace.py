"""Where a conversation works: a directory of its own, or one beneath WORKSPACE_ROOTS."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path

from django.conf import settings
from django.utils.module_loading import import_string

from chat.agent.removal import remove_folder
from chat.agent.workspace import Quota, Workspace, WorkspaceError
from chat.files.baseline import forget_start, keep_start
from chat.files.pictures import PictureStore
from chat.models import Conversation
from chat.models.profile import answers_by_script

log = logging.getLogger(__name__)


def folder_of(conversation: Conversation) -> Path:
    """The directory that the conversation names, else its own."""
    if conversation.workspace:
        return Path(conversation.workspace)
    return Path(settings.WORKSPACES) / str(conversation.pk)


def quota_of(conversation: Conversation) -> Quota | None:
    """What its own workspace may hold; None for a directory that somebody named."""
    if conversation.workspace:
        return None
    return Quota(settings.MAX_WORKSPACE_BYTES, settings.MAX_WORKSPACE_FILES)


def workspace_of(conversation: Conversation) -> Workspace:
    """The workspace to look into; nothing is made. Its directory may not be there yet."""
    return Workspace(folder_of(conversation), quota_of(conversation), fixed=bool(conversation.workspace))


def open_workspace(conversation: Conversation) -> Workspace:
    """The workspace to work in: made if missing, perhaps with samples, its state at the start recorded."""
    # A directory that somebody named is not ours to make, or to hand over to the sandbox's user.
    workspace = workspace_of(conversation) if conversation.workspace else _own(conversation)
    try:
        keep_start(conversation.pk, workspace)
    except (WorkspaceError, OSError) as error:  # the tools say what is wrong; changes are not told then
        log.warning("the state at the start of %s is not kept: %s", conversation.pk, error)
    return workspace


def _own(conversation: Conversation) -> Workspace:
    folder = folder_of(conversation)
    if settings.WORKSPACE_SEED and answers_by_script(conversation.profile) and not folder.exists():
        folder.mkdir(parents=True)
        import_string(settings.WORKSPACE_SEED)(folder)
    return Workspace.create(folder, quota_of(conversation))


def remove_workspace(conversation_id: uuid.UUID) -> None:
    """Remove the own directory of a conversation that was deleted; one that it named is not ours."""
    remove_folder(Path(settings.WORKSPACES) / str(conversation_id))
    forget_start(conversation_id)
    PictureStore(conversation_id).remove()
