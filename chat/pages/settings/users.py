"""Users: added, signed in with a link, deactivated, and made administrators, by superusers only."""

from __future__ import annotations

import logging
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models.functions import Lower
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.live.socket_auth import close_sockets_of
from chat.models import AccessRefused, SignInLink, change_access
from chat.pages.audience import audience
from chat.pages.signed_in import SignedInRequest

log = logging.getLogger(__name__)

# What a button of a user's page changes.
_CHANGES = {
    "deactivate": {"is_active": False},
    "reactivate": {"is_active": True},
    "promote": {"is_staff": True, "is_superuser": True},
    "demote": {"is_staff": False, "is_superuser": False},
}


class UserForm(forms.ModelForm):  # type: ignore[type-arg] # not subscriptable as it runs
    administrator = forms.BooleanField(
        label=gettext_lazy("Administrator"),
        required=False,
        help_text=gettext_lazy(
            "Can manage users, MCP servers and what is shared with everyone, and sign in as any user."
        ),
    )

    class Meta:
        model = User
        fields = ("username",)
        labels = {"username": gettext_lazy("User name")}
        help_texts = {"username": gettext_lazy("Letters, digits and @ . + - _ without spaces.")}
        error_messages = {"username": {"invalid": help_texts["username"]}}
        widgets = {
            "username": forms.TextInput(
                attrs={"spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}
            )
        }

    def clean_username(self) -> str:
        """Refuses a name that differs from another user's only in case."""
        name: str = User.normalize_username(self.cleaned_data["username"])
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(_("This name is taken."))
        return name

    def save(self, commit: bool = True) -> User:
        is_administrator = self.cleaned_data["administrator"]
        return User.objects.create_user(
            self.cleaned_data["username"], is_staff=is_administrator, is_superuser=is_administrator
        )


@audience("superuser")
@require_safe
def users(request: SignedInRequest) -> HttpResponse:
    accounts = User.objects.order_by("-is_active", Lower("username"))
    return render(request, "settings/users.html", {"section": "users", "accounts": accounts})


@audience("superuser")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def add_user(request: SignedInRequest) -> HttpResponse:
    """The answer to a valid form is the page of the new user, because the link cannot be shown by another."""
    form = UserForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        account = form.save()
        messages.success(request, _("“%s” added.") % account)
        return _page(request, account=account, link=_new_link(request, account))
    return _page(request, form=form, status=400 if form.errors else 200)


@audience("superuser")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def user(request: SignedInRequest, user_id: int) -> HttpResponse:
    """A user's page; a POST makes a sign-in link, which only its answer shows."""
    account = get_object_or_404(User, pk=user_id)
    if request.method != "POST":
        return _page(request, account=account)
    if not account.is_active:
        messages.error(request, _("Reactivate %s first.") % account)
        return redirect("user", user_id)
    return _page(request, account=account, link=_new_link(request, account))


@audience("superuser")
@require_POST
def change_user_access(request: SignedInRequest, user_id: int) -> HttpResponse:
    change = _CHANGES.get(request.POST.get("change", ""))
    if change is None:
        raise Http404
    try:
        account = change_access(request.user, user_id, **change)
    except User.DoesNotExist:
        raise Http404 from None
    except AccessRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("users")
    if not account.is_active:
        async_to_sync(close_sockets_of)(account.pk)
    log.info("%s changed the access of %s: %s", request.user, account, change)
    messages.success(request, _saved(account, change))
    return redirect("user", user_id)


def _saved(account: User, change: dict[str, bool]) -> str:
    if change == _CHANGES["deactivate"]:
        return _("%s deactivated and signed out.") % account
    if change == _CHANGES["reactivate"]:
        return _("%s reactivated.") % account
    if account.is_superuser:
        return _("%s is now an administrator.") % account
    return _("%s is no longer an administrator.") % account


@sensitive_variables()
def _new_link(request: SignedInRequest, account: User) -> str:
    """The URL by this request's host, which the site has checked. It is stored nowhere, and never logged."""
    log.info("%s made a sign-in link for %s", request.user, account)
    return request.build_absolute_uri(reverse("sign_in", args=[SignInLink.issue(account)]) + "?ask=1")


@sensitive_variables()
def _page(request: SignedInRequest, status: int = 200, **more: Any) -> HttpResponse:
    return render(request, "settings/user.html", {"section": "users", **more}, status=status)
