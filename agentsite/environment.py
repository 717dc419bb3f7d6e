"""Strict readers of environment variables.

Each reader takes the variable's name and the default for an unset or empty value, and strips spaces. An
invalid value raises ImproperlyConfigured, whose message names the variable and what is allowed. The message
repeats the invalid value, except for secrets and for URLs, which may hold a password: it ends up in a log.
"""

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured

TRUE = ("1", "true", "yes", "on")
PERCENT_ENCODE_HINT = (
    "In its user name and password percent-encode / ? # [ ] @ and %, as %2F %3F %23 %5B %5D %40 and %25."
)
FALSE = ("0", "false", "no", "off")
MIN_SECRET_LENGTH = 20


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def secret(name: str) -> str:
    """A secret of at least 20 characters, or "" if unset."""
    value = text(name)
    if 0 < len(value) < MIN_SECRET_LENGTH:
        raise ImproperlyConfigured(
            f"{name} must be at least {MIN_SECRET_LENGTH} characters long, or it could be guessed."
        )
    return value


def flag(name: str, default: bool = False) -> bool:
    """True for 1, true, yes, on; False for 0, false, no, off; case-insensitive."""
    value = text(name).lower()
    if not value:
        return default
    if value not in TRUE + FALSE:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(TRUE + FALSE)}, not {value!r}.")
    return value in TRUE


def whole(name: str, default: int, minimum: int | None = None, maximum: int | None = None) -> int:
    """A decimal integer from `minimum` to `maximum`, inclusive."""
    value = text(name)
    if not value:
        return default
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", value) or not _within(int(value), minimum, maximum):
        raise ImproperlyConfigured(
            f"{name} must be a whole number{_range_text(minimum, maximum)}, not {value!r}."
        )
    return int(value)


def number(name: str, default: float, minimum: float | None = None, maximum: float | None = None) -> float:
    """A finite number such as 3, 0.25 or 1e6, from `minimum` to `maximum`, inclusive."""
    value = text(name)
    if not value:
        return default
    try:
        parsed = float(value)
    except ValueError:
        parsed = math.nan
    if not math.isfinite(parsed) or not _within(parsed, minimum, maximum):
        raise ImproperlyConfigured(f"{name} must be a number{_range_text(minimum, maximum)}, not {value!r}.")
    return parsed


def choice(name: str, allowed: Sequence[str], default: str) -> str:
    value = text(name)
    if value and value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value or default


def words(name: str, default: Sequence[str] = (), separator: str = ",") -> list[str]:
    parts = [part.strip() for part in text(name).split(separator)]
    return [part for part in parts if part] or list(default)


def url(name: str, default: str = "", schemes: Sequence[str] = ("http", "https")) -> str:
    """An absolute URL with one of the schemes; http and https URLs need a host."""
    value = text(name)
    if value and not _is_url(value, schemes):
        prefixes = " or ".join(f"{scheme}://" for scheme in schemes)
        hint = f" {PERCENT_ENCODE_HINT}" if "@" in value and value.partition("://")[0] in schemes else ""
        raise ImproperlyConfigured(f"{name} must be a complete address that begins with {prefixes}.{hint}")
    return value or default


def origins(name: str) -> list[str]:
    """Comma-separated origins, each with its scheme and without a path."""
    values = words(name)
    for origin in values:
        if not re.fullmatch(r"https?://[^/?#\s]+", origin):
            raise ImproperlyConfigured(
                f"{name} must be addresses such as https://example.org, not {origin!r}."
            )
    return values


def host_ports(name: str, default: Sequence[str]) -> list[str]:
    """Comma-separated hosts with ports, such as 127.0.0.1:11434; empty for "off"."""
    values = [] if text(name) == "off" else words(name, default)
    for value in values:
        _host, _colon, port = value.rpartition(":")
        if not re.fullmatch(r"[A-Za-z0-9._-]+:[0-9]{1,5}", value) or not 0 < int(port) < 65536:
            raise ImproperlyConfigured(
                f"{name} must be off, or hosts with ports such as 127.0.0.1:11434, not {value!r}."
            )
    return values


def time_zone(name: str, default: str) -> str:
    value = text(name, default)
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):  # OSError: a directory of the database, such as Europe
        raise ImproperlyConfigured(
            f"{name} must be a time zone such as UTC or Europe/Berlin, not {value!r}."
        ) from None
    return value


def path(name: str, default: Path) -> Path:
    value = text(name)
    if not value:
        return default
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError:
        raise ImproperlyConfigured(
            f"{name} must be a path, and {value!r} begins in no known home folder."
        ) from None


def folders(name: str) -> list[Path]:
    resolved = []
    for value in words(name, separator=":"):
        folder = Path(value).expanduser()
        if not folder.is_absolute() or not folder.is_dir() or folder.resolve() == Path("/"):
            raise ImproperlyConfigured(
                f"{name} must be directories that exist, as absolute paths parted by colons, not {value!r}."
            )
        resolved.append(folder.resolve())
    return resolved


def _within(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def _range_text(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return "" if maximum is None else f" of at most {maximum}"


def _is_url(value: str, schemes: Sequence[str]) -> bool:
    try:
        parts = urlsplit(value)
        if parts.scheme in ("http", "https") and not parts.hostname:
            return False
        if parts.scheme != "sqlite" and parts.port == 0:
            return False
        if parts.scheme not in ("http", "https") and _cuts_password(parts):
            return False
    except ValueError:  # a port that is not a number, or an invalid IPv6 address
        return False
    has_target = bool(parts.netloc or parts.path.strip("/"))
    return parts.scheme in schemes and "://" in value and has_target and not re.search(r"\s", value)


def _cuts_password(parts: SplitResult) -> bool:
    """Whether an unencoded / ? or # in the password ended the host, leaving the @ in a later part."""
    after = parts.path + parts.fragment + ("" if parts.path else parts.query)
    return bool(parts.netloc) and "@" not in parts.netloc and "@" in after
