"""MCP servers: programs and addresses that provide tools. Only administrators set them up."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.agent.storable import storable, storable_json
from chat.models.profile import Profile
from chat.models.secrets import seal, unseal
from chat.models.url_validation import check_url


class McpServer(models.Model):
    """How a server is reached, who may use it, and its state. Headers and environment are encrypted."""

    class Transport(models.TextChoices):
        STDIO = "stdio", _("A program, started here in the sandbox")
        HTTP = "http", _("An address, over streamable HTTP")

    name = models.CharField(
        _("name"),
        max_length=32,
        unique=True,
        validators=[
            RegexValidator(r"\A[a-z0-9]+(-[a-z0-9]+)*\Z", _("Lowercase letters, digits and hyphens."))
        ],
        help_text=_("Its tools are called name__tool."),
    )
    transport = models.CharField(_("transport"), max_length=10, choices=Transport, default=Transport.STDIO)
    command = models.JSONField(_("command"), default=list, blank=True)
    readable = models.JSONField(_("readable folders"), default=list, blank=True)
    url = models.CharField(_("address"), max_length=500, blank=True)
    network = models.BooleanField(
        _("network allowed"),
        default=False,
        help_text=_(
            "A program: it may use the network, including services on this machine. An address: it may "
            "be on this machine or its network; otherwise only public addresses are used, over https."
        ),
    )
    secrets = models.TextField(blank=True, default="", editable=False)
    seconds = models.PositiveSmallIntegerField(
        _("max seconds per call"),
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(600)],
    )
    profiles = models.ManyToManyField(
        Profile,
        verbose_name=_("profiles"),
        blank=True,
        related_name="mcp_servers",
        help_text=_("Profiles that may use it. None selected: all."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    updated_at = models.DateTimeField(auto_now=True)
    problem = models.TextField(_("problem"), blank=True, default="", editable=False)
    problem_detail = models.TextField(blank=True, default="", editable=False)
    looked_at = models.DateTimeField(_("last checked"), null=True, editable=False)

    class Meta:
        verbose_name = _("MCP server")
        verbose_name_plural = _("MCP servers")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(transport="stdio", url="") | (Q(transport="http") & ~Q(url="")),
                name="mcp_server_reached_one_way",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def offered_to(cls, profile: Profile) -> QuerySet[McpServer]:
        chosen = Q(profiles=None) | Q(profiles=profile.pk) if profile.pk else Q(profiles=None)
        return cls.objects.filter(chosen, enabled=True).distinct()

    @classmethod
    def failing(cls) -> QuerySet[McpServer]:
        """The enabled servers that had a problem at the latest check."""
        return cls.objects.filter(enabled=True).exclude(problem="")

    @property
    def version(self) -> str:
        return self.updated_at.isoformat()

    @property
    def offered(self) -> list[McpTool]:
        """Its tools that models are offered."""
        return [tool for tool in self.tools.all() if tool.state == McpTool.State.OFFERED]

    @property
    def waiting(self) -> list[McpTool]:
        """Its tools whose definitions await approval."""
        return [tool for tool in self.tools.all() if tool.state in (McpTool.State.NEW, McpTool.State.CHANGED)]

    @property
    def headers(self) -> dict[str, str]:
        return unseal(self.secrets).get("headers", {})

    @property
    def environment(self) -> dict[str, str]:
        return unseal(self.secrets).get("environment", {})

    def seal_secrets(self, headers: Mapping[str, str], environment: Mapping[str, str]) -> None:
        """Encrypt and replace the secrets, without saving the row."""
        self.secrets = seal({"headers": dict(headers), "environment": dict(environment)})

    def clean(self) -> None:
        if self.transport == self.Transport.STDIO:
            self.url = ""
            if not self.command:
                raise ValidationError({"command": _("A program needs a command.")})
            for folder in self.readable:
                check_folder(folder)
        else:
            self.command, self.readable = [], []
            check_url(self.url, inside=self.network)

    def save_problem(self, problem: str, detail: str = "") -> None:
        """Record the state: a sentence for everyone and a detail for administrators, or ""."""
        type(self).objects.filter(pk=self.pk).update(
            problem=storable(problem), problem_detail=storable(detail), looked_at=timezone.now()
        )


@dataclass(frozen=True)
class ListedTool:
    """A tool as its server lists it; `unfit` says why providers would reject it."""

    name: str
    offered_as: str
    definition: dict[str, Any]
    fingerprint: str
    unfit: str


class McpTool(models.Model):
    """A tool of an MCP server. Models are offered it only if its definition is the one that was accepted.

    A fingerprint stands for name, description and schema; "" for none.
    """

    class State(models.TextChoices):
        OFFERED = "offered", _("Offered")
        NEW = "new", _("New: awaiting approval")
        CHANGED = "changed", _("Changed: awaiting approval")
        GONE = "gone", _("No longer listed")
        UNFIT = "unfit", _("Cannot be offered")

    server = models.ForeignKey(
        McpServer, on_delete=models.CASCADE, related_name="tools", verbose_name=_("MCP server")
    )
    name = models.CharField(_("name"), max_length=200)
    offered_as = models.CharField(_("offered as"), max_length=64)
    listed = models.JSONField(default=dict)
    listed_fingerprint = models.CharField(max_length=64, blank=True)
    accepted = models.JSONField(default=dict)
    accepted_fingerprint = models.CharField(max_length=64, blank=True, default="")
    unfit = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = _("MCP tool")
        verbose_name_plural = _("MCP tools")
        ordering = ["server__name", "name"]
        constraints = [
            models.UniqueConstraint(fields=["server", "name"], name="mcp_tool_name_once"),
            models.UniqueConstraint(fields=["server", "offered_as"], name="mcp_tool_offered_once"),
        ]

    def __str__(self) -> str:
        return self.offered_as

    @property
    def state(self) -> State:
        if not self.listed_fingerprint:
            return self.State.GONE
        if self.unfit:
            return self.State.UNFIT
        if not self.accepted_fingerprint:
            return self.State.NEW
        return (
            self.State.OFFERED if self.listed_fingerprint == self.accepted_fingerprint else self.State.CHANGED
        )

    @classmethod
    def offered(cls, servers: Iterable[McpServer]) -> QuerySet[McpTool]:
        return cls.objects.filter(
            ~Q(listed_fingerprint=""),
            server__in=list(servers),
            unfit="",
            listed_fingerprint=F("accepted_fingerprint"),
        ).select_related("server")

    @classmethod
    def save_listing(cls, server: McpServer, listing: Collection[ListedTool]) -> None:
        names = [tool.name for tool in listing]
        with transaction.atomic():
            cls.objects.filter(server=server).exclude(name__in=names).update(listed_fingerprint="")
            for tool in listing:
                cls.objects.update_or_create(
                    server=server,
                    name=tool.name,
                    defaults={
                        "offered_as": tool.offered_as,
                        "listed": storable_json(tool.definition),
                        "listed_fingerprint": tool.fingerprint,
                        "unfit": storable(tool.unfit),
                    },
                )

    @classmethod
    def accept(cls, reviewed: Iterable[tuple[int, str]]) -> int:
        """Accept definitions by key and reviewed fingerprint, if unchanged; returns how many."""
        return sum(
            cls.objects.filter(pk=pk, listed_fingerprint=fingerprint)
            .exclude(listed_fingerprint="")
            .update(accepted=F("listed"), accepted_fingerprint=fingerprint)
            for pk, fingerprint in reviewed
        )


# These expose too much of the machine, or conflict with the sandbox.
_SYSTEM = ("boot", "data", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "var")
_NOT_READABLE = {"/", *(f"/{name}" for name in _SYSTEM)}


def check_folder(folder: str) -> None:
    """Raise ValidationError for a folder that no server may read: the site's data, or a system folder."""
    if not folder.startswith("/") or folder != os.path.normpath(folder):
        raise ValidationError(_("%(folder)s is not an absolute path."), params={"folder": folder})
    data = os.path.realpath(settings.DATA_DIR)
    paths = {folder, os.path.realpath(folder)}
    common = {os.path.commonpath([data, each]) for each in paths}
    if paths & _NOT_READABLE or data in common or common & paths:
        raise ValidationError(
            _("%(folder)s contains files that no server may read."), params={"folder": folder}
        )
