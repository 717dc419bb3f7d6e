"""Export and import of profiles as JSON files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_POST, require_safe

from chat.models import Connection, Profile
from chat.models.profile import FIELDS, bare_address, check_rules
from chat.models.titles import title_of_copy
from chat.pages.audience import audience
from chat.pages.settings import profile_form
from chat.pages.settings.profile_form import ProfileForm
from chat.pages.settings.profiles import form_page, list_page
from chat.pages.signed_in import SignedInRequest

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile


@audience("owner")
@require_safe
def export_profile(request: SignedInRequest, profile_id: int) -> HttpResponse:
    row = get_object_or_404(Profile.offered_to(request.user).select_related("connection"), pk=profile_id)
    text = json.dumps(as_file(row), ensure_ascii=False, indent=2)
    response = HttpResponse(f"{text}\n", content_type="application/json; charset=utf-8")
    name = content_disposition_header(True, f"{row.title}.profile.json")
    response["Content-Disposition"] = name or "attachment"
    return response


@audience("signed_in")
@require_POST
def import_profile(request: SignedInRequest) -> HttpResponse:
    try:
        data = parse_profile(request.FILES.get("file"))
        connection = _connection(request.user, data)
        form = ProfileForm(_form_data(request.user, data, connection), user=request.user)
    except FileRefused as refusal:
        return list_page(request, str(refusal))
    if warning := _connection_warning(data, connection):
        messages.warning(request, warning)
    if not form.is_valid():
        return form_page(request, form)
    row = form.save()
    messages.success(request, _("%s imported. Review it before you use it.") % row.title)
    return redirect("profile", row.pk)


def _connection(user: User, data: dict[str, Any]) -> Connection | None:
    """The user's connection to the file's address; of several the one of the same name."""
    wanted = data.get("connection") or {}
    same = [row for row in Connection.offered_to(user) if bare_address(row.base_url) == wanted.get("address")]
    return next((row for row in same if row.name == wanted.get("name")), same[0] if same else None)


def _connection_warning(data: dict[str, Any], connection: Connection | None) -> str:
    wanted = data.get("connection")
    if not wanted or connection:
        return ""
    message = _("You have no connection to %(address)s (%(name)s in the file). Add one, or choose another.")
    values = {key: str(wanted.get(key, "?"))[:200] for key in ("name", "address")}
    return message % values


def _form_data(user: User, profile: dict[str, Any], connection: Connection | None) -> dict[str, Any]:
    data = {name: value for name, value in profile.items() if name not in ("rules", "connection")}
    offered = Profile.offered_to(user)
    if offered.filter(title__iexact=data["title"]).exists():
        data["title"] = title_of_copy(data["title"], offered)
    data["connection"] = connection.pk if connection else ""
    rules = dict(profile.get("rules", {}))
    field_names = {**profile_form.FIELDS, **{f"{name}__*": field for field, name in _servers(user).items()}}
    for name, field in field_names.items():
        data[field] = rules.pop(name, "")
    data["single_rules"] = profile_form.single_rules(rules)
    return {name: "" if value is None else value for name, value in data.items()}


def _servers(user: User) -> dict[str, str]:
    return ProfileForm(user=user).servers


FORMAT = "agent-profile"
VERSION = 1
MAX_BYTES = 256 * 1024
_DEFAULTS = Profile()


class FileRefused(ValueError):  # noqa: N818 (a refusal shown to the user)
    pass


def as_file(profile: Profile) -> dict[str, Any]:
    connection = profile.connection
    where = {"name": connection.name, "address": bare_address(connection.base_url)} if connection else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "profile": {**{name: getattr(profile, name) for name in FIELDS}, "connection": where},
    }


def parse_profile(file: UploadedFile[bytes] | None) -> dict[str, Any]:
    """The file's profile with the types checked. Raises FileRefused."""
    if file is None:
        raise FileRefused(_("Choose a file first."))
    if (file.size or 0) > MAX_BYTES:
        raise FileRefused(_("The file is larger than 256 KiB, so it is not a profile."))
    try:
        data = json.loads(file.read(MAX_BYTES + 1).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise FileRefused(_("The file cannot be read as JSON, so it is not an exported profile.")) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileRefused(_("The file is JSON but not a profile: its “format” is not “%s”.") % FORMAT)
    if data.get("version") != VERSION or isinstance(data["version"], bool):
        message = _("The file has version %(theirs)s; this site reads version %(ours)s.")
        raise FileRefused(message % {"theirs": str(data.get("version"))[:20], "ours": VERSION})
    return _checked(data.get("profile"))


def _checked(profile: object) -> dict[str, Any]:
    if not isinstance(profile, dict):
        raise FileRefused(_("The file has no “profile”."))
    if unknown := sorted(profile.keys() - {*FIELDS, "connection"}):
        named = pgettext("list", ", ").join(unknown)[:200]
        raise FileRefused(_("The file has unknown fields: %s.") % named)
    for name, value in profile.items():
        _check_type(name, value)
    try:
        check_rules(profile.get("rules", {}))
    except ValidationError as error:
        raise FileRefused(" ".join(error.messages)) from None
    return profile


def _check_type(name: str, value: object) -> None:
    if name in ("rules", "connection"):
        fits = isinstance(value, dict) or (value is None and name == "connection")
    elif isinstance(getattr(_DEFAULTS, name), str):
        fits = isinstance(value, str)
    else:
        fits = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    if not fits:
        raise FileRefused(_("In the file, “%s” has the wrong type.") % name)
