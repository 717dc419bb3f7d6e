"""Profiles: how an agent is set up."""

from __future__ import annotations

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

from chat.models.connection import Connection

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

    from chat.models.conversation import Conversation


# Confined by the sandbox and the workspace, so they need no question. What is not named here asks.
BUILT_IN_TOOLS = ("bash", "read_file", "write_file", "edit_file")
OTHERS = "*"  # in a profile's rules: every tool that they name nowhere else, which is to say of MCP servers
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{1,60}__\*|\*")


class Rule(models.TextChoices):
    """What becomes of a call before it runs: it just runs, the person is asked, or it is not even offered."""

    RUN = "run", _("Run: without asking")
    ASK = "ask", _("Ask: wait for an answer first")
    NEVER = "never", _("Never: not offered to the model")


def check_rules(rules: object) -> None:
    """Raise ValidationError for what is no object of tools' names and their rules."""
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
    """What the rules say of the tool: its own rule, its server's (`server__*`), or the default."""
    server = f"{tool.partition('__')[0]}__*" if "__" in tool else tool
    for name in (tool, server):
        if name in rules:
            return Rule(rules[name])
    return Rule.RUN if tool in BUILT_IN_TOOLS else Rule(rules.get(OTHERS, Rule.ASK))


def strictest(*rules: Rule) -> Rule:
    """Of several rules the one that lets least happen."""
    return max(rules, key=list(Rule).index)


class Profile(models.Model):
    """Name, instructions, model, todo policy and rules for tools of an agent."""

    class Policy(models.TextChoices):
        FOCUSED = "focused", _("Focused: three states, shows what it is doing")
        LEAN = "lean", _("Lean: open or done, fewest calls")
        CHECKLIST = "checklist", _("Checklist: the model numbers its items")

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

    # Of one as it was: the rules that hold today. They count as well.
    rules_since: Mapping[str, str] | None = None

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
        """A connection that its owner may use, and one of its models."""
        if self.connection is None:
            return
        if self.connection.owner_id not in (None, self.owner_id):
            whose = _("This connection belongs to one user, so only their profiles can use it.")
            raise ValidationError({"connection": whose})
        if not self.model:
            raise ValidationError({"model": _("Choose one of the connection's models.")})

    @property
    def called(self) -> str:
        """What a person calls it: the agent's name, or the profile's title."""
        return self.name or self.title

    def rule_for(self, tool: str) -> Rule:
        """What becomes of the tool's calls: its own rule, its server's (`server__*`), or the default."""
        rule = rule_in(self.rules, tool)
        return rule if self.rules_since is None else strictest(rule, rule_in(self.rules_since, tool))

    def is_offered_to(self, user_id: int) -> bool:
        """Whether the user may choose it."""
        return self.owner_id in (None, user_id)

    def copy_for(self, owner: User, title: str) -> Profile:
        """A copy that is the owner's, not saved yet.

        A server of tools that administrators opened to this profile alone is not open to the copy.
        """
        copy = Profile(owner=owner, title=title)
        for field in self._meta.concrete_fields:
            if field.name not in ("id", "owner", "title", "position"):
                setattr(copy, field.attname, getattr(self, field.attname))
        if self.connection and self.connection.owner_id not in (None, owner.pk):
            copy.connection, copy.model = None, ""
        return copy

    @classmethod
    def changeable_by(cls, user: User) -> QuerySet[Profile]:
        """The profiles that the user may change: their own, and the site's where they are staff."""
        own = Q(owner_id=user.pk)
        return cls.objects.filter(own | Q(owner=None) if user.is_staff else own)

    @classmethod
    def offered_to(cls, user: AbstractBaseUser | AnonymousUser) -> QuerySet[Profile]:
        """The profiles that the user may choose, the first one first: everybody's, and their own."""
        return cls.objects.filter(Q(owner=None) | Q(owner_id=user.pk))


def answers_by_script(profile: Profile | None) -> bool:
    """Whether the demo answers for the profile, which is no AI and is called so."""
    return bool(settings.DEMO and (profile is None or profile.connection_id is None))


# What makes up a profile besides its connection; also what a file of it holds.
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


def recorded(profile: Profile) -> dict[str, Any]:
    """The profile as JSON has it, with its connection's name and address, and none of its secrets."""
    kept = {name: getattr(profile, name) for name in FIELDS}
    return {"id": profile.pk, **kept, "asked": asked_model(profile), "connection": _connection(profile)}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names of what differs between two records."""
    return [name for name in after if after[name] != before.get(name)]


def restore_profile(record: Mapping[str, Any], conversation: Conversation) -> Profile:
    """The profile of a record, for a turn of the conversation to work with. Reads the database.

    It is its owner's, so that nobody else's connection is asked. Rules that have become stricter since hold.
    Where the connection is gone, the one that the profile has today is asked, and its model.
    """
    chosen = conversation.profile
    now = chosen if chosen and chosen.pk == record["id"] else Profile.objects.filter(pk=record["id"]).first()
    kept = {name: record[name] for name in FIELDS if name in record}  # an older release knew fewer
    profile = Profile(pk=record["id"], owner_id=conversation.owner_id, **kept)
    profile.rules_since = now.rules if now else {}
    connection_id = record["connection"]["id"]
    if connection_id is not None:
        profile.connection = Connection.objects.filter(pk=connection_id).first()
        if profile.connection is None:
            other = now or conversation.profile_in_use()
            profile.connection, profile.model = other.connection, other.model
    return profile


def asked_model(profile: Profile) -> str:
    """The name of the model that the profile asks."""
    return profile.model or settings.MODEL_NAME


def _connection(profile: Profile) -> dict[str, Any]:
    """Which endpoint the profile asks. The environment's has neither id nor name."""
    connection = profile.connection
    if connection is None:
        return {"id": None, "name": "", "address": bare_address(settings.MODEL_BASE_URL or "")}
    return {"id": connection.pk, "name": connection.name, "address": bare_address(connection.base_url)}


def bare_address(url: str) -> str:
    """An address without what may be secret in it: user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class Allowance(models.Model):
    """A tool that needs no further question in one conversation; of the shell, one program."""

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
        """Whether the tool, with this program where it is the shell, was allowed in the conversation."""
        found = cls.objects.filter(conversation=conversation_id, tool=tool, program=program)
        return found.exists()
