"""The form of an MCP server: lists line by line, and secrets that are written but never shown."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.models import McpServer
from chat.models.headers import KEPT, OURS, check_header
from chat.models.seal import SealBrokenError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_OURS = OURS | {"mcp-session-id", "mcp-protocol-version", "last-event-id"}


class Lines(forms.CharField):
    """A list of texts, one a line; no shell and no quotes: a line is a word."""

    widget = forms.Textarea(attrs={"rows": 4, "cols": 80, "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override] # as the field of a list must
        return [line.strip() for line in (value or "").splitlines() if line.strip()]


class McpServerForm(forms.ModelForm):  # type: ignore[type-arg] # not subscriptable as it runs
    """An MCP server as an administrator edits it. Nothing entered here is ever expanded or run by a shell."""

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
        self.kept = self._opened()
        self.initial["environment"] = [f"{name}={KEPT}" for name in self.kept["environment"]]
        self.initial["headers"] = [f"{name}: {KEPT}" for name in self.kept["headers"]]

    def _opened(self) -> dict[str, dict[str, str]]:
        try:
            return {"environment": self.instance.environment, "headers": self.instance.headers}
        except SealBrokenError:
            return {"environment": {}, "headers": {}}

    def clean_environment(self) -> dict[str, str]:
        """The variables by their names."""
        given = self._parted("environment", "=")
        for name in given:
            if not _VARIABLE.fullmatch(name):
                raise ValidationError(_("%(name)s is not a valid variable name."), params={"name": name})
        return given

    def clean_headers(self) -> dict[str, str]:
        """The headers by their names."""
        given = self._parted("headers", ":")
        for name, value in given.items():
            check_header(name, value, ours=_OURS)
        return given

    def _parted(self, field: str, mark: str) -> dict[str, str]:
        given = {}
        for line in self.cleaned_data[field]:
            name, found, value = (part.strip() for part in line.partition(mark))
            if not found or "\0" in line:
                raise ValidationError(_("A line has no %(mark)s."), params={"mark": mark})
            given[name] = self._secret(field, name, value)
        return given

    def _secret(self, field: str, name: str, value: str) -> str:
        if value != KEPT:
            return value
        if name not in self.kept[field]:
            raise ValidationError(_("%(name)s has no value."), params={"name": name})
        return self.kept[field][name]

    def save(self, commit: bool = True) -> McpServer:
        is_program = self.instance.transport == McpServer.Transport.STDIO
        self.instance.keep_secrets(
            {} if is_program else self.cleaned_data["headers"],
            self.cleaned_data["environment"] if is_program else {},
        )
        saved: McpServer = super().save(commit)
        return saved
