"""The admin of MCP servers, for superusers only."""

from __future__ import annotations

import json
import re
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from chat.connections.mcp_servers import check_servers
from chat.models import McpServer, McpTool
from chat.models.secrets import KEPT, RESERVED_HEADERS, SecretUnreadableError, check_header

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_RESERVED_HEADERS = RESERVED_HEADERS | {"mcp-session-id", "mcp-protocol-version", "last-event-id"}


class Lines(forms.CharField):
    widget = forms.Textarea(attrs={"rows": 4, "cols": 80, "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override] # the value is a list
        return [line.strip() for line in (value or "").splitlines() if line.strip()]


class McpServerForm(forms.ModelForm):  # type: ignore[type-arg] # not subscriptable as it runs
    """Values are never expanded or run by a shell."""

    command = Lines(
        label=gettext_lazy("Command"),
        required=False,
        help_text=gettext_lazy(
            "The program and its arguments, one per line. Other users of this machine may see them."
        ),
    )
    readable = Lines(
        label=gettext_lazy("Readable folders"),
        required=False,
        help_text=gettext_lazy(
            "Folders it may read besides /usr, one per line, such as its virtual environment."
        ),
    )
    environment = Lines(
        label=gettext_lazy("Environment"),
        required=False,
        help_text=gettext_lazy("NAME=value, one per line. It gets these and none of the site's own."),
    )
    headers = Lines(
        label=gettext_lazy("Headers"),
        required=False,
        help_text=gettext_lazy("Name: value, one per line, sent with every request."),
    )

    class Meta:
        model = McpServer
        fields = (
            "name",
            "enabled",
            "transport",
            "command",
            "readable",
            "url",
            "network",
            "seconds",
            "profiles",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored = self._stored_secrets()
        self.initial["environment"] = [f"{name}={KEPT}" for name in self.stored["environment"]]
        self.initial["headers"] = [f"{name}: {KEPT}" for name in self.stored["headers"]]

    def _stored_secrets(self) -> dict[str, dict[str, str]]:
        try:
            return {"environment": self.instance.environment, "headers": self.instance.headers}
        except SecretUnreadableError:
            return {"environment": {}, "headers": {}}

    def clean_environment(self) -> dict[str, str]:
        variables = self._parse_lines("environment", "=")
        for name in variables:
            if not _VARIABLE.fullmatch(name):
                raise ValidationError(_("%(name)s is not a valid variable name."), params={"name": name})
        return variables

    def clean_headers(self) -> dict[str, str]:
        headers = self._parse_lines("headers", ":")
        for name, value in headers.items():
            check_header(name, value, reserved=_RESERVED_HEADERS)
        return headers

    def _parse_lines(self, field: str, mark: str) -> dict[str, str]:
        values = {}
        for line in self.cleaned_data[field]:
            name, separator, value = (part.strip() for part in line.partition(mark))
            if not separator or "\0" in line:
                raise ValidationError(_("A line has no %(mark)s."), params={"mark": mark})
            values[name] = self._secret(field, name, value)
        return values

    def _secret(self, field: str, name: str, value: str) -> str:
        if value != KEPT:
            return value
        if name not in self.stored[field]:
            raise ValidationError(_("%(name)s has no value."), params={"name": name})
        return self.stored[field][name]

    def save(self, commit: bool = True) -> McpServer:
        is_program = self.instance.transport == McpServer.Transport.STDIO
        self.instance.seal_secrets(
            {} if is_program else self.cleaned_data["headers"],
            self.cleaned_data["environment"] if is_program else {},
        )
        saved: McpServer = super().save(commit)
        return saved


class ToolsInline(admin.TabularInline):  # type: ignore[type-arg] # not subscriptable as it runs
    model = McpTool
    fields = readonly_fields = ("offered_as", "state", "description", "why_not")
    extra = 0
    can_delete = False

    @admin.display(description=gettext_lazy("state"))
    def state(self, tool: McpTool) -> str:
        return str(tool.state.label)

    @admin.display(description=gettext_lazy("description"))
    def description(self, tool: McpTool) -> str:
        return str(tool.listed.get("description", ""))

    @admin.display(description=gettext_lazy("reason it is not offered"))
    def why_not(self, tool: McpTool) -> str:
        return tool.unfit

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_administrator(request)


@admin.register(McpServer)
class McpServerAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # not subscriptable as it runs
    form = McpServerForm
    list_display = ("name", "transport", "enabled", "tools_in_words", "problem", "looked_at")
    list_filter = ("enabled", "transport")
    filter_horizontal = ("profiles",)
    readonly_fields = ("problem", "problem_detail", "looked_at")
    inlines = (ToolsInline,)
    actions = ("look_now", "accept")
    fieldsets = (
        (None, {"fields": ("name", "enabled", "transport", "profiles", "seconds", "network")}),
        (gettext_lazy("A program"), {"fields": ("command", "readable", "environment")}),
        (gettext_lazy("An address"), {"fields": ("url", "headers")}),
        (gettext_lazy("Last checked"), {"fields": ("problem", "problem_detail", "looked_at")}),
    )

    @admin.display(description=gettext_lazy("tools"))
    def tools_in_words(self, server: McpServer) -> str:
        states = [tool.state for tool in server.tools.all()]
        offered = states.count(McpTool.State.OFFERED)
        waiting = states.count(McpTool.State.NEW) + states.count(McpTool.State.CHANGED)
        return _("%(offered)d offered, %(waiting)d awaiting approval") % {
            "offered": offered,
            "waiting": waiting,
        }

    @admin.action(description=gettext_lazy("Refresh their tools now"), permissions=["change"])
    def look_now(self, request: HttpRequest, servers: QuerySet[McpServer]) -> None:
        async_to_sync(check_servers)(list(servers))
        for server in servers.all():
            if server.problem:
                text = f"{server.name}: {server.problem} {server.problem_detail}"
                self.message_user(request, text, messages.ERROR)
            else:
                self.message_user(request, f"{server.name}: {self.tools_in_words(server)}")

    @admin.action(description=gettext_lazy("Accept the new definitions"), permissions=["change"])
    def accept(self, request: HttpRequest, servers: QuerySet[McpServer]) -> HttpResponse | None:
        """Show the pending definitions in full; accept exactly those that were shown."""
        if seen := request.POST.getlist("seen"):
            pairs = [entry.partition(":") for entry in seen]
            count = McpTool.accept((int(pk), print_) for pk, _colon, print_ in pairs if pk.isdecimal())
            text = ngettext("%d definition accepted.", "%d definitions accepted.", count) % count
            self.message_user(request, text)
            return None
        waiting = McpTool.waiting().filter(server__in=servers)
        if not waiting:
            self.message_user(request, _("No definitions are awaiting approval."))
            return None
        return TemplateResponse(request, "admin/accept_mcp_tools.html", self._page(request, servers, waiting))

    def _page(
        self, request: HttpRequest, servers: QuerySet[McpServer], waiting: QuerySet[McpTool]
    ) -> dict[str, Any]:
        tools = [
            {
                "tool": tool,
                "listed": _definition_text(tool.listed),
                "accepted": _definition_text(tool.accepted),
            }
            for tool in waiting
        ]
        page = {"title": _("Accept the new definitions"), "opts": self.model._meta, "tools": tools}
        return {**self.admin_site.each_context(request), **page, "servers": servers}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _is_administrator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_administrator(request)

    has_add_permission = has_module_permission
    has_change_permission = has_delete_permission = has_view_permission


def _is_administrator(request: HttpRequest) -> bool:
    """Superusers only: a server is a program that runs on this machine."""
    return bool(request.user.is_active and request.user.is_superuser)


def _definition_text(definition: dict[str, Any]) -> str:
    if not definition:
        return ""
    schema = json.dumps(definition["schema"], indent=2, ensure_ascii=False, sort_keys=True)
    text = f"{definition['description']}\n\n{schema}"
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\u{{{ord(character):x}}}"
        for character in text
    )
