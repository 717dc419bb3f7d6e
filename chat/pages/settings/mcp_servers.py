"""MCP servers: set up, checked, and their tools accepted, by superusers only."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.connections.mcp_servers import check_servers
from chat.models import McpServer, McpTool, Profile
from chat.models.secrets import KEPT, RESERVED_HEADERS, SecretUnreadableError, check_header
from chat.pages.audience import audience
from chat.pages.settings.settings_form import SettingsForm
from chat.pages.signed_in import SignedInRequest

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_RESERVED_HEADERS = RESERVED_HEADERS | {"mcp-session-id", "mcp-protocol-version", "last-event-id"}


class Lines(forms.CharField):
    widget = forms.Textarea(attrs={"rows": 1, "spellcheck": "false", "class": "mono"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override] # the value is a list
        return [line.strip() for line in (value or "").splitlines() if line.strip()]


class Profiles(forms.ModelMultipleChoiceField):  # type: ignore[type-arg] # not subscriptable as it runs
    widget = forms.CheckboxSelectMultiple

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.title} ({obj.owner})" if obj.owner else str(obj.title)


class McpServerForm(SettingsForm):
    """Values are never expanded or run by a shell."""

    command = Lines(
        label=gettext_lazy("Command"),
        required=False,
        help_text=gettext_lazy(
            "The program and its arguments, on one line or one per line. Other users of this machine may see "
            "them."
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

    profiles = Profiles(
        Profile.objects.select_related("owner"),
        label=gettext_lazy("Profiles"),
        required=False,
        help_text=gettext_lazy("Profiles that may use it. None selected: all."),
    )

    class Meta:
        model = McpServer
        help_texts = {
            "name": gettext_lazy("Lowercase letters, digits and hyphens. Its tools are called name__tool.")
        }
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
        for name in ("environment", "headers"):
            self.fields[name].widget.attrs["data-secret"] = True
        self.initial["environment"] = [f"{name}={KEPT}" for name in self.stored["environment"]]
        self.initial["headers"] = [f"{name}: {KEPT}" for name in self.stored["headers"]]

    def _stored_secrets(self) -> dict[str, dict[str, str]]:
        try:
            return {"environment": self.instance.environment, "headers": self.instance.headers}
        except SecretUnreadableError:
            return {"environment": {}, "headers": {}}

    def clean_command(self) -> list[str]:
        """The words; a single line is split at its blanks, with quotes as in a shell."""
        words: list[str] = self.cleaned_data["command"]
        if len(words) != 1:
            return words
        try:
            return shlex.split(words[0])
        except ValueError:
            raise ValidationError(_("A quote is not closed.")) from None

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


@audience("superuser")
@require_safe
def mcp_servers(request: SignedInRequest) -> HttpResponse:
    servers = McpServer.objects.prefetch_related("tools")
    return render(request, "settings/mcp_servers.html", {"section": "mcp_servers", "servers": servers})


@audience("superuser")
@sensitive_post_parameters("environment", "headers")
@require_http_methods(["GET", "HEAD", "POST"])
def add_mcp_server(request: SignedInRequest) -> HttpResponse:
    form = McpServerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return _save(form)
    return _page(request, form)


@audience("superuser")
@sensitive_post_parameters("environment", "headers")
@require_http_methods(["GET", "HEAD", "POST"])
def mcp_server(request: SignedInRequest, server_id: int) -> HttpResponse:
    server = get_object_or_404(McpServer, pk=server_id)
    form = McpServerForm(request.POST or None, instance=server)
    if request.method == "POST" and form.is_valid():
        return _save(form)
    stored = McpServer.objects.prefetch_related("tools").get(pk=server_id)
    waiting = [
        {"tool": tool, "listed": _definition_text(tool.listed), "accepted": _definition_text(tool.accepted)}
        for tool in stored.waiting
    ]
    others = [tool for tool in stored.tools.all() if tool not in stored.waiting]
    return _page(request, form, server=stored, waiting=waiting, tools=others)


@audience("superuser")
@require_POST
def check_mcp_server(request: SignedInRequest, server_id: int) -> HttpResponse:
    """Connect once; the server's page shows its tools, or why it failed."""
    server = get_object_or_404(McpServer, pk=server_id)
    async_to_sync(check_servers)([server])
    return redirect("mcp_server", server_id)


@audience("superuser")
@require_POST
def accept_mcp_tools(request: SignedInRequest, server_id: int) -> HttpResponse:
    """Accept exactly the definitions that were shown."""
    server = get_object_or_404(McpServer, pk=server_id)
    seen = [entry.partition(":") for entry in request.POST.getlist("seen")]
    keys = set(server.tools.values_list("pk", flat=True))
    count = McpTool.accept(
        (int(pk), fingerprint) for pk, _colon, fingerprint in seen if pk.isdecimal() and int(pk) in keys
    )
    if count < len(seen):
        messages.warning(request, _("A definition has changed meanwhile. Read it again."))
    if count:
        text = ngettext("%d definition accepted.", "%d definitions accepted.", count) % count
        messages.success(request, text)
    return redirect("mcp_server", server_id)


@audience("superuser")
@require_POST
def delete_mcp_server(request: SignedInRequest, server_id: int) -> HttpResponse:
    server = get_object_or_404(McpServer, pk=server_id)
    server.delete()
    messages.success(request, _("“%s” deleted.") % server.name)
    return redirect("mcp_servers")


def _save(form: McpServerForm) -> HttpResponse:
    server = form.save()
    if server.enabled:
        async_to_sync(check_servers)([server])
    return redirect("mcp_server", server.pk)


@sensitive_variables("form")
def _page(request: HttpRequest, form: McpServerForm, **more: Any) -> HttpResponse:
    context = {"section": "mcp_servers", "form": form, **more}
    return render(request, "settings/mcp_server.html", context, status=400 if form.errors else 200)


def _definition_text(definition: dict[str, Any]) -> str:
    if not definition:
        return ""
    schema = json.dumps(definition["schema"], indent=2, ensure_ascii=False, sort_keys=True)
    text = f"{definition['description']}\n\n{schema}"
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\u{{{ord(character):x}}}"
        for character in text
    )
