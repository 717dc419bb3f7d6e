"""The admin of users, which closes the sockets of changed users."""

from __future__ import annotations

from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from chat.live.socket_auth import close_sockets_of
from chat.models import end_sessions
from chat.turns.deleted import remove_user

admin.site.unregister(User)


@admin.register(User)
class UserAdmin(auth_admin.UserAdmin):  # type: ignore[type-arg] # not subscriptable as it runs
    """A user who is deactivated, deleted or gets another password is disconnected at once."""

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not obj.is_active:
            end_sessions(obj)
        _close_sockets([obj.pk])

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        own_session = request.session.session_key
        response = super().user_change_password(request, id, form_url)
        if request.method == "POST" and id.isdecimal():
            _close_sockets([int(id)], own_session)
        return response

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        transaction.on_commit(partial(remove_user, obj))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            transaction.on_commit(partial(remove_user, user))


def _close_sockets(user_ids: list[int], except_session: str | None = None) -> None:
    """Close the users' sockets after commit."""

    def close() -> None:
        for user_id in user_ids:
            async_to_sync(close_sockets_of)(user_id, except_session)

    transaction.on_commit(close)
