"""Headers that go along with every request: secrets, which are written and never shown."""

from __future__ import annotations

import re
from collections.abc import Set

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

KEPT = "••••••"
"""What stands for a secret that is kept as it is."""
OURS = frozenset(
    ("host", "connection", "content-length", "content-type", "accept", "accept-encoding", "te", "upgrade")
) | {"transfer-encoding"}
"""The client's own, or what would change whom the request is for."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


def check_header(name: str, value: str, *, ours: Set[str] = OURS) -> None:
    """Raise ValidationError for what cannot be a header, or not one that somebody sets; it tells no value."""
    if not _NAME.fullmatch(name) or name.lower() in ours:
        raise ValidationError(_("%(name)s cannot be set as a header."), params={"name": name[:100]})
    if not value.isascii() or not value.isprintable():
        raise ValidationError(_("The value of %(name)s must be plain text."), params={"name": name})
