"""Sign-in, sign-out and the user's password."""

from __future__ import annotations

from typing import Any, cast

from asgiref.sync import async_to_sync
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, password_validation, update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.csrf import csrf_failure
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from chat.live.socket_auth import close_sockets_of
from chat.models import Profile, SignInLink, Turn
from chat.pages.audience import audience
from chat.pages.signed_in import SignedInRequest

DECLINED_KEY = "no_password_yet"  # in the session of a user who declined to set a password


class MinimumLengthValidator(password_validation.MinimumLengthValidator):
    """Django's, whose sentence has no Chinese translation."""

    def get_error_message(self) -> str:
        return _("This password is too short. Use at least %(count)s characters.") % {
            "count": self.min_length
        }


class SignInForm(AuthenticationForm):
    """Django's, which comes back with the focus on the password: the name is in its field already."""

    error_messages = AuthenticationForm.error_messages | {
        "invalid_login": gettext_lazy("Wrong user name or password.")
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.is_bound or self.initial.get("username"):
            del self.fields["username"].widget.attrs["autofocus"]
            self.fields["password"].widget.attrs["autofocus"] = True


class SignIn(LoginView):
    """Django's view, but a refusal redirects to the form: browsers cannot go back to the answer of a POST."""

    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_initial(self) -> dict[str, Any]:
        names = [message.extra_tags for message in messages.get_messages(self.request)]
        return super().get_initial() | {"username": names[-1] if names else ""}

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        if not (refusals := form.non_field_errors()):
            return super().form_invalid(form)
        return again_to_sign_in(self.request, str(refusals[0]))


def again_to_sign_in(request: HttpRequest, refusal: str) -> HttpResponse:
    """Redirect to the sign-in form, which shows the refusal and the user name that was typed."""
    messages.error(request, refusal, extra_tags=request.POST.get("username", "")[:150])
    return HttpResponseRedirect(request.get_full_path(), status=303)


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form whose CSRF token is missing or outdated; this is the site's CSRF_FAILURE_VIEW.

    A sign-in form is shown again, or redirects if the user has signed in in another tab meanwhile.
    """
    match = request.resolver_match
    if not match or match.view_name != "login" or settings.CSRF_COOKIE_NAME not in request.COOKIES:
        return csrf_failure(request, reason)
    if request.user.is_authenticated:
        return HttpResponseRedirect(request.get_full_path(), status=303)
    return again_to_sign_in(request, _("This page expired. Sign in again."))


class SignOut(LogoutView):
    """Django's view, which also closes the sockets of this user."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user_id = cast("SignedInRequest", request).user.pk
        response = super().post(request, *args, **kwargs)
        async_to_sync(close_sockets_of)(user_id)
        return response


@audience("signed_in")
@never_cache
@require_safe
def confirm_sign_out(request: SignedInRequest) -> HttpResponse:
    """Ask for confirmation: a user without a password needs a new sign-in link to come back."""
    return render(request, "sign_out.html")


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg] # not subscriptable as it runs
    """Says what is wrong with a password at its first field, not at that which repeats it."""

    def validate_password_for_user(self, user: User, *_: str) -> None:
        super().validate_password_for_user(user, "new_password1")


class ChangePasswordForm(NewPasswordForm, PasswordChangeForm):
    """Counts a wrong old password as a failed sign-in, since it can be guessed here too."""

    request: HttpRequest

    def clean_old_password(self) -> str:
        old_password: str = self.cleaned_data["old_password"]
        if authenticate(self.request, username=self.user.get_username(), password=old_password) != self.user:
            wrong = self.error_messages["password_incorrect"]
            raise forms.ValidationError(wrong, code="password_incorrect")
        return old_password


@audience("signed_in")
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: SignedInRequest) -> HttpResponse:
    """Set or change the password. Ends every other session of the user."""
    form = _password_form(request)
    if request.method == "POST" and form.is_valid():
        old_session = request.session.session_key
        form.save()
        update_session_auth_hash(request, request.user)
        async_to_sync(close_sockets_of)(request.user.pk, except_session=old_session)
        messages.success(request, _("Password saved. You were signed out everywhere else."))
        return redirect("preferences")
    context = {"section": "preferences", "form": form}
    return render(request, "settings/password.html", context, status=400 if form.errors else 200)


@audience("signed_in")
@require_POST
def no_password_yet(request: SignedInRequest) -> HttpResponse:
    request.session[DECLINED_KEY] = True
    return redirect("new_conversation")


def asks_for_password(request: SignedInRequest) -> bool:
    """Whether to suggest a password: the user has none and has not declined in this session."""
    return not (request.user.has_usable_password() or DECLINED_KEY in request.session)


def _password_form(request: SignedInRequest) -> SetPasswordForm[Any]:
    data = request.POST if request.method == "POST" else None
    form: SetPasswordForm[Any]
    if request.user.has_usable_password():
        form = ChangePasswordForm(request.user, data)
        form.request = request
    else:
        form = NewPasswordForm(request.user, data)
    form.fields["new_password1"].help_text = gettext_lazy(
        "At least 8 characters. Not a common password, not only digits, and not similar to your user name."
    )
    form.fields["new_password2"].label = gettext_lazy("Confirm new password")
    form.fields["new_password2"].help_text = ""
    return form


@audience("anyone")
@never_cache
@require_GET
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in the user of a one-time link; status 410 if it has expired or was used.

    With `?ask`, as in the links that are sent to others, it asks first: a mail scanner that fetches the link
    must not use it up. A browser that is signed in as another user is always asked. The answer comes with
    `?confirmed`. A prefetch gets 503 and does not use the link up.
    """
    if "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", "")):
        return HttpResponse(status=503)
    if ("ask" in request.GET or request.user.is_authenticated) and "confirmed" not in request.GET:
        other = SignInLink.user_of(token)
        if other and other != request.user:
            return render(request, "sign_in_question.html", {"other": other})
    user = SignInLink.redeem(token)
    if user is not None:
        login(request, user, backend="agentsite.accounts.Accounts")
        # A new site speaks its first user's language.
        if get_language().startswith("zh") and not Turn.objects.exists():
            Profile.set_up_in_chinese()
    if request.user.is_authenticated:
        return redirect("new_conversation")
    return render(request, "sign_in_spent.html", status=410)
