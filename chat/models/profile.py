"""Profiles: how an agent is set up."""

from __future__ import annotations

import copy
import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from chat.models.connection import Connection, ModelSettings

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

    from chat.models.conversation import Conversation


# Confined by the sandbox and the workspace, so they run without asking. Others ask.
BUILT_IN_TOOLS = ("bash", "read_file", "write_file", "edit_file")
# The profiles that a new site has, by the title that they are set up with.
CHINESE_TITLES = {"Focused": "专注", "Lean": "精简", "Checklist": "清单", "Asks first": "先问再做"}
OTHERS = "*"  # in a profile's rules: every other tool, that is, of MCP servers
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{1,60}__\*|\*")


class Rule(models.TextChoices):
    """What happens to a call before it runs: it runs, the user is asked, or the tool is not offered."""

    RUN = "run", _("Run: without asking")
    ASK = "ask", _("Ask: wait for an answer first")
    NEVER = "never", _("Never: not offered to the model")


def check_rules(rules: object) -> None:
    """Raise ValidationError unless this is an object of tool names and rules."""
    if not isinstance(rules, dict):
        raise ValidationError(_("The rules must be an object of tool names and rules."))
    for name, rule in rules.items():
        if not _TOOL_NAME.fullmatch(name):
            raise ValidationError(_("%(name)s is not a tool name."), params={"name": name})
        if rule not in Rule.values:
            raise ValidationError(
                _("The rule of %(name)s must be run, ask or never, not %(rule)s."),
                params={"name": name, "rule": rule},
            )


def rule_in(rules: Mapping[str, str], tool: str) -> Rule:
    """The tool's rule: its own, its server's (`server__*`), or the default."""
    server = f"{tool.partition('__')[0]}__*" if "__" in tool else tool
    for name in (tool, server):
        if name in rules:
            return Rule(rules[name])
    return Rule.RUN if tool in BUILT_IN_TOOLS else Rule(rules.get(OTHERS, Rule.ASK))


def strictest(*rules: Rule) -> Rule:
    return max(rules, key=list(Rule).index)


