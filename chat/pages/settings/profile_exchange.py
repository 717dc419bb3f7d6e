"""Profiles taken out as files, and brought in again, here or on another site."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from chat.models import Connection, Profile
from chat.models.profile_then import bare_address
from chat.pages.settings import rules_form
from chat.pages.settings.profile_file import FileRefused, read, written
from chat.pages.settings.profile_form import ProfileForm
from chat.pages.settings.profiles import form_page, list_page
from chat.pages.signed_in import SignedInRequest


@require_safe
def export_profile(request: SignedInRequest, profile_id: int) -> HttpResponse:
    """The profile as JSON: no key, no header, and its connection by name and address alone."""
    row = get_object_or_404(Profile.offered_to(request.user).select_related("connection"), pk=profile_id)
    text = json.dumps(written(row), ensure_ascii=False, indent=2)
    response = HttpResponse(f"{text}\n", content_type="application/json; charset=utf-8")
    name = content_disposition_header(True, f"{row.title}.profile.json")
    response["Content-Disposition"] = name or "attachment"
    return response


@require_POST
def import_profile(request: SignedInRequest) -> HttpResponse:
    """Make a profile of the file; where its values do not fit, the form shows them with what is wrong."""
    try:
        given = read(request.FILES.get("file"))
        connection = _connection(request.user, given)
        form = ProfileForm(_form_data(request.user, given, connection), user=request.user)
    except FileRefused as refusal:
        return list_page(request, str(refusal))
    if wanted := _unmet(given, connection):
        messages.warning(request, wanted)
    if not form.is_valid():
        return form_page(request, form)
    row = form.save()
    messages.success(request, _("%s imported. Review it before you use it.") % row.title)
    return redirect("profile", row.pk)


def _connection(user: User, given: dict[str, Any]) -> Connection | None:
    """The person's connection that leads where the file's did; of several the one of the same name."""
    wanted = given.get("connection") or {}
    same = [row for row in Connection.offered_to(user) if bare_address(row.base_url) == wanted.get("address")]
    return next((row for row in same if row.name == wanted.get("name")), same[0] if same else None)


def _unmet(given: dict[str, Any], connection: Connection | None) -> str:
    """What to say where the file names a connection that the person has not."""
    wanted = given.get("connection")
    if not wanted or connection:
        return ""
    said = _("You have no connection to %(address)s (%(name)s in the file). Add one, or choose another.")
    named = {key: str(wanted.get(key, "?"))[:200] for key in ("name", "address")}
    return said % named


def _form_data(user: User, given: dict[str, Any], connection: Connection | None) -> dict[str, Any]:
    """The profile as its form would send it."""
    data = {name: value for name, value in given.items() if name not in ("rules", "connection")}
    data["connection"] = connection.pk if connection else ""
    rules = dict(given.get("rules", {}))
    own = {**rules_form.FIELDS, **{f"{name}__*": field for field, name in _servers(user).items()}}
    for name, field in own.items():
        data[field] = rules.pop(name, "")
    data["single_rules"] = rules_form.single_rules(rules)
    return {name: "" if value is None else value for name, value in data.items()}


def _servers(user: User) -> dict[str, str]:
    return ProfileForm(user=user).servers
