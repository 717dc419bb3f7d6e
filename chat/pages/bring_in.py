"""A conversation brought in from a file."""

from __future__ import annotations

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from chat.agent.workspace import WorkspaceError
from chat.export.arrival import FileRefused, read
from chat.export.making import make
from chat.pages.signed_in import SignedInRequest


@require_http_methods(["GET", "HEAD", "POST"])
def bring_in(request: SignedInRequest) -> HttpResponse:
    """The form, and what becomes of its file: a conversation of the person's own, or a sentence why not."""
    if request.method != "POST":
        return _page(request)
    try:
        conversation = make(read(_content(request.FILES.get("file"))), request.user)
    except FileRefused as refusal:
        return _page(request, str(refusal))
    except (OSError, WorkspaceError):
        return _page(request, _("There is no room for it here, or its workspace cannot be made."))
    return redirect("conversation", conversation.pk)


def _content(file: UploadedFile[bytes] | None) -> bytes:
    if file is None:
        raise FileRefused(_("Choose a file first."))
    most = settings.MAX_UPLOAD_BYTES
    if (file.size or 0) > most:
        raise FileRefused(_("The file is larger than %s.") % filesizeformat(most))
    return bytes(file.read())


def _page(request: SignedInRequest, refusal: str = "") -> HttpResponse:
    context = {"refusal": refusal, "most_bytes": settings.MAX_UPLOAD_BYTES}
    return render(request, "bring_in.html", context, status=400 if refusal else 200)
