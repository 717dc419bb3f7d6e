"""Users with their preferences, and pages in their language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import get_language_from_request

from chat.models import Reader


class Accounts(ModelBackend):
    """Reads users together with their preferences, which every page needs.

    Sessions that began under Django's own backend need that to be listed after this one. A wrong password
    goes no further than here, or it would be hashed twice.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **more: Any,
    ) -> User:
        user = super().authenticate(request, username, password, **more)
        if user is None:
            raise PermissionDenied
        return user

    def get_user(self, user_id: int) -> User | None:
        user = User.objects.select_related("chat_preferences").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


class ReadersLanguage(MiddlewareMixin):
    """Renders pages in the language and time zone of their reader.

    Pages that need no login, also shared conversations, follow the browser alone: they do not read the user.
    """

    def process_request(self, request: HttpRequest) -> None:
        Reader.of(AnonymousUser(), get_language_from_request(request)).activate()

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_arguments: Any) -> None:
        if getattr(view, "login_required", True):
            Reader.of(request.user, get_language_from_request(request)).activate()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        patch_vary_headers(response, ["Accept-Language"])
        return response
