"""A profile as a file, in the form that docs/profiles.md tells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from chat.models import Profile
from chat.models.profile_then import FIELDS, bare_address
from chat.models.rule import check_rules

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile

FORMAT = "agent-profile"
VERSION = 1
MOST_BYTES = 256 * 1024
_USUAL = Profile()


class FileRefused(ValueError):  # noqa: N818 (a refusal, told to the person who brought the file)
    """The file is no profile that this site can take; the text says why."""


def written(profile: Profile) -> dict[str, Any]:
    """The profile as its file has it: no secrets, and its connection by name and address alone."""
    connection = profile.connection
    where = {"name": connection.name, "address": bare_address(connection.base_url)} if connection else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "profile": {**{name: getattr(profile, name) for name in FIELDS}, "connection": where},
    }


def read(file: UploadedFile[bytes] | None) -> dict[str, Any]:
    """The profile that a file holds, each field of the right kind; raises FileRefused."""
    if file is None:
        raise FileRefused(_("Choose a file first."))
    if (file.size or 0) > MOST_BYTES:
        raise FileRefused(_("The file is larger than 256 KiB, so it is not a profile."))
    try:
        found = json.loads(file.read(MOST_BYTES + 1).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise FileRefused(_("The file is not JSON in UTF-8, so it is not a profile.")) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileRefused(_("The file is JSON but not a profile: its “format” is not “%s”.") % FORMAT)
    if found.get("version") != VERSION or isinstance(found["version"], bool):
        said = _("The file has version %(theirs)s; this site reads version %(ours)s.")
        raise FileRefused(said % {"theirs": str(found.get("version"))[:20], "ours": VERSION})
    return _checked(found.get("profile"))


def _checked(profile: object) -> dict[str, Any]:
    if not isinstance(profile, dict):
        raise FileRefused(_("The file has no “profile”."))
    if unknown := sorted(profile.keys() - {*FIELDS, "connection"}):
        named = ", ".join(unknown)[:200]
        raise FileRefused(_("The file has unknown fields: %s.") % named)
    for name, value in profile.items():
        _check_kind(name, value)
    try:
        check_rules(profile.get("rules", {}))
    except ValidationError as error:
        raise FileRefused(" ".join(error.messages)) from None
    return profile


def _check_kind(name: str, value: object) -> None:
    """Raise FileRefused for a value of a kind that the field never has."""
    if name in ("rules", "connection"):
        fits = isinstance(value, dict) or (value is None and name == "connection")
    elif isinstance(getattr(_USUAL, name), str):
        fits = isinstance(value, str)
    else:
        fits = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    if not fits:
        raise FileRefused(_("In the file, “%s” has the wrong type.") % name)
