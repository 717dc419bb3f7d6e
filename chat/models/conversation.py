"""Conversations: everything under one address."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.db.models import Count, Exists, F, Index, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.account import Preferences
from chat.models.follow_up import Attachment, FollowUp, joined
from chat.models.message import Message, MessageRefused, checked_message, title_of
from chat.models.profile import Profile
from chat.models.tag import Tag, folded, normalised
from chat.models.text import clean
from chat.models.todo_revision import TodoRevision
from chat.models.tool_call import ToolCall
from chat.models.turn import Turn

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class ConversationQuerySet(QuerySet["Conversation"]):
    """Conversations as they may be asked for."""

    def visible_to(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """Those that the user may see: their own, archived ones too, deleted ones never."""
        return self.kept().filter(owner_id=user.pk) if user.pk else self.none()

    def kept(self) -> ConversationQuerySet:
        """Those that are not deleted."""
        return self.filter(deleted_at__isnull=True)

    def current(self) -> ConversationQuerySet:
        """Those that are not in the archive."""
        return self.filter(archived_at__isnull=True)

    def archived(self) -> ConversationQuerySet:
        """Those that are in the archive."""
        return self.filter(archived_at__isnull=False)

    def pinned_first(self) -> ConversationQuerySet:
        """The pinned ones ahead of the others, each kind with the newest first."""
        return self.order_by("-pinned", "-updated_at", "-pk")

    def unfinished(self) -> ConversationQuerySet:
        """Those whose last list has open items that nobody dismissed."""
        return self.filter(todos_left__gt=0)

    def unseen(self) -> ConversationQuerySet:
        """Those in which a turn ended while their owner did not look."""
        return self.filter(unseen_turn__isnull=False)

    def tagged(self, word: str) -> ConversationQuerySet:
        """Those that have their owner's tag of that word, however it is written."""
        return self.filter(tags__folded=folded(normalised(word)))

    def listed(self, start: int, stop: int) -> list[Conversation]:
        """Those from place `start` up to `stop`, with their latest lists as `plan`, in two queries."""
        latest = TodoRevision.objects.filter(conversation=OuterRef("pk")).order_by("-pk")
        waiting = Turn.objects.filter(conversation=OuterRef("pk"), status=Turn.Status.WAITING)
        found = self.annotate(latest=Subquery(latest.values("pk")[:1]), waiting=Exists(waiting))
        rows: list[Any] = list(found[start:stop])
        plans = TodoRevision.objects.in_bulk([row.latest for row in rows if row.latest])
        for row in rows:
            row.plan, row.waits = plans.get(row.latest), row.waiting
        return rows


_Manager = models.Manager.from_queryset(ConversationQuerySet)


class ConversationManager(_Manager["Conversation"]):
    """All conversations but the deleted ones, of which nobody is to see anything."""

    def get_queryset(self) -> ConversationQuerySet:
        """Those that are kept."""
        return ConversationQuerySet(self.model, using=self._db).kept()


