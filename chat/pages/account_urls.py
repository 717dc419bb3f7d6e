"""Sign-in with a password, and sign-out."""

from django.urls import path

from chat.pages import account
from chat.pages.audience import audience

urlpatterns = [
    path("login/", audience("anyone")(account.SignIn.as_view()), name="login"),
    path("logout/", audience("signed_in")(account.SignOut.as_view()), name="logout"),
    path("sign-out/", account.confirm_sign_out, name="before_sign_out"),
    path("no-password-yet/", account.no_password_yet, name="no_password_yet"),
]
