"""Conversations: turns, a workspace and a plan under one address."""

from __future__ import annotations

import datetime
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.db.models import Count, Exists, F, Max, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.agent.storable import storable
from chat.models.account import Preferences
from chat.models.connection import ModelSettings
from chat.models.conversation_queries import ConversationManager, ConversationQuerySet
from chat.models.follow_up import Attachment, FollowUp, joined, names_in, with_present_names
from chat.models.message import Message, MessageRefused, checked_message, title_of
from chat.models.profile import Profile, answers_by_script
from chat.models.tag import Tag
from chat.models.todo_revision import TodoRevision
from chat.models.tool_call import ToolCall
from chat.models.turn import Turn

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def _refuse_if_busy(facts: Mapping[str, Any]) -> None:
    if facts["works"]:
        raise MessageRefused(_("The agent is still working. Try again when it has finished, or stop it."))
    if facts["queued"] >= settings.MAX_QUEUED_PER_USER:
        raise MessageRefused(
            _("You already have %s messages waiting for the agent. Wait for one to start, or stop some.")
            % settings.MAX_QUEUED_PER_USER
        )


def _edited(
    turn: Turn, text: str | None, attached: Mapping[int, str], uploaded: Collection[Attachment]
) -> tuple[str, list[Attachment]]:
    """The turn's message, with another text if given, its attachments at these paths, and new ones.

    Another text goes with the `attached` alone, and names those that were uploaded at its end.
    """
    attachments = [each for each in turn.attachments if text is None or each.pk in attached]
    for each in attachments:
        each.path = attached.get(each.pk, each.path)
    if text is None:
        return with_present_names(turn.said, attachments), attachments
    names = with_present_names("\n".join(names_in(turn.said, attachments)), attachments)
    gap = "\n" if uploaded else "\n\n"
    return checked_message(f"{text.rstrip()}{gap}{names}"), [*attachments, *uploaded]


Sent = TypeVar("Sent", Turn, FollowUp)
MAX_HELD = 20  # messages that wait for one turn


