"""The workspace of a conversation: a directory of its own, or one beneath WORKSPACE_ROOTS."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.utils.module_loading import import_string

from chat.agent.pictures import HEAD, image_type
from chat.agent.pictures import MAX_BYTES as MAX_PICTURE_BYTES
from chat.agent.removal import remove_folder
from chat.agent.workspace import Quota, Workspace, WorkspaceError, relative
from chat.files.baseline import Baseline, baseline_of, keep_baseline, remove_baseline
from chat.files.checkpoints import Checkpoints, remove_checkpoints
from chat.files.file_changes import delete_file, rename_file
from chat.files.pictures import PictureStore, digest_of
from chat.files.uploads import Upload, save_uploads
from chat.models import Attachment, Conversation, ToolCall, Turn

log = logging.getLogger(__name__)

T = TypeVar("T")


def folder_of(conversation: Conversation) -> Path:
    if conversation.workspace:
        return Path(conversation.workspace)
    return Path(settings.WORKSPACES) / str(conversation.pk)


def has_files(conversation: Conversation) -> bool:
    try:
        with os.scandir(folder_of(conversation)) as entries:
            return next(entries, None) is not None
    except OSError:  # it does not exist yet
        return False


def quota_of(conversation: Conversation) -> Quota | None:
    if conversation.workspace:
        return None
    return Quota(settings.MAX_WORKSPACE_BYTES, settings.MAX_WORKSPACE_FILES)


def workspace_of(conversation: Conversation) -> Workspace:
    """The workspace for reading. Creates nothing; the directory may not exist yet."""
    return Workspace(folder_of(conversation), quota_of(conversation), fixed=bool(conversation.workspace))


def open_workspace(conversation: Conversation) -> Workspace:
    """The workspace for writing. Creates it if missing, with samples in the demo, and stores the baseline."""
    # A directory chosen by the user is neither created nor handed over to the sandbox's user.
    workspace = workspace_of(conversation) if conversation.workspace else _own_workspace(conversation)
    try:
        keep_baseline(conversation.pk, workspace)
    except (WorkspaceError, OSError) as error:  # tools report the problem; changes are not shown then
        log.warning("the baseline of %s is not stored: %s", conversation.pk, error)
    return workspace


def open_workspace_for(turn: Turn, versions: Iterable[int]) -> Workspace:
    """`open_workspace` when a worker takes a turn, with the files that its version begins with.

    `versions` are the keys of the turn's versions.
    """
    workspace = open_workspace(turn.conversation)
    _use_checkpoints(turn.conversation, lambda each: each.begin(turn.pk, turn.parent_id, versions))
    return workspace


def show_files_of(conversation: Conversation) -> None:
    """Make the files those of the path that the conversation shows now."""

    def latest() -> int | None:
        turn = conversation.path.order_by("-pk").only("status").first()
        return turn.pk if turn and not turn.is_active else None

    _use_checkpoints(conversation, lambda each: each.show(latest))


def missing_for(turn: Turn, paths: Iterable[str]) -> set[str]:
    """Those of the files that another version of the turn would not find."""
    before = _use_checkpoints(turn.conversation, lambda each: each.paths_before(turn.pk))
    if before is not None:
        return {*paths} - before
    workspace = workspace_of(turn.conversation)
    return {path for path in paths if not workspace.has_file(path)}


def version_with(conversation: Conversation, path: str) -> int | None:
    """The end of the newest path that is not shown and has the file; 0 if none has, None if not known."""
    ends = conversation.turns.filter(on_path=False, children=None).order_by("-pk")
    turns = list(ends.values_list("pk", flat=True))
    if not turns or conversation.workspace:  # a folder chosen by the user is the same for all versions
        return 0
    return _use_checkpoints(conversation, lambda each: each.turn_with(relative(path), turns))


def forget_files_of(conversation: Conversation, turns: Iterable[int]) -> None:
    """Keep nothing of deleted turns that others do not have, too."""
    _use_checkpoints(conversation, lambda each: each.forget(turns))


def _use_checkpoints(conversation: Conversation, use: Callable[[Checkpoints], T]) -> T | None:
    """A folder chosen by the user has none. What fails is completed when they are next used."""
    if conversation.workspace:
        return None
    try:
        return use(Checkpoints(conversation.pk, workspace_of(conversation)))
    except (WorkspaceError, OSError) as error:
        log.warning("the checkpoints of %s cannot be used: %s", conversation.pk, error)
        return None


def upload_files(conversation: Conversation, uploads: list[Upload]) -> list[str]:
    """Save all files or none and return their paths; raises what `save_uploads` raises."""
    workspace = open_workspace(conversation)
    paths = save_uploads(workspace, uploads)
    if paths:
        _change_baseline(conversation, lambda baseline: baseline.add(workspace, paths))
        _use_checkpoints(conversation, lambda each: each.add(paths))
    return paths


def rename_in(conversation: Conversation, path: str, name: str) -> str:
    """Rename a regular file, also in the messages that it came with, and return its new path.

    Raises what `rename_file` raises.
    """
    digest = _use_checkpoints(conversation, lambda each: each.digest_of(relative(path)))
    new = rename_file(workspace_of(conversation), path, name)
    _change_baseline(conversation, lambda baseline: baseline.rename(relative(path), new))
    if digest:
        _use_checkpoints(conversation, lambda each: each.rename(relative(path), new, digest))
    Attachment.rename(conversation.pk, relative(path), new)
    return new


def delete_in(conversation: Conversation, path: str) -> None:
    """Delete a regular file, and the pictures of it that messages show; raises what `delete_file` raises."""
    workspace = workspace_of(conversation)
    digest = _use_checkpoints(conversation, lambda each: each.digest_of(relative(path)))
    picture = _picture_at(workspace, path)
    delete_file(workspace, path)
    _change_baseline(conversation, lambda baseline: baseline.remove(relative(path)))
    if digest:
        _use_checkpoints(conversation, lambda each: each.remove(relative(path), digest))
    _forget_pictures(conversation, relative(path), picture)


def _picture_at(workspace: Workspace, path: str) -> str:
    """The digest of the picture as it is stored once it was shown to the model; "" for other files."""
    try:
        data = workspace.read(path, MAX_PICTURE_BYTES).data
    except WorkspaceError:  # whoever uses the file next says so
        return ""
    return digest_of(data) if image_type(data[:HEAD]) else ""


def _forget_pictures(conversation: Conversation, path: str, digest: str) -> None:
    """Remove the pictures of a deleted file from messages and tool calls, which keep its name.

    A picture with this digest was the file's, too, if nothing has its name any more: the file was renamed.
    """
    workspace = workspace_of(conversation)
    attached = Attachment.of(conversation.pk).exclude(digest="")

    def was_its(name: str, shown: str) -> bool:
        return name == path or (shown == digest and not workspace.has_file(name))

    its = [each for each in attached if was_its(each.path, each.digest)]
    forgotten = {each.digest for each in its}
    attached.filter(pk__in=[each.pk for each in its]).update(digest="")
    kept = set(attached.values_list("digest", flat=True))
    for call in ToolCall.objects.filter(turn__conversation=conversation, detail__has_key="pictures"):
        gone = [each for each in call.detail["pictures"] if was_its(each["name"], each["digest"])]
        forgotten.update(each["digest"] for each in gone)
        kept.update(each["digest"] for each in call.detail["pictures"] if each not in gone)
        for each in gone:
            each["digest"] = ""
        if gone:
            call.save(update_fields=["detail"])
    for digest in forgotten - kept:
        PictureStore(conversation.pk).forget(digest)


def _change_baseline(conversation: Conversation, change: Callable[[Baseline], None]) -> None:
    """What the user does is not shown as a change; if this fails, it is."""
    baseline = baseline_of(conversation.pk)
    try:
        if baseline.known:
            change(baseline)
    except (WorkspaceError, OSError) as error:
        log.warning("the baseline of %s is not updated: %s", conversation.pk, error)


def _own_workspace(conversation: Conversation) -> Workspace:
    folder = folder_of(conversation)
    if settings.WORKSPACE_SEED and conversation.is_scripted and not folder.exists():
        folder.mkdir(parents=True)
        import_string(settings.WORKSPACE_SEED)(folder)
    return Workspace.create(folder, quota_of(conversation))


def remove_workspace(conversation_id: uuid.UUID) -> None:
    """Remove the own directory of a deleted conversation; one chosen by the user stays."""
    remove_folder(Path(settings.WORKSPACES) / str(conversation_id))
    remove_baseline(conversation_id)
    remove_checkpoints(conversation_id)
    PictureStore(conversation_id).remove()
