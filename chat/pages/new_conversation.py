"""The first page: the composer of a new conversation."""

from __future__ import annotations

import uuid

from asgiref.sync import async_to_sync
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from chat.agent import pictures
from chat.agent.workspace import WorkspaceError
from chat.connections.model_clients import sees_images
from chat.files.roots import FolderRefused, offered
from chat.files.uploads import MAX_FILES, UploadRefused
from chat.live.broadcast import notify_workers
from chat.models import Connection, MessageRefused, ModelSettings, Preferences, Profile
from chat.models.profile import answers_by_script, model_name_of
from chat.pages.account import asks_for_password
from chat.pages.attachments import create_conversation
from chat.pages.audience import audience
from chat.pages.settings.connections import connect_url
from chat.pages.settings.local_servers import first_offers
from chat.pages.signed_in import SignedInRequest
from chat.turns.agents import Shell


@audience("signed_in")
@require_http_methods(["GET", "HEAD", "POST"])
def new_conversation(request: SignedInRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request)
    try:
        client_id = client_id_of(request)
        profile = chosen_profile(request) or Preferences.profile_of(request.user)
        conversation = create_conversation(request, client_id, profile, model_to_use(request))
    except (MessageRefused, FolderRefused, UploadRefused, WorkspaceError) as refusal:
        return _page(request, refusal=str(refusal), status=400)
    async_to_sync(notify_workers)()
    return redirect("conversation", conversation.pk)


def demo_prompts() -> list[str]:
    return [
        _("Refactor these five files"),
        _("First make a plan, then look around, read the files and write a summary"),
        _("Make a small Python program with tests in the workspace and run them"),
    ]


def first_prompts() -> list[str]:
    return [
        _("Write a Python script that renames photos by date, with tests, and run them"),
        _("Plan a week of meals and put the shopping list in a CSV file"),
        _("Build a small web page with a countdown timer"),
        _("Look at the attached files and summarize them"),
    ]


def client_id_of(request: SignedInRequest) -> uuid.UUID:
    """The message's id from the form, or a new one. Raises MessageRefused if it is not a UUID."""
    text = request.POST.get("client_id", "")
    try:
        return uuid.UUID(text) if text else uuid.uuid4()
    except ValueError:
        raise MessageRefused(_("This form is damaged. Reload the page and send it again.")) from None


def chosen_profile(request: SignedInRequest) -> Profile | None:
    """The profile in the form or the URL's query; None if there is none or the user may not choose it."""
    text = request.POST.get("profile", request.GET.get("profile", ""))
    key = int(text) if text.isdecimal() and len(text) < 19 else 0
    return Profile.offered_to(request.user).filter(pk=key).first()


def chosen_model(request: SignedInRequest) -> ModelSettings | None:
    """The model in the form or the URL's query, possibly unsaved; None for the profile's."""
    return ModelSettings.of_choice(request.user, request.POST.get("model", request.GET.get("model", "")))


def model_to_use(request: SignedInRequest) -> ModelSettings | None:
    """As `chosen_model`; raises MessageRefused if the form names one that the user can no longer use."""
    model = chosen_model(request)
    if model is None and request.POST.get("model"):
        raise MessageRefused(_("This model is no longer available. Choose another one."))
    return model


def _page(request: SignedInRequest, refusal: str = "", status: int = 200) -> HttpResponse:
    chosen = chosen_profile(request) or Preferences.profile_of(request.user)
    model = chosen_model(request)
    in_use = (chosen or Profile()).with_model(model)
    demo = answers_by_script(model or chosen)
    context = {
        "profiles": Profile.offered_to(request.user),
        "chosen": chosen,
        "model": model,
        "in_use": in_use,
        "model_in_use": model_name_of(in_use),
        "model_of_environment": settings.MODEL_NAME,
        "sees_images": sees_images(in_use),
        "client_id": uuid.uuid4(),
        "text": request.POST.get("text", ""),
        "roots": offered(),
        "workspace": request.POST.get("workspace", ""),
        "most_files": MAX_FILES,
        "most_bytes": settings.MAX_UPLOAD_BYTES,
        "most_picture_bytes": pictures.MAX_BYTES,
        "refusal": refusal,
        "demo": demo,
        "ideas": demo_prompts() if demo else first_prompts(),
        "connect_url": connect_url(request.user),
        "connections": Connection.offered_to(request.user),
        "shell_problem": Shell.problem,
        "local_servers": first_offers(request.user),
        "asks_for_password": asks_for_password(request),
    }
    return render(request, "new_conversation.html", context, status=status)
