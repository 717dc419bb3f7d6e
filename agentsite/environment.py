"""The environment variables that configure the site, read strictly.

Every reader takes a variable's name and the value that stands when it is unset or empty. A value that is not
allowed raises ImproperlyConfigured with a sentence that names the variable and says what is allowed. Spaces
around a value are ignored. The sentence repeats the refused value except for a secret, and for an address,
which may hold a password: it ends in a log.
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
ENCODED = (
    "In its user name and password percent-encode / ? # [ ] @ and %, as %2F %3F %23 %5B %5D %40 and %25."
)
FALSE = ("0", "false", "no", "off")
SHORTEST_SECRET = 20  # characters


def text(name: str, default: str = "") -> str:
    """The variable as it stands."""
    return os.environ.get(name, "").strip() or default


def secret(name: str) -> str:
    """A secret of at least 20 characters; empty where it is unset."""
    value = text(name)
    if 0 < len(value) < SHORTEST_SECRET:
        raise ImproperlyConfigured(
            f"{name} must be at least {SHORTEST_SECRET} characters long, or it could be guessed."
        )
    return value


def flag(name: str, default: bool = False) -> bool:
    """True for 1, true, yes, on; False for 0, false, no, off; in any letter case."""
    value = text(name).lower()
    if not value:
        return default
    if value not in TRUE + FALSE:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(TRUE + FALSE)}, not {value!r}.")
    return value in TRUE


def whole(name: str, default: int, minimum: int | None = None, maximum: int | None = None) -> int:
    """A whole number in decimal digits, from `minimum` to `maximum` with both included."""
    value = text(name)
    if not value:
        return default
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", value) or not _within(int(value), minimum, maximum):
        raise ImproperlyConfigured(f"{name} must be a whole number{_span(minimum, maximum)}, not {value!r}.")
    return int(value)


def number(name: str, default: float, minimum: float | None = None, maximum: float | None = None) -> float:
    """A finite number such as 3, 0.25 or 1e6, from `minimum` to `maximum` with both included."""
    value = text(name)
    if not value:
        return default
    try:
        read = float(value)
    except ValueError:
        read = math.nan
    if not math.isfinite(read) or not _within(read, minimum, maximum):
        raise ImproperlyConfigured(f"{name} must be a number{_span(minimum, maximum)}, not {value!r}.")
    return read


def choice(name: str, allowed: Sequence[str], default: str) -> str:
    """One of the allowed words, in this letter case."""
    value = text(name)
    if value and value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value or default


def words(name: str, default: Sequence[str] = (), separator: str = ",") -> list[str]:
    """The parts between separators, without spaces around them and without empty ones."""
    parts = [part.strip() for part in text(name).split(separator)]
    return [part for part in parts if part] or list(default)


def url(name: str, default: str = "", schemes: Sequence[str] = ("http", "https")) -> str:
    """An absolute address with one of the schemes; http and https addresses need a host."""
    value = text(name)
    if value and not _is_address(value, schemes):
        starts = " or ".join(f"{scheme}://" for scheme in schemes)
        hint = f" {ENCODED}" if "@" in value and value.partition("://")[0] in schemes else ""
        raise ImproperlyConfigured(f"{name} must be a complete address that begins with {starts}.{hint}")
    return value or default


def origins(name: str) -> list[str]:
    """Addresses of sites, parted by commas, each with its scheme and without a path."""
    given = words(name)
    for origin in given:
        if not re.fullmatch(r"https?://[^/?#\s]+", origin):
            raise ImproperlyConfigured(
                f"{name} must be addresses such as https://example.org, not {origin!r}."
            )
    return given


def places(name: str, default: Sequence[str]) -> list[str]:
    """Hosts with ports, such as 127.0.0.1:11434, parted by commas; none for the word off."""
    given = [] if text(name) == "off" else words(name, default)
    for place in given:
        _host, _colon, port = place.rpartition(":")
        if not re.fullmatch(r"[A-Za-z0-9._-]+:[0-9]{1,5}", place) or not 0 < int(port) < 65536:
            raise ImproperlyConfigured(
                f"{name} must be off, or hosts with ports such as 127.0.0.1:11434, not {place!r}."
            )
    return given


def time_zone(name: str, default: str) -> str:
    """The name of a time zone in the IANA database."""
    value = text(name, default)
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):  # OSError: a part of a name, such as Europe
        raise ImproperlyConfigured(
            f"{name} must be a time zone such as UTC or Europe/Berlin, not {value!r}."
        ) from None
    return value


def path(name: str, default: Path) -> Path:
    """A file or folder as an absolute path; `~` is a home folder, and a relative one starts here."""
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
    """Directories, parted by colons, each absolute and present; given without symbolic links in them."""
    found = []
    for given in words(name, separator=":"):
        folder = Path(given).expanduser()
        if not folder.is_absolute() or not folder.is_dir() or folder.resolve() == Path("/"):
            raise ImproperlyConfigured(
                f"{name} must be directories that exist, as absolute paths parted by colons, not {given!r}."
            )
        found.append(folder.resolve())
    return found


def _within(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def _span(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return "" if maximum is None else f" of at most {maximum}"


def _is_address(value: str, schemes: Sequence[str]) -> bool:
    try:
        parts = urlsplit(value)
        if parts.scheme in ("http", "https") and not parts.hostname:
            return False
        if parts.scheme != "sqlite" and parts.port == 0:
            return False
        if parts.scheme not in ("http", "https") and _cuts_password(parts):
            return False
    except ValueError:  # a port that is no number, or a broken IPv6 address
        return False
    names_a_place = bool(parts.netloc or parts.path.strip("/"))
    return parts.scheme in schemes and "://" in value and names_a_place and not re.search(r"\s", value)


def _cuts_password(parts: SplitResult) -> bool:
    """Whether a / ? or # in the password ended the host, so that the @ after it is where none belongs."""
    after = parts.path + parts.fragment + ("" if parts.path else parts.query)
    return bool(parts.netloc) and "@" not in parts.netloc and "@" in after
