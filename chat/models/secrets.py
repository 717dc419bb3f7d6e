"""Secrets in rows: encrypted with a key derived from SECRET_KEY, and decrypted only where they are used."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Set

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.encoding import force_bytes
from django.utils.translation import gettext_lazy as _

_PURPOSE = b"agentsite: secrets in rows"


class SecretUnreadableError(Exception):
    """It was encrypted with another SECRET_KEY, or modified."""


def seal(secrets: dict[str, dict[str, str]]) -> str:
    if not any(secrets.values()):
        return ""
    return _sealer().encrypt(json.dumps(secrets).encode()).decode()


def unseal(sealed: str) -> dict[str, dict[str, str]]:
    """Decrypt, also with SECRET_KEY_FALLBACKS; raises SecretUnreadableError."""
    if not sealed:
        return {}
    try:
        opened: dict[str, dict[str, str]] = json.loads(_sealer().decrypt(sealed.encode()))
    except InvalidToken:
        raise SecretUnreadableError from None
    return opened


def _sealer() -> MultiFernet:
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_key(secret)) for secret in secrets])


def _key(secret: str | bytes) -> bytes:
    return base64.urlsafe_b64encode(hmac.digest(force_bytes(secret), _PURPOSE, hashlib.sha256))


KEPT = "••••••"
"""Stands for a secret that stays unchanged."""
RESERVED_HEADERS = frozenset(
    ("host", "connection", "content-length", "content-type", "accept", "accept-encoding", "te", "upgrade")
) | {"transfer-encoding"}
"""Set by the HTTP client, or able to redirect the request."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


def check_header(name: str, value: str, *, reserved: Set[str] = RESERVED_HEADERS) -> None:
    """Raise ValidationError for an invalid or reserved header; the message does not contain the value."""
    if not _NAME.fullmatch(name) or name.lower() in reserved:
        raise ValidationError(_("%(name)s cannot be set as a header."), params={"name": name[:100]})
    if not value.isascii() or not value.isprintable():
        raise ValidationError(_("The value of %(name)s must be plain text."), params={"name": name})
