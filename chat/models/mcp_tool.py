"""Tools of MCP servers: as they are listed, and as an administrator accepted them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import models, transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from chat.models.mcp_server import McpServer
from chat.models.text import clean, clean_json


@dataclass(frozen=True)
class Listed:
    """A tool as its server lists it now; `unfit` says why no provider would take it, if so."""

    name: str
    offered_as: str
    definition: dict[str, Any]
    fingerprint: str
    unfit: str


class McpTool(models.Model):
    """One tool of a server. It is offered while what is listed is what was accepted.

    A fingerprint stands for name, description and schema; an empty one for nothing listed, or accepted.
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
        """Whether it is offered, and why not."""
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
        """The tools of these servers that are as they were accepted."""
        return cls.objects.filter(
            ~Q(listed_fingerprint=""),
            server__in=list(servers),
            unfit="",
            listed_fingerprint=F("accepted_fingerprint"),
        ).select_related("server")

    @classmethod
    def waiting(cls) -> QuerySet[McpTool]:
        """The tools whose definitions an administrator has yet to accept."""
        new = ~Q(listed_fingerprint="") & ~Q(listed_fingerprint=F("accepted_fingerprint"))
        return cls.objects.filter(new, unfit="").select_related("server")

    @classmethod
    def take_listing(cls, server: McpServer, listing: Collection[Listed]) -> None:
        """Write down what the server lists now."""
        names = [tool.name for tool in listing]
        with transaction.atomic():
            cls.objects.filter(server=server).exclude(name__in=names).update(listed_fingerprint="")
            for tool in listing:
                cls.objects.update_or_create(
                    server=server,
                    name=tool.name,
                    defaults={
                        "offered_as": tool.offered_as,
                        "listed": clean_json(tool.definition),
                        "listed_fingerprint": tool.fingerprint,
                        "unfit": clean(tool.unfit),
                    },
                )

    @classmethod
    def accept(cls, seen: Iterable[tuple[int, str]]) -> int:
        """Accept definitions, each a row's id and the fingerprint that was looked at; how many there were.

        One that has changed again since it was looked at is left as it is.
        """
        return sum(
            cls.objects.filter(pk=pk, listed_fingerprint=fingerprint)
            .exclude(listed_fingerprint="")
            .update(accepted=F("listed"), accepted_fingerprint=fingerprint)
            for pk, fingerprint in seen
        )
