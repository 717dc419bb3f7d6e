"""The administrator's view of MCP servers: set up here and nowhere else, by superusers alone."""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from chat.admin.mcp_server_form import McpServerForm
from chat.connections.mcp_servers import look
from chat.models import McpServer, McpTool


class ToolsInline(admin.TabularInline):  # type: ignore[type-arg] # not subscriptable as it runs
    """The tools that the server listed, to be read."""

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
    """Set up, looked at, and the definitions of its tools accepted."""

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
        """Connect with the servers, here and now, and say what came of it."""
        async_to_sync(look)(list(servers))
        for server in servers.all():
            if server.problem:
                text = f"{server.name}: {server.problem} {server.problem_detail}"
                self.message_user(request, text, messages.ERROR)
            else:
                self.message_user(request, f"{server.name}: {self.tools_in_words(server)}")

    @admin.action(description=gettext_lazy("Accept the new definitions"), permissions=["change"])
    def accept(self, request: HttpRequest, servers: QuerySet[McpServer]) -> HttpResponse | None:
        """Show what waits, whole; accept exactly what was shown."""
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
            {"tool": tool, "listed": _told(tool.listed), "accepted": _told(tool.accepted)} for tool in waiting
        ]
        about = {"title": _("Accept the new definitions"), "opts": self.model._meta, "tools": tools}
        return {**self.admin_site.each_context(request), **about, "servers": servers}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _is_administrator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_administrator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_administrator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_administrator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_administrator(request)


def _is_administrator(request: HttpRequest) -> bool:
    """A server is a program that runs here: not for staff with some permissions to set up."""
    return bool(request.user.is_active and request.user.is_superuser)


def _told(definition: dict[str, Any]) -> str:
    """A definition, whole, as text in which nothing hides: what has no shape is written as a number."""
    if not definition:
        return ""
    schema = json.dumps(definition["schema"], indent=2, ensure_ascii=False, sort_keys=True)
    text = f"{definition['description']}\n\n{schema}"
    return "".join(each if each.isprintable() or each == "\n" else f"\\u{{{ord(each):x}}}" for each in text)