class Organised(models.Model):
    """Pinned ones come first; archived ones are out of the way; deleted ones are hidden, soon gone."""

    pinned = models.BooleanField(_("pinned"), default=False)
    archived_at = models.DateTimeField(_("archived"), null=True, blank=True)
    deleted_at = models.DateTimeField(_("deleted"), null=True, blank=True)
    tags = models.ManyToManyField(Tag, verbose_name=_("tags"), related_name="conversations", blank=True)

    known_words: list[str] | None = None  # of its tags, where somebody looked them up
    if TYPE_CHECKING:
        owner_id: int

    class Meta:
        abstract = True

    # Each serves a list in its order, without what the list leaves out.
    INDEXES = [
        Index(
            F("owner"),
            F("pinned").desc(),
            F("updated_at").desc(),
            F("id").desc(),
            condition=Q(archived_at__isnull=True, deleted_at__isnull=True),
            name="conversation_current",
        ),
        Index(
            F("owner"),
            F("updated_at").desc(),
            F("id").desc(),
            condition=Q(archived_at__isnull=False, deleted_at__isnull=True),
            name="conversation_archived",
        ),
        Index(fields=["deleted_at"], condition=Q(deleted_at__isnull=False), name="conversation_deleted"),
    ]

    @property
    def archived(self) -> bool:
        """Whether it is in the archive."""
        return self.archived_at is not None

    @property
    def words(self) -> list[str]:
        """The words of its tags."""
        if self.known_words is None:
            self.known_words = list(self.tags.values_list("word", flat=True))
        return self.known_words

    @property
    def suggested_tags(self) -> QuerySet[Tag]:
        """Its owner's tags that it does not have."""
        return Tag.objects.filter(owner=self.owner_id).exclude(conversations=self.pk)

    def has_tag(self, word: str) -> bool:
        """Whether it has its owner's tag of that word, however it is written."""
        return self.tags.filter(folded=folded(normalised(word))).exists()

    def bring_back(self) -> None:
        """Take it out of the archive, whatever this object knows of that."""
        type(self)._default_manager.filter(pk=self.pk).update(archived_at=None)
        self.archived_at = None


Sent = TypeVar("Sent", Turn, FollowUp)
MAX_HELD = 20  # messages that wait for one turn


