"""MCP servers: programs and addresses that give the agent further tools. Only administrators set them up."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.mcp_reach import check_folder
from chat.models.profile import Profile
from chat.models.seal import seal, unseal
from chat.models.text import clean
from chat.models.web_address import check_url


class McpServer(models.Model):
    """How a server is reached, who may use it, and how it was when a worker last looked.

    Headers and environment are secrets, and kept sealed.
    """

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
        """The enabled servers that the profile may use."""
        chosen = Q(profiles=None) | Q(profiles=profile.pk) if profile.pk else Q(profiles=None)
        return cls.objects.filter(chosen, enabled=True).distinct()

    @classmethod
    def unwell(cls) -> QuerySet[McpServer]:
        """The enabled servers that were found wanting when last looked at."""
        return cls.objects.filter(enabled=True).exclude(problem="")

    @property
    def version(self) -> str:
        """Another one after each change of how it is reached."""
        return self.updated_at.isoformat()

    @property
    def headers(self) -> dict[str, str]:
        """What is sent with every request; raises SealBrokenError."""
        return unseal(self.secrets).get("headers", {})

    @property
    def environment(self) -> dict[str, str]:
        """All that the program gets of an environment; raises SealBrokenError."""
        return unseal(self.secrets).get("environment", {})

    def keep_secrets(self, headers: Mapping[str, str], environment: Mapping[str, str]) -> None:
        """Seal these in place of what was there; the row is not saved."""
        self.secrets = seal({"headers": dict(headers), "environment": dict(environment)})

    def clean(self) -> None:
        """One way to reach it, and only one."""
        if self.transport == self.Transport.STDIO:
            self.url = ""
            if not self.command:
                raise ValidationError({"command": _("A program needs a command.")})
            for folder in self.readable:
                check_folder(folder)
        else:
            self.command, self.readable = [], []
            check_url(self.url, inside=self.network)

    def note(self, problem: str, detail: str = "") -> None:
        """Write down how it is now: a sentence for everybody and a detail for administrators, or nothing."""
        found = {"problem": clean(problem), "problem_detail": clean(detail), "looked_at": timezone.now()}
        type(self).objects.filter(pk=self.pk).update(**found)
