"""Validation of server addresses that users enter."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


def check_url(url: str, *, inside: bool) -> None:
    """Raise ValidationError for an invalid address, or one without https where that is required."""
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and (parts.port or 1) > 0 and url.isprintable() and " " not in url
    except ValueError:
        good = False
    if not good or parts.scheme not in ("http", "https") or parts.username is not None or parts.fragment:
        raise ValidationError(
            _("Enter an http or https address; user names and passwords belong in a header.")
        )
    if parts.scheme == "http" and not inside:
        raise ValidationError(_("Only local servers can be used without https."))


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, normalized; raises ValueError if it is invalid."""
    parts = urlsplit(url.strip())
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').rstrip('.')}:{port}"
