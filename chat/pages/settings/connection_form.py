"""The form of a connection. Key and headers are write-only."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLateError
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.agent.addresses import refusal
from chat.agent.model import is_local
from chat.agent.model.address import Address
from chat.models import Connection
from chat.models.connection import Secrets
from chat.models.secrets import KEPT, SecretUnreadableError, check_header
from chat.models.url_validation import check_url, origin_of
from chat.pages.settings.settings_form import SettingsForm

KNOWN_ADDRESSES = {
    "OpenAI": "https://api.openai.com/v1",
    "OpenRouter": "https://openrouter.ai/api/v1",
    "DeepSeek": "https://api.deepseek.com/v1",
    "Mistral": "https://api.mistral.ai/v1",
    "Gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "Qwen": "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "Kimi": "https://api.moonshot.ai/v1",
    "Groq": "https://api.groq.com/openai/v1",
}
_MAX_SECRET_LENGTH = 8000


class ConnectionForm(SettingsForm):
    """Staff may also share the connection with everyone and allow local addresses."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Optional; defaults to the host name."),
    )
    base_url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=500,
        widget=forms.TextInput(
            attrs={
                "class": "mono",
                "inputmode": "url",
                "list": "known-addresses",
                "spellcheck": "false",
                "autocapitalize": "off",
                "autocomplete": "off",
                "placeholder": "https://api.openai.com/v1",
            }
        ),
        help_text=gettext_lazy("Base URL, for example https://api.openai.com/v1"),
    )
    key = forms.CharField(
        label=gettext_lazy("Key"),
        max_length=_MAX_SECRET_LENGTH,
        required=False,
        widget=forms.PasswordInput(
            attrs={"class": "mono", "autocomplete": "new-password", "data-keep": True}
        ),
    )
    forget_key = forms.BooleanField(label=gettext_lazy("Remove the stored key"), required=False)
    headers = forms.CharField(
        label=gettext_lazy("Extra headers"),
        max_length=_MAX_SECRET_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"class": "mono", "rows": 2, "spellcheck": "false", "data-secret": True}),
        help_text=gettext_lazy("Name: value, one per line, sent with every request. Few endpoints need any."),
    )
    everyones = forms.BooleanField(
        label=gettext_lazy("For everyone"),
        required=False,
        help_text=gettext_lazy("Everyone can use it in their profiles. The key stays hidden."),
    )

    class Meta:
        model = Connection
        fields = ("name", "base_url", "inside")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.secrets_unreadable = False
        self.stored = self._stored_secrets()
        self.cleared = False
        self.old_origin = origin_of(self.instance.base_url) if self.instance.pk else ""
        self.initial["headers"] = "\n".join(f"{name}: {KEPT}" for name in self.stored.headers)
        self.initial["everyones"] = bool(self.instance.pk) and self.instance.owner_id is None
        if not self.stored.key:
            del self.fields["forget_key"]
        if not user.is_staff:
            del self.fields["inside"], self.fields["everyones"]
        self._set_key_hint()

    def _stored_secrets(self) -> Secrets:
        try:
            return self.instance.unsealed_secrets if self.instance.pk else Secrets()
        except SecretUnreadableError:
            self.secrets_unreadable = True
            return Secrets()

    def _set_key_hint(self) -> None:
        if self.is_bound and self.data.get(self.add_prefix("key")):
            hint = _("Enter the key again if this field is empty.")
        elif self.secrets_unreadable:
            hint = _("The stored key can no longer be read and is not sent. Enter it again.")
        elif self.stored.key:
            hint = _("A key is set. Leave blank to keep it. Changing the host or port removes it.")
        else:
            hint = _(
                "Stored encrypted, sent only to this address, never shown again. Leave blank if not needed."
            )
        self.fields["key"].help_text = hint

    def clean_base_url(self) -> str:
        url = self.cleaned_data["base_url"].strip()
        if "://" not in url:
            url = f"http://{url}" if is_local(f"http://{url}") else f"https://{url}"
        check_url(url, inside=True)  # `clean` refuses http where it is not allowed
        try:
            address = Address.of(url)
        except ValueError:
            raise ValidationError(_("Enter an http or https address.")) from None
        return f"{address.base}?{urlencode(address.query)}" if address.query else address.base

    def clean_key(self) -> str:
        key = self.cleaned_data["key"].strip()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValidationError(
                _("A key is a single line of plain letters, digits and symbols, without spaces.")
            )
        return str(key)

    def clean_headers(self) -> dict[str, str]:
        headers = {}
        for line in self.cleaned_data["headers"].splitlines():
            if line.strip():
                name, value = self._header(line)
                headers[name] = value
        return headers

    def _header(self, line: str) -> tuple[str, str]:
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            raise ValidationError(_("A line has no colon. Write Name: value."))
        if value == KEPT:
            if name not in self.stored.headers:
                raise ValidationError(_("%(name)s has no value."), params={"name": name[:100]})
            return name, self.stored.headers[name]
        check_header(name, value)
        return name, value

    def clean(self) -> dict[str, Any]:
        """Check the address against `inside`, which may be in another field."""
        data: dict[str, Any] = super().clean()
        if url := data.get("base_url"):
            self._check_host(url, inside=self._allows_inside())
            data["name"] = data.get("name") or urlsplit(url).netloc.rpartition("@")[2]
        if self.instance.pk and data.get("everyones") is False and self._is_used_by_others():
            self.add_error("everyones", _("Other users' profiles use it."))
        return data

    def _is_used_by_others(self) -> bool:
        return bool(self.instance.profiles.exclude(owner=self._owner()).exists())

    def _allows_inside(self) -> bool:
        return bool(self.cleaned_data.get("inside", self.instance.may_reach_inside))

    def _check_host(self, url: str, *, inside: bool) -> None:
        parts = urlsplit(url)
        if is_forbidden_host(parts.hostname or "", inside=True):
            self.add_error("base_url", _("This address cannot be used."))
        elif not inside and is_forbidden_host(parts.hostname or "", inside=False):
            self.add_error("base_url", self._local_address_message())
        elif parts.scheme == "http" and not inside:
            self.add_error(
                "base_url", _("Use https. Otherwise the key and all messages would be sent unencrypted.")
            )

    def _local_address_message(self) -> str:
        if self.user.is_staff:
            return _("This is a local address. Tick “Allow a local address” to use it.")
        return _("This is a local address, which only staff can set up.")

    def save(self, commit: bool = True) -> Connection:
        """Seal the secrets. `cleared` is set if those for another origin were dropped."""
        row: Connection = super().save(commit=False)
        if "everyones" in self.fields:
            row.owner = None if self.cleaned_data["everyones"] else self._owner()
        elif not row.pk:
            row.owner = self.user
        row.seal_secrets(self._secrets(origin_of(row.base_url)))
        if self.needs_test:
            row.tested_at, row.failed_step = None, ""
        if commit:
            row.save()
        return row

    @property
    def needs_test(self) -> bool:
        """Whether something has changed that a test would show."""
        return bool({"base_url", "key", "forget_key", "headers", "inside"} & set(self.changed_data))

    def _owner(self) -> User:
        return self.instance.owner if self.instance.pk and self.instance.owner else self.user

    def _secrets(self, origin: str) -> Secrets:
        key, headers = self.cleaned_data["key"], self.cleaned_data["headers"]
        if self.old_origin and origin != self.old_origin:
            new_headers = {
                name: value for name, value in headers.items() if self.stored.headers.get(name) != value
            }
            self.cleared = len(new_headers) < len(headers) or (bool(self.stored.key) and not key)
            return Secrets(key, new_headers)
        stored_key = "" if self.cleaned_data.get("forget_key") else self.stored.key
        return Secrets(key or stored_key, headers)


RESOLVE_SECONDS = 5.0
_resolvers = ThreadPoolExecutor(4, "resolver")


def is_forbidden_host(host: str, *, inside: bool) -> bool:
    """Whether the host resolves to any address that may not be connected to.

    False if it does not resolve in time: every connection is checked again by its actual address.
    """
    try:
        entries = _resolvers.submit(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM).result(
            RESOLVE_SECONDS
        )
    except (OSError, UnicodeError, TooLateError):
        return False
    addresses = {str(entry[4][0]).partition("%")[0] for entry in entries}
    return any(refusal(str(ip_address(address)), inside=inside) for address in addresses)