class Conversation(Organised):
    """A person's exchange with an agent: turns in order, a workspace, a plan."""

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
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated"), default=timezone.now)

    objects = ConversationManager()
    with_deleted = ConversationQuerySet.as_manager()
    plan: TodoRevision | None = None  # its latest list, where somebody looked it up
    waits = False  # for a decision of the person's, where somebody looked

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
            *Organised.INDEXES,
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
        attachments: Iterable[Attachment] = (),
    ) -> Conversation:
        """A new conversation whose first message is `text`; the same `client_id` gives the same conversation.

        It works on the directory `workspace`, or on one of its own; its id is the given one. `attachments`
        (not saved yet) came with the message. Raises MessageRefused for a text that starts no turn.
        """
        text = checked_message(text)
        with transaction.atomic():
            # One at a time of each person: a form that is sent twice at once is two of these.
            get_user_model()._default_manager.select_for_update(no_key=True).get(pk=owner.pk)
            known = Turn.objects.filter(client_id=client_id, conversation__owner=owner).first()
            if known:
                return known.conversation
            conversation = cls.objects.create(
                pk=conversation_id or uuid.uuid4(),
                owner=owner,
                profile=profile,
                title=title_of(text),
                workspace=workspace,
            )
            conversation._start(text, client_id, conversation._found(client_id), attachments=attachments)
        return conversation

    def send(
        self, text: str, client_id: uuid.UUID, attachments: Iterable[Attachment] = ()
    ) -> Turn | FollowUp:
        """Take a message: it starts a turn, or is held while one works. A repeated `client_id` is harmless.

        `attachments` (not saved yet) came with it; what was taken back and is named in it comes too. Raises
        MessageRefused for a blank or overlong text, and when too many are held.
        """
        text = checked_message(text)
        with transaction.atomic():
            self.lock()
            found = self._found(client_id)
            if found["follow_up"]:
                return self._own(FollowUp.objects.get(pk=found["follow_up"]))
            if found["works"] and not found["turn"]:
                return self._queue_follow_up(text, client_id, found, attachments)
            return self._start(text, client_id, found, attachments=attachments)

    def start_turn(
        self,
        text: str,
        client_id: uuid.UUID,
        retries: Turn | None = None,
        attachments: Iterable[Attachment] = (),
    ) -> Turn:
        """Queue a turn that answers `text`. A repeated `client_id` gives the turn that it started before.

        Messages that are held go ahead of the text. `retries` is a turn that came to nothing, in whose place
        the new one stands. Raises MessageRefused for a blank or overlong text, while another turn works, and
        when too many turns of the owner are queued.
        """
        # A retry repeats what was taken before, which several messages together may have made longer.
        text = text if retries else checked_message(text)
        with transaction.atomic():
            self.lock()
            return self._start(text, client_id, self._found(client_id), retries, attachments)

    def send_held(self) -> Turn | None:
        """Queue a turn with the messages that are held; None if there are none, or if a turn works.

        In a conversation that was deleted they stay held.
        """
        with transaction.atomic():
            return self.start_held() if self._locked() and not self._works() else None

    def start_held(self) -> Turn | None:
        """The same for a caller who holds the lock and knows that no turn works."""
        held = FollowUp.claim(self.pk)
        if not held:
            return None
        client_id = held[0].turn_client_id
        found = self._found(client_id)
        turn = self._queue(joined(each.text for each in held), client_id, found["latest"], held)
        self._touch(turn.created_at, found["newest"])
        return turn

    def stop(self, *, then_send: bool, by: uuid.UUID | None = None) -> tuple[Turn | None, str]:
        """Ask the active turn to stop: which that was, and the text of the held messages that this took back.

        With `then_send` none are taken back: they start the next turn as soon as this one has ended. What a
        turn that ended just before has left held is for the caller to send. `by` is the request that asks.
        """
        with transaction.atomic():
            # The turn before its follow-ups, in the order in which a worker that delivers them locks both.
            turn = self.turns.select_for_update(no_key=True).filter(status__in=Turn.ACTIVE).first()
            back = [] if then_send else FollowUp.take_back_all(self.pk, by)
            if turn:
                turn.request_stop()
        return turn, joined(each.text for each in back)

    def lock(self) -> None:
        """Keep everybody else from starting a turn or sending a message here, until the transaction ends.

        Raises Conversation.DoesNotExist where it was deleted.
        """
        if not self._locked():
            raise Conversation.DoesNotExist

    def _locked(self) -> bool:
        return Conversation.objects.select_for_update().filter(pk=self.pk).first() is not None

    def _works(self) -> bool:
        return self.turns.filter(status__in=Turn.ACTIVE).exists()

    def _found(self, client_id: uuid.UUID) -> dict[str, Any]:
        """What a message finds here, in one statement, behind the lock: who waited for it sees what was
        written before. `turn` and `follow_up` are what the `client_id` started before.
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
            latest=Subquery(here.order_by("-pk").values("pk")[:1]),
            holds=Exists(held),
            queued=Coalesce(Subquery(counted.values("count")), 0),
            newest=Subquery(of_owner.values("updated_at")[:1]),
        )
        return cast("dict[str, Any]", facts.get())

    def _start(
        self,
        text: str,
        client_id: uuid.UUID,
        found: dict[str, Any],
        retries: Turn | None = None,
        attachments: Iterable[Attachment] = (),
    ) -> Turn:
        if found["turn"]:
            return self._own(Turn.objects.get(pk=found["turn"]))
        if found["works"]:
            raise MessageRefused(_("The agent is still working. Send this when it has finished, or stop it."))
        if found["queued"] >= settings.MAX_QUEUED_PER_USER:
            raise MessageRefused(
                _("You already have %s messages waiting for the agent. Wait for one to start, or stop some.")
                % settings.MAX_QUEUED_PER_USER
            )
        held = FollowUp.claim(self.pk) if found["holds"] and not retries else []
        brought = [*attachments, *Attachment.taken_back(self.pk, text)]
        text = joined([*(each.text for each in held), text])
        follows = found["latest"]
        if retries and retries.pk == follows:  # in the place of an older one it would forget what came after
            follows = Turn.objects.get(pk=follows).replaced_by_retry()
        turn = self._queue(text, client_id, follows, held, brought, retries)
        self._touch(turn.created_at, found["newest"], archived_at=None)
        return turn

    def _queue_follow_up(
        self, text: str, client_id: uuid.UUID, found: dict[str, Any], attachments: Iterable[Attachment]
    ) -> FollowUp:
        if len(FollowUp.held_in(self.pk)) >= MAX_HELD:
            raise MessageRefused(_("Too many messages are waiting. Unsend one, or wait for the agent."))
        follow_up = self.follow_ups.create(client_id=client_id, text=text)
        Attachment.bring([*attachments, *Attachment.taken_back(self.pk, text)], follow_up)
        self._touch(follow_up.created_at, found["newest"], archived_at=None)
        return follow_up

    def _queue(
        self,
        text: str,
        client_id: uuid.UUID,
        follows: int | None,
        held: list[FollowUp],
        attachments: Iterable[Attachment] = (),
        retries: Turn | None = None,
    ) -> Turn:
        turn = self.turns.create(client_id=client_id, follows_id=follows, unindexed_at=timezone.now())
        message = Message.objects.create(turn=turn, role=Message.Role.USER, text=text)
        if held:
            FollowUp.deliver(held, turn)
            Attachment.deliver(held, message)
        if retries and text == retries.user_text:
            attachments = Attachment.objects.filter(message__turn=retries, message__step=None)
        Attachment.bring(attachments, message)
        return turn

    def _touch(self, now: datetime.datetime, newest: datetime.datetime, **changes: Any) -> None:
        # The newest of its owner's, also where the clock was set back since the one before.
        updated_at = max(now, newest + datetime.timedelta(microseconds=1))
        # What was written is under way: nothing has ended here.
        changes |= {"updated_at": updated_at, "unseen_turn": None}
        for name, value in changes.items():
            setattr(self, name, value)
        self.save(update_fields=list(changes))

    def _own(self, row: Sent) -> Sent:
        if row.conversation_id != self.pk:
            raise MessageRefused(_("This message was already sent in another conversation."))
        return row

    def profile_in_use(self) -> Profile:
        """The profile of its next turn: the chosen one while its owner may use it, else their default one."""
        if self.profile and self.profile.is_offered_to(self.owner_id):
            return self.profile
        return Preferences.profile_of(self.owner) or Profile()

    def choose(self, profile: Profile) -> None:
        """Let the profile answer from the next turn that begins."""
        self.profile = profile
        self.save(update_fields=["profile"])

    def revision(self, before: int | None = None) -> TodoRevision | None:
        """The todo list as it stands, or as it stood before the revision of that key."""
        earlier = {"pk__lt": before} if before else {}
        return self.revisions.filter(**earlier).select_related("turn").order_by("pk").last()

    def waiting_call(self) -> ToolCall | None:
        """The call that the person is asked about; None if there is none."""
        waiting = ToolCall.objects.filter(turn__conversation=self.pk, status=ToolCall.Status.WAITING)
        return waiting.select_related("turn").first()

    def dismiss(self) -> None:
        """Leave its last list as it is: it counts as unfinished no more."""
        Conversation.objects.filter(pk=self.pk).update(todos_left=0)
        self.todos_left = 0

    def mark_unseen(self, turn: Turn) -> bool:
        """Note that the turn has ended, for an owner who may not be looking; False if this was deleted.

        Until the transaction ends it is locked, too.
        """
        return bool(Conversation.objects.filter(pk=self.pk).update(unseen_turn=turn))

    def mark_seen(self, turn_id: int) -> bool:
        """The owner looks at it, with the turns up to that one; True if they had not seen the end of one."""
        unseen = Conversation.objects.filter(pk=self.pk, unseen_turn__lte=turn_id)
        return unseen.exists() and bool(unseen.update(unseen_turn=None))  # mostly there is nothing to write

    def rename(self, title: str) -> None:
        """Give the conversation another title; a blank one changes nothing."""
        title = " ".join(clean(title).split())[:200]
        if title:
            self.title = title
            self.save(update_fields=["title"])
