"""The administrator's view of users' profiles; users themselves have Django's own page."""

from __future__ import annotations

from django.contrib import admin

from chat.models import Profile


@admin.register(Profile)
class ProfileAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # not subscriptable as it runs
    list_display = ["title", "name", "model", "todo_policy", "language", "owner", "position"]
    list_filter = ["todo_policy", "language"]
    search_fields = ["title", "name"]
    autocomplete_fields = ["owner"]