class Profile(models.Model):
    """An agent's name, instructions, model, todo policy and rules for tools."""

    class Policy(models.TextChoices):
        FOCUSED = "focused", _("Focused: shows the step it is on")
        LEAN = "lean", _("Lean: fewer updates, saves tokens")
        CHECKLIST = "checklist", _("Checklist: numbered items")

    class Language(models.TextChoices):
        ENGLISH = "en", "English"
        CHINESE = "zh", "中文"

    class Colour(models.TextChoices):
        BLUE = "blue", _("Blue")
        TEAL = "teal", _("Teal")
        GREEN = "green", _("Green")
        AMBER = "amber", _("Amber")
        RED = "red", _("Red")
        PINK = "pink", _("Pink")
        VIOLET = "violet", _("Violet")
        GREY = "grey", _("Grey")

    class Effort(models.TextChoices):
        MINIMAL = "minimal", _("Minimal")
        LOW = "low", _("Low")
        MEDIUM = "medium", _("Medium")
        HIGH = "high", _("High")

    title = models.CharField(_("title"), max_length=80, help_text=_("Name shown in menus."))
    name = models.CharField(_("agent's name"), max_length=80, blank=True)
    instructions = models.TextField(_("instructions"), blank=True)
    model = models.CharField(
        _("model"), max_length=200, blank=True, help_text=_("Blank: the model in OPENAI_MODEL.")
    )
    connection = models.ForeignKey(
        Connection,
        verbose_name=_("connection"),
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="profiles",
        help_text=_("Blank: the endpoint from the environment."),
    )
    colour = models.CharField(_("colour"), max_length=10, choices=Colour, default=Colour.BLUE)
    temperature = models.FloatField(
        _("temperature"), null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(2)]
    )
    top_p = models.FloatField(
        _("top p"), null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )
    max_output_tokens = models.PositiveIntegerField(
        _("max tokens per reply"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    reasoning_effort = models.CharField(_("reasoning effort"), max_length=10, choices=Effort, blank=True)
    max_steps = models.PositiveIntegerField(
        _("max steps per turn"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    max_tool_calls = models.PositiveIntegerField(
        _("max tool calls per turn"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    max_seconds = models.PositiveIntegerField(
        _("max seconds per turn"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    todo_policy = models.CharField(_("to-do policy"), max_length=20, choices=Policy, default=Policy.FOCUSED)
    max_todos = models.PositiveSmallIntegerField(
        _("max to-dos"), default=20, validators=[MinValueValidator(1), MaxValueValidator(200)]
    )
    remind_after = models.PositiveSmallIntegerField(
        _("rounds before a reminder"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Blank: the policy's default."),
    )
    rules = models.JSONField(_("rules for tools"), default=dict, blank=True, validators=[check_rules])
    language = models.CharField(_("language"), max_length=10, choices=Language, default=Language.ENGLISH)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="profiles",
        help_text=_("Blank: everyone can use it."),
    )
    position = models.PositiveSmallIntegerField(_("position"), default=100)

    # Of a restored snapshot: today's rules. The stricter of both applies.
    current_rules: Mapping[str, str] | None = None
    chosen_model: ModelSettings | None = None  # replaces the profile's own, see `with_model`
    is_lost = False  # whether `model` was chosen and its connection deleted, see `with_lost_model`

    class Meta:
        verbose_name = _("profile")
        verbose_name_plural = _("profiles")
        ordering = ["position", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(todo_policy__in=["focused", "lean", "checklist"]), name="profile_policy_known"
            ),
            models.CheckConstraint(condition=Q(language__in=["en", "zh"]), name="profile_language_known"),
        ]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        if self.connection is None:
            return
        if self.connection.owner_id not in (None, self.owner_id):
            whose = _("This connection belongs to one user, so only their profiles can use it.")
            raise ValidationError({"connection": whose})
        if not self.model:
            raise ValidationError({"model": _("Choose one of the connection's models.")})

    @property
    def called(self) -> str:
        return self.name or self.title

    def rule_for(self, tool: str) -> Rule:
        rule = rule_in(self.rules, tool)
        return rule if self.current_rules is None else strictest(rule, rule_in(self.current_rules, tool))

    def is_offered_to(self, user_id: int) -> bool:
        return self.owner_id in (None, user_id)

    def with_model(self, model: ModelSettings | None) -> Profile:
        """This profile, or a copy (not to be saved) that uses the model instead of its own."""
        if model is None:
            return self
        profile = copy.copy(self)
        profile.chosen_model, profile.model, profile.connection = model, model.model, model.connection
        return profile

    def with_lost_model(self, name: str) -> Profile:
        """A copy (not to be saved) whose model can no longer be used: no other takes its place."""
        profile = copy.copy(self)
        profile.is_lost, profile.model, profile.connection = True, name, None
        return profile

    def copy_for(self, owner: User, title: str) -> Profile:
        """An unsaved copy for `owner`; MCP servers open to this profile alone are not open to the copy."""
        profile = Profile(owner=owner, title=title)
        for field in self._meta.concrete_fields:
            if field.name not in ("id", "owner", "title", "position"):
                setattr(profile, field.attname, getattr(self, field.attname))
        if self.connection and self.connection.owner_id not in (None, owner.pk):
            profile.connection, profile.model = None, ""
        return profile

    @classmethod
    def changeable_by(cls, user: User) -> QuerySet[Profile]:
        own = Q(owner_id=user.pk)
        return cls.objects.filter(own | Q(owner=None) if user.is_staff else own)

    @classmethod
    def set_up_in_chinese(cls) -> None:
        """Have everyone's profiles that nobody has renamed speak Chinese."""
        for title, chinese in CHINESE_TITLES.items():
            untouched = cls.objects.filter(owner=None, title=title, language=cls.Language.ENGLISH)
            untouched.update(title=chinese, language=cls.Language.CHINESE)

    @classmethod
    def everyones_without_other(cls, connection: Connection) -> QuerySet[Profile]:
        """Everyone's profiles that have no connection, or this one."""
        return cls.objects.filter(Q(connection=None) | Q(connection=connection), owner=None)

    @classmethod
    def colours_for(cls, user: User, *, everybody: bool) -> dict[str, str]:
        """Colours by title: of the profiles that the user may choose; with `everybody` also of the others."""
        rows = cls.objects.all() if everybody else cls.offered_to(user)
        reverse = rows.only("title", "colour", "owner_id").reverse()
        first_last = sorted(reverse, key=lambda row: row.is_offered_to(user.pk))
        return {row.title: row.colour for row in first_last}

    @classmethod
    def offered_to(cls, user: AbstractBaseUser | AnonymousUser) -> QuerySet[Profile]:
        """The profiles that the user may choose, in order: everyone's, and their own."""
        return cls.objects.filter(Q(owner=None) | Q(owner_id=user.pk))


def answers_by_script(source: Profile | ModelSettings | None) -> bool:
    """Whether the demo model replies for this profile or model."""
    if isinstance(source, Profile) and source.is_lost:
        return False
    return bool(settings.DEMO and (source is None or source.connection_id is None))


# A profile's settings besides its connection; also the content of an exported profile.
FIELDS = (
    "title",
    "name",
    "colour",
    "instructions",
    "language",
    "model",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning_effort",
    "todo_policy",
    "max_todos",
    "remind_after",
    "rules",
    "max_steps",
    "max_tool_calls",
    "max_seconds",
)


def snapshot_of(profile: Profile) -> dict[str, Any]:
    """The profile as JSON, with its connection's name and address but no secrets.

    `chosen` is there, and true, if the model was chosen apart from the profile; `lost`, if it is gone.
    """
    values = {name: getattr(profile, name) for name in FIELDS}
    endpoint = {"asked": model_name_of(profile), "connection": _connection(profile)}
    chosen = {"chosen": True} if profile.chosen_model else {}
    lost = {"lost": True} if profile.is_lost else {}
    return {"id": profile.pk, **values, **endpoint, **chosen, **lost}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names of what differs between two snapshots; a rule that changes nothing is no difference.

    Nor are the ids of a profile of the same name that was imported: it knows none of this site.
    """
    if before.get("id", 0) < 0 and before.get("title") == after["title"]:
        endpoint = {**before["connection"], "id": after["connection"]["id"]}
        before = {**before, "id": after["id"], "connection": endpoint}
    changed = [name for name in after if after[name] != before.get(name)]
    if "rules" in changed and _needed(before.get("rules") or {}) == _needed(after["rules"]):
        changed.remove("rules")
    return changed


def _needed(rules: Mapping[str, str]) -> dict[str, str]:
    """The rules without which another would hold, that of the server or the default."""
    return {
        name: rule
        for name, rule in rules.items()
        if rule_in({other: rules[other] for other in rules if other != name}, name) != rule
    }


def restore_profile(record: Mapping[str, Any], conversation: Conversation) -> Profile:
    """The profile of a snapshot, for a turn of the conversation. Reads the database.

    It belongs to the conversation's owner, so that no other user's connection is used. Rules that are
    stricter today apply. If the connection was deleted, the profile's current connection and model are used,
    unless the model was chosen apart from the profile: then it is lost.
    """
    chosen = conversation.profile
    current = (
        chosen if chosen and chosen.pk == record["id"] else Profile.objects.filter(pk=record["id"]).first()
    )
    values = {name: record[name] for name in FIELDS if name in record}  # an older release knew fewer
    profile = Profile(pk=record["id"], owner_id=conversation.owner_id, **values)
    profile.current_rules = current.rules if current else {}
    connection_id = record["connection"]["id"]
    if record.get("lost"):
        return profile.with_lost_model(profile.model)
    if connection_id is not None:
        profile.connection = Connection.objects.filter(pk=connection_id).first()
        if profile.connection is None and record.get("chosen"):
            return profile.with_lost_model(profile.model)
        if profile.connection is None:
            source = current or conversation.profile_in_use()
            profile.connection, profile.model = source.connection, source.model
    if record.get("chosen"):
        profile.chosen_model = ModelSettings(connection=profile.connection, model=profile.model)
    return profile


def model_name_of(profile: Profile) -> str:
    return profile.model or settings.MODEL_NAME


def _connection(profile: Profile) -> dict[str, Any]:
    """The profile's endpoint. The environment's has neither id nor name."""
    connection = profile.connection
    if connection is None:
        return {"id": None, "name": "", "address": bare_address(settings.MODEL_BASE_URL or "")}
    return {"id": connection.pk, "name": connection.name, "address": bare_address(connection.base_url)}


def bare_address(url: str) -> str:
    """The URL without what may be secret: user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class Allowance(models.Model):
    """A tool that runs without asking in one conversation; of the shell, one program or exact command."""

    conversation = models.ForeignKey("chat.Conversation", on_delete=models.CASCADE, related_name="allowances")
    tool = models.CharField(max_length=200)
    program = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("allowance")
        verbose_name_plural = _("allowances")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "tool", "program"], name="allowance_once"),
            models.CheckConstraint(
                condition=~models.Q(tool="bash", program=""), name="allowance_names_a_program"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.program}".rstrip()

    @classmethod
    def covers(cls, conversation_id: uuid.UUID, tool: str, program: str) -> bool:
        allowances = cls.objects.filter(conversation=conversation_id, tool=tool, program=program)
        return allowances.exists()
