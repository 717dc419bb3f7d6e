"""The admin of all profiles; users edit theirs in the settings."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy

from chat.models import Profile
from chat.models.profile import FIELDS as PROFILE_FIELDS
from chat.pages.settings.profile_form import FIELDS, RulesForm


class ProfileForm(RulesForm):
    class Meta:
        model = Profile
        fields = ("owner", "position", "connection", *(name for name in PROFILE_FIELDS if name != "rules"))


OPTIONS = ["temperature", "top_p", "max_output_tokens", "reasoning_effort"]
RULES = gettext_lazy("Permissions")
ABOUT_RULES = gettext_lazy(
    "Run: the call runs. Ask: the user who started the conversation allows or denies it first. "
    "Never: the tool is hidden from the model. Commands and files always stay inside the workspace."
)


@admin.register(Profile)
class ProfileAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # not subscriptable as it runs
    form = ProfileForm
    list_display = ["title", "name", "model", "todo_policy", "language", "owner", "position"]
    list_filter = ["todo_policy", "language"]
    search_fields = ["title", "name"]
    autocomplete_fields = ["owner"]
    fieldsets = [
        (None, {"fields": ["title", "name", "colour", "instructions", "language", "owner", "position"]}),
        (gettext_lazy("The model"), {"fields": ["connection", "model", *OPTIONS]}),
        (gettext_lazy("The to-do list"), {"fields": ["todo_policy", "max_todos", "remind_after"]}),
        (RULES, {"fields": [*FIELDS.values(), "single_rules"], "description": ABOUT_RULES}),
        (gettext_lazy("Turn limits"), {"fields": ["max_steps", "max_tool_calls", "max_seconds"]}),
    ]