class Conversation(models.Model):
    """A user's exchange with an agent: turns in order, a workspace, a plan."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.CASCADE,
        related_name="conversations",
    )
    profile = models.ForeignKey(
        Profile, verbose_name=_("profile"), on_delete=models.SET_NULL, null=True, related_name="conversations"
    )
    model = models.ForeignKey(
        ModelSettings,
        verbose_name=_("model"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="conversations",
        help_text=_("Blank: the profile's model."),
    )
    # The chosen model, by name, whose connection was deleted; nothing is sent until another is chosen.
    lost_model = models.CharField(max_length=200, blank=True, default="", editable=False)
    title = models.CharField(_("title"), max_length=200)
    workspace = models.TextField(
        _("workspace"), blank=True, help_text=_("The folder it works in. Blank: one of its own.")
    )
    todos_left = models.PositiveSmallIntegerField(
        _("open to-dos"), default=0, help_text=_("Open items of its last list; none once they are dismissed.")
    )
    unseen_turn = models.OneToOneField(
        Turn,
        verbose_name=_("unread turn"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        help_text=_("Its last turn, if it has ended and the owner has not looked at it since."),
    )
    pinned = models.BooleanField(_("pinned"), default=False)
    archived_at = models.DateTimeField(_("archived"), null=True, blank=True)
    deleted_at = models.DateTimeField(_("deleted"), null=True, blank=True)
    imported_at = models.DateTimeField(_("imported"), null=True, blank=True)
    tags = models.ManyToManyField(Tag, verbose_name=_("tags"), related_name="conversations", blank=True)
    # Raised when its path changes other than at its end, so that pages notice; 0 if it never had branches.
    path_version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    # When its latest message was sent, or a turn of it ended last.
    updated_at = models.DateTimeField(_("updated"), default=timezone.now)

    objects = ConversationManager()
    with_deleted = ConversationQuerySet.as_manager()
    plan: TodoRevision | None = None  # its latest list, if prefetched
    active_status = ""  # of its active turn, if prefetched
    unseen_status = ""  # of its unseen turn, if prefetched
    has_failed = False  # whether its last turn has, if prefetched
    known_words: list[str] | None = None  # the words of its tags, if prefetched

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ["-updated_at", "-pk"]
        indexes = [
            models.Index(fields=["owner", "-updated_at"], name="conversation_newest_first"),
            models.Index(
                fields=["owner", "-updated_at"], condition=Q(todos_left__gt=0), name="conversation_unfinished"
            ),
            models.Index(
                fields=["owner", "-unseen_turn"],
                condition=Q(unseen_turn__isnull=False),
                name="conversation_unseen",
            ),
            # Each serves one list, in its order and with its condition.
            models.Index(
                F("owner"),
                F("pinned").desc(),
                F("updated_at").desc(),
                F("id").desc(),
                condition=Q(archived_at__isnull=True, deleted_at__isnull=True),
                name="conversation_current",
            ),
            models.Index(
                F("owner"),
                F("updated_at").desc(),
                F("id").desc(),
                condition=Q(archived_at__isnull=False, deleted_at__isnull=True),
                name="conversation_archived",
            ),
            models.Index(
                fields=["deleted_at"], condition=Q(deleted_at__isnull=False), name="conversation_deleted"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @classmethod
    def begin(
        cls,
        owner: User,
        text: str,
        client_id: uuid.UUID,
        profile: Profile | None,
        workspace: str = "",
        conversation_id: uuid.UUID | None = None,
        attachments: Collection[Attachment] = (),
        model: ModelSettings | None = None,
    ) -> Conversation:
        """Create a conversation; a repeated `client_id` returns the same one. Raises MessageRefused.

        `workspace` is a directory; "" creates one. `attachments` (unsaved) came with the message. `model`
        replaces the profile's.
        """
        text = checked_message(text)
        with transaction.atomic():
            # Serialized per user: a form submitted twice arrives as two concurrent requests.
            get_user_model()._default_manager.select_for_update(no_key=True).get(pk=owner.pk)
            known = Turn.objects.filter(client_id=client_id, conversation__owner=owner).first()
            if known:
                return known.conversation
            conversation = cls.objects.create(
                pk=conversation_id or uuid.uuid4(),
                owner=owner,
                profile=profile,
                model=model,
                title=title_of(text),
                workspace=workspace,
            )
            conversation._start(text, client_id, conversation._facts_for(client_id), attachments)
        return conversation

    def send(
        self, text: str, client_id: uuid.UUID, attachments: Collection[Attachment] = ()
    ) -> Turn | FollowUp:
        """Start a turn, or hold the message while one works. A repeated `client_id` has no effect.

        `attachments` are unsaved; those of unsent messages that the text names are added. Raises
        MessageRefused if the text is blank or overlong, or too many are held.
        """
        text = checked_message(text)
        with transaction.atomic():
            self.lock()
            facts = self._facts_for(client_id)
            if facts["follow_up"]:
                return self._own(FollowUp.objects.get(pk=facts["follow_up"]))
            if facts["works"] and not facts["turn"]:
                return self._queue_follow_up(text, client_id, facts, attachments)
            return self._start(text, client_id, facts, attachments)

    def start_turn(
        self,
        text: str,
        client_id: uuid.UUID,
        attachments: Collection[Attachment] = (),
        profile: Profile | None = None,
    ) -> Turn:
        """Queue a turn that answers `text`. A repeated `client_id` returns the turn that it started.

        `profile` answers this turn alone. Held messages go before the text. Raises MessageRefused if the text
        is blank or overlong, a turn works, or too many turns of the owner are queued.
        """
        text = checked_message(text)
        with transaction.atomic():
            self.lock()
            return self._start(text, client_id, self._facts_for(client_id), attachments, profile)

    def run_again(
        self,
        turn_id: int,
        client_id: uuid.UUID,
        text: str | None = None,
        profile: Profile | None = None,
        attached: Mapping[int, str] = {},
        uploaded: Collection[Attachment] = (),
        *,
        as_before: bool = False,
    ) -> Turn:
        """Queue another version of a turn, with the same message or `text` in its place.

        With `text` go those of the message's attachments whose keys are `attached`, each with the path at
        which the version finds it, and those that were `uploaded` with it, which it names at its end.
        `profile` answers this turn alone; by default the one in use does, or, `as_before`, the one that
        answered this turn alone.

        The turn and what followed it leave the path, and are kept. Raises MessageRefused, as `start_turn`.
        """
        with transaction.atomic():
            self.lock()
            facts = self._facts_for(client_id)
            if facts["turn"]:
                return self._own(Turn.objects.get(pk=facts["turn"]))
            _refuse_if_busy(facts)
            again = self.path.filter(pk=turn_id).prefetch_related("messages__attachments").first()
            if again is None:
                raise MessageRefused(_("This message has changed in another tab. Try again."))
            said, attachments = _edited(again, text, attached, uploaded)
            before, added = self.revision(), TodoRevision.added_by_user(self.path_revisions)
            self._take_off_path(again)
            if as_before:
                profile = profile or again.profile_of_its_own
            if profile is None:
                self._refuse_if_lost()
            turn = self._queue(said, client_id, again.parent_id, again.follows_id, [], attachments)
            if profile:
                turn.use_profile(profile)
            self._touch(turn.created_at, facts["newest"], archived_at=None)
            self._path_changed()
            self._carry_over(before, added, turn)
        return turn

    def _carry_over(self, before: TodoRevision | None, added: set[str], turn: Turn) -> list[TodoRevision]:
        """Add the items with the ids `added` from `before`, a list no longer shown, to the current one.

        They go at its end, or make a list of their own if it has no open items. The edit belongs to `turn`,
        and is returned. Nothing is taken from a dismissed list.
        """
        if before is None or before.dismissed:
            return []
        listed = self.revision()
        items = listed.items if listed and listed.left else []
        added = added - {item["id"] for item in listed.items} if listed else added
        missing = [item for item in before.items if item["id"] in added]
        return [TodoRevision.edit(turn, before.policy, [*items, *missing])] if missing else []

    def _take_off_path(self, turn: Turn) -> None:
        """For another version of the turn, which has the user's edits of an earlier list, too."""
        self.path.filter(pk__gt=turn.pk).update(on_path=False)
        self.turns.filter(pk=turn.pk).update(on_path=False, chosen=False)
        if turn.parent_id:
            TodoRevision.hand_on(turn, turn.parent_id)

    def show_version(self, turn_id: int) -> None:
        """Put this version of a turn on the path, with the most recently shown turns that follow it.

        Raises MessageRefused while a turn works, or if the version was deleted.
        """
        with transaction.atomic():
            self.lock()
            if self.is_working():
                raise MessageRefused(
                    _("The agent is still working. Switch when it has finished, or stop it.")
                )
            rows = {row.pk: row for row in self.turns.only("parent", "chosen", "on_path")}
            if turn_id not in rows:
                raise MessageRefused(_("This version was deleted."))
            self._set_path(rows, turn_id)
            self._path_changed()

    def delete_turn(self, turn_id: int) -> list[TodoRevision]:
        """Delete a turn on the path; what followed it, in every branch, then follows the turn before it.

        If it has other versions, what followed it is deleted too, and another version takes its place. Else
        the user's edits of a list that an earlier turn wrote stay. So do items that the user added to a list
        that goes. Returns the revisions that hold them. Raises MessageRefused while a turn works.
        """
        with transaction.atomic():
            self.lock()
            if self.is_working():
                raise MessageRefused(_("The agent is still working. Delete this when it has finished."))
            turn = self.path.filter(pk=turn_id).first()
            if turn is None:
                return []
            before, added = self.revision(), TodoRevision.added_by_user(self.path_revisions)
            heir = turn.parent_id or self.path.filter(parent=turn).values_list("pk", flat=True).first()
            kept = TodoRevision.hand_on(turn, heir) if heir and not self._has_versions(turn) else []
            for each in self.turns.filter(pk__in=self.deleted_with(turn)).order_by("-pk"):
                self._delete(each)
            rows = {row.pk: row for row in self.turns.only("parent", "chosen", "on_path")}
            versions = [row for row in rows.values() if row.parent_id == turn.parent_id]
            if versions:
                self._set_path(rows, max(versions, key=lambda row: (row.chosen, row.pk)).pk)
            self._path_changed()
            if last := self.path.last():
                kept += self._carry_over(before, added, last)
        return kept

    def deleted_with(self, turn: Turn) -> list[int]:
        """The keys of the turns that are deleted with this one, itself included."""
        if not self._has_versions(turn):
            return [turn.pk]
        keys = {turn.pk}
        later = self.turns.filter(pk__gt=turn.pk).order_by("pk").values_list("pk", "parent")
        keys.update(pk for pk, parent in later if parent in keys)
        return list(keys)

    def _has_versions(self, turn: Turn) -> bool:
        return self.turns.filter(parent=turn.parent_id).exclude(pk=turn.pk).exists()

    def _delete(self, turn: Turn) -> None:
        after = self.turns.filter(parent=turn)
        if not after.filter(chosen=True).exists():
            after.filter(pk=after.aggregate(last=Max("pk"))["last"]).update(chosen=True)
        after.update(parent=turn.parent_id)
        self.turns.filter(follows=turn).update(follows=turn.follows_id)
        same_profile = list(self.turns.filter(profile_snapshot__since=turn.pk))
        for each in same_profile:
            each.profile_snapshot["since"] = each.pk
        Turn.objects.bulk_update(same_profile, ["profile_snapshot"], 100)
        self.share_links.filter(last_turn=turn.pk).update(last_turn=turn.parent_id or 0)
        turn.delete()

    def _set_path(self, rows: Mapping[int, Turn], through: int) -> None:
        """Make the path one that leads through this turn, to the end of what was last chosen after it."""
        path = [through]
        while (parent := rows[path[0]].parent_id) is not None:
            path.insert(0, parent)
        children = defaultdict[int | None, list[Turn]](list)
        for row in rows.values():
            children[row.parent_id].append(row)
        while after := children[path[-1]]:
            path.append(max(after, key=lambda row: (row.chosen, row.pk)).pk)
        others = {row.pk for pk in path for row in children[rows[pk].parent_id] if row.chosen} - {*path}
        left = {row.pk for row in rows.values() if row.on_path} - {*path}
        self.turns.filter(pk__in=left).update(on_path=False)
        self.turns.filter(pk__in=others).update(chosen=False)
        self.turns.filter(pk__in=path).update(on_path=True, chosen=True)

    def _path_changed(self) -> None:
        """Note the change, and what depends on the path: the open items, and what is unread."""
        latest = self.revision()
        left = latest.left if latest else 0
        changes = {"todos_left": left, "unseen_turn": None, "path_version": F("path_version") + 1}
        Conversation.objects.filter(pk=self.pk).update(**changes)
        self.refresh_from_db(fields=[*changes])

    def send_held(self) -> Turn | None:
        """Queue a turn with the held messages; None if there are none, a turn works, or this was deleted."""
        with transaction.atomic():
            return self.start_held() if self._locked() and not self.is_working() else None

    def start_held(self) -> Turn | None:
        """Like `send_held`, for a caller who holds the lock and has checked that no turn is active."""
        held = [] if self.missing_model else FollowUp.claim(self.pk)
        if not held:
            return None
        client_id = held[0].turn_client_id
        facts = self._facts_for(client_id)
        latest = facts["latest"]
        turn = self._queue(joined(each.text for each in held), client_id, latest, latest, held)
        self._touch(turn.created_at, facts["newest"])
        return turn

    def stop(self, *, then_send: bool, by: uuid.UUID | None = None) -> tuple[Turn | None, str]:
        """Request a stop; returns the active turn and the text of held messages that were unsent.

        With `then_send` none are: they start the next turn after this one, or the caller sends them if it has
        just ended. `by` is the id of the request.
        """
        with transaction.atomic():
            # The turn before its follow-ups: the order in which a delivering worker locks them.
            turn = self.turns.select_for_update(no_key=True).filter(status__in=Turn.ACTIVE).first()
            unsent = [] if then_send else FollowUp.take_back_all(self.pk, by)
            if turn:
                turn.request_stop()
        return turn, joined(each.text for each in unsent)

    def lock(self) -> None:
        """Lock against new turns and messages until the transaction ends; raises DoesNotExist if deleted."""
        if not self._locked():
            raise Conversation.DoesNotExist

    def _locked(self) -> bool:
        return Conversation.objects.select_for_update().filter(pk=self.pk).first() is not None

    def is_working(self) -> bool:
        return self.turns.filter(status__in=Turn.ACTIVE).exists()

    def _facts_for(self, client_id: uuid.UUID) -> dict[str, Any]:
        """What a message needs to know, in one statement after the lock, so that it sees the latest writes.

        `turn` and `follow_up` are what the `client_id` started before.
        """
        here = Turn.objects.filter(conversation=self.pk)
        queued = Turn.objects.filter(status=Turn.Status.QUEUED, conversation__owner=self.owner_id)
        held = FollowUp.objects.filter(conversation=self.pk, status=FollowUp.Status.HELD)
        of_owner = Conversation.objects.filter(owner=self.owner_id).order_by("-updated_at")
        counted = queued.order_by().values("status").annotate(count=Count("pk"))
        facts = Conversation.objects.filter(pk=self.pk).values(
            turn=Subquery(Turn.objects.filter(client_id=client_id).values("pk")),
            follow_up=Subquery(FollowUp.objects.filter(client_id=client_id).values("pk")),
            works=Exists(here.filter(status__in=Turn.ACTIVE)),
            latest=Subquery(here.filter(on_path=True).order_by("-pk").values("pk")[:1]),
            holds=Exists(held),
            queued=Coalesce(Subquery(counted.values("count")), 0),
            newest=Subquery(of_owner.values("updated_at")[:1]),
        )
        return cast("dict[str, Any]", facts.get())

    def _start(
        self,
        text: str,
        client_id: uuid.UUID,
        facts: dict[str, Any],
        attachments: Collection[Attachment] = (),
        profile: Profile | None = None,
    ) -> Turn:
        if facts["turn"]:
            return self._own(Turn.objects.get(pk=facts["turn"]))
        _refuse_if_busy(facts)
        if profile is None:
            self._refuse_if_lost()
        held = FollowUp.claim(self.pk) if facts["holds"] else []
        text, attached = self._with_taken_back(text, attachments)
        text = joined([*(each.text for each in held), text])
        turn = self._queue(text, client_id, facts["latest"], facts["latest"], held, attached)
        if profile:
            turn.use_profile(profile)
        self._touch(turn.created_at, facts["newest"], archived_at=None)
        return turn

    def _queue_follow_up(
        self, text: str, client_id: uuid.UUID, facts: dict[str, Any], attachments: Collection[Attachment]
    ) -> FollowUp:
        if len(FollowUp.held_in(self.pk)) >= MAX_HELD:
            raise MessageRefused(_("Too many messages are waiting. Unsend one, or wait for the agent."))
        text, attached = self._with_taken_back(text, attachments)
        follow_up = self.follow_ups.create(client_id=client_id, text=text)
        Attachment.add_copies(attached, follow_up)
        self._touch(follow_up.created_at, facts["newest"], archived_at=None)
        return follow_up

    def _with_taken_back(
        self, text: str, attachments: Collection[Attachment]
    ) -> tuple[str, list[Attachment]]:
        """A message with the files of unsent messages that it names, under their present names."""
        new = {each.path for each in attachments}
        found = Attachment.taken_back(self.pk, text)
        taken_back = [each for each in found if each.path_in_text not in new]
        return with_present_names(text, taken_back), [*attachments, *taken_back]

    def _queue(
        self,
        text: str,
        client_id: uuid.UUID,
        parent: int | None,
        follows: int | None,
        held: list[FollowUp],
        attachments: Collection[Attachment] = (),
    ) -> Turn:
        turn = self.turns.create(
            client_id=client_id, parent_id=parent, follows_id=follows, unindexed_at=timezone.now()
        )
        message = Message.objects.create(turn=turn, role=Message.Role.USER, text=text)
        if held:
            FollowUp.deliver(held, turn)
            Attachment.deliver(held, message)
        Attachment.add_copies(attachments, message)
        return turn

    def _touch(self, now: datetime.datetime, newest: datetime.datetime, **changes: Any) -> None:
        # Later than all of the owner's conversations, even if the clock was set back.
        updated_at = max(now, newest + datetime.timedelta(microseconds=1))
        # The conversation is active again, so no ended turn is unseen.
        changes |= {"updated_at": updated_at, "unseen_turn": None}
        for name, value in changes.items():
            setattr(self, name, value)
        self.save(update_fields=list(changes))

    def _own(self, row: Sent) -> Sent:
        if row.conversation_id != self.pk:
            raise MessageRefused(_("This message was already sent in another conversation."))
        return row

    @property
    def choice_of_profile(self) -> list[int | None]:
        return [self.profile_id, self.model_id]

    @property
    def archived(self) -> bool:
        return self.archived_at is not None

    @property
    def words(self) -> list[str]:
        if self.known_words is None:
            self.known_words = list(self.tags.values_list("word", flat=True))
        return self.known_words

    @property
    def suggested_tags(self) -> QuerySet[Tag]:
        return Tag.objects.filter(owner=self.owner_id).exclude(conversations=self.pk)

    def has_tag(self, word: str) -> bool:
        """Whether it has this tag of its owner's, in any spelling of the word."""
        tag = Tag.named(self.owner_id, word)
        return tag is not None and self.tags.contains(tag)

    def profile_in_use(self) -> Profile:
        """The profile of its next turn: the chosen one if its owner may use it, else their default.

        With the chosen model, if there is one; none takes its place if it is gone.
        """
        if self.profile and self.profile.is_offered_to(self.owner_id):
            profile = self.profile
        else:
            profile = Preferences.profile_of(self.owner) or Profile()
        if self.missing_model:
            return profile.with_lost_model(self.missing_model)
        return profile.with_model(self.chosen_model)

    @property
    def chosen_model(self) -> ModelSettings | None:
        """The model that replaces the profile's, if its owner may still use it."""
        return self.model if self.model and self.model.is_offered_to(self.owner_id) else None

    @property
    def missing_model(self) -> str:
        """The name of the chosen model if its owner can no longer use it, else ""."""
        return self.model.model if self.model and not self.chosen_model else self.lost_model

    def _refuse_if_lost(self) -> None:
        if self.missing_model:
            sentence = _("The chosen model %s is no longer available. Choose another one, then send again.")
            raise MessageRefused(sentence % self.missing_model)

    @property
    def is_scripted(self) -> bool:
        """Whether the demo model replies."""
        return answers_by_script(self.profile_in_use())

    def choose(self, profile: Profile) -> None:
        """Use this profile from the next turn on, with its own model if the chosen one is gone."""
        if self.missing_model:
            self.choose_model(None)
        self.profile = profile
        self.save(update_fields=["profile"])

    def choose_model(self, model: ModelSettings | None) -> None:
        """Use this model from the next turn on; None for the profile's."""
        self.model, self.lost_model = model, ""
        self.save(update_fields=["model", "lost_model"])

    @property
    def path(self) -> QuerySet[Turn]:
        """The turns that it shows: one version of each."""
        return self.turns.filter(on_path=True)

    @property
    def path_revisions(self) -> QuerySet[TodoRevision]:
        return self.revisions.filter(turn__on_path=True)

    def path_to(self, turn_id: int) -> list[int]:
        """The keys of the turns that led to this one, itself included; none if it was deleted."""
        if not self.path_version:
            return list(self.turns.filter(pk__lte=turn_id).values_list("pk", flat=True))
        parents = dict(self.turns.values_list("pk", "parent"))
        keys: list[int] = []
        key: int | None = turn_id
        while key in parents:
            keys.append(key)
            key = parents[key]
        return keys

    def revision(self, before: int | None = None) -> TodoRevision | None:
        """The current list, or the one before that revision, with `has_skips`."""
        earlier = {"pk__lt": before} if before else {}
        edits = self.path_revisions.filter(author=TodoRevision.Author.PERSON).order_by()
        lists = self.path_revisions.filter(**earlier).annotate(skips=Exists(edits.exclude(skipped=[])))
        latest: Any = lists.select_related("turn").order_by("pk").last()
        if latest:
            latest.has_skips = latest.skips
        return cast("TodoRevision | None", latest)

    def waiting_call(self) -> ToolCall | None:
        waiting = ToolCall.objects.filter(turn__conversation=self.pk, status=ToolCall.Status.WAITING)
        return waiting.select_related("turn").first()

    def mark_unseen(self, turn: Turn) -> bool:
        """Record the unseen end, and lock until the transaction ends; False if this was deleted."""
        updated_at = Greatest("updated_at", Value(timezone.now(), models.DateTimeField()))
        return bool(Conversation.objects.filter(pk=self.pk).update(unseen_turn=turn, updated_at=updated_at))

    def mark_seen(self, turn_id: int) -> bool:
        """The owner has seen the turns up to this one; returns whether an end was unseen before."""
        unseen = Conversation.objects.filter(pk=self.pk, unseen_turn__lte=turn_id)
        return unseen.exists() and bool(unseen.update(unseen_turn=None))  # usually there is nothing to write

    def rename(self, title: str) -> None:
        title = " ".join(storable(title).split())[:200]
        if title:
            self.title = title
            self.save(update_fields=["title"])
