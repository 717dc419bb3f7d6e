"""Users: added, renamed, deleted, given sign-in links and access, by superusers only."""

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
from chat.turns.deleted import remove_user

log = logging.getLogger(__name__)

# What a button of a user's page changes.
_CHANGES = {
    "deactivate": {"is_active": False},
    "reactivate": {"is_active": True},
    "promote": {"is_staff": True, "is_superuser": True},
    "demote": {"is_staff": False, "is_superuser": False},
}


class RenameForm(forms.ModelForm):  # type: ignore[type-arg] # not subscriptable as it runs
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
        if User.objects.filter(username__iexact=name).exclude(pk=self.instance.pk).exists():
            raise ValidationError(_("This name is taken."))
        return name

    def save(self, commit: bool = True) -> User:
        account: User = self.instance
        account.save(update_fields=["username"])  # the rest may have changed since it was read
        return account


class UserForm(RenameForm):
    administrator = forms.BooleanField(
        label=gettext_lazy("Administrator"),
        required=False,
        help_text=gettext_lazy(
            "Can manage users, MCP servers and what is shared with everyone, and sign in as any user."
        ),
    )

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
    """A user's page; a POST renames the user, or makes a sign-in link, which only its answer shows."""
    account = get_object_or_404(User, pk=user_id)
    if request.method != "POST":
        return _page(request, account=account)
    if "username" in request.POST:
        return _rename(request, account)
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
    account = _with_access(request, user_id, change)
    if account is None:
        return redirect("users")
    if not account.is_active:
        async_to_sync(close_sockets_of)(account.pk)
    log.info("%s changed the access of %s: %s", request.user, account, change)
    messages.success(request, _saved(account, change))
    return redirect("user", user_id)


@audience("superuser")
@require_POST
def delete_user(request: SignedInRequest, user_id: int) -> HttpResponse:
    """Who may not deactivate a user may not delete them either."""
    account = _with_access(request, user_id, _CHANGES["deactivate"])
    if account is not None:
        remove_user(account)
        log.info("%s deleted %s", request.user, account)
        messages.success(request, _("“%s” deleted.") % account)
    return redirect("users")


def _with_access(request: SignedInRequest, user_id: int, change: dict[str, bool]) -> User | None:
    """The user with the change made; None if it was refused, which a message says."""
    try:
        return change_access(request.user, user_id, **change)
    except User.DoesNotExist:
        raise Http404 from None
    except AccessRefused as refusal:
        messages.error(request, str(refusal))
        return None


def _rename(request: SignedInRequest, account: User) -> HttpResponse:
    form = RenameForm(request.POST, instance=User.objects.get(pk=account.pk))
    if not form.is_valid():
        return _page(request, account=account, form=form, status=400)
    renamed = form.save()
    log.info("%s renamed %s to %s", request.user, account, renamed)
    messages.success(request, _("Renamed to “%s”.") % renamed)
    return redirect("user", account.pk)


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
    context = {"section": "users", "form": RenameForm(instance=more.get("account")), **more}
    return render(request, "settings/user.html", context, status=status)
