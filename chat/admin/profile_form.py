"""The form of a profile in the administration."""

from __future__ import annotations

from chat.models import Profile
from chat.pages.settings.rules_form import RulesForm


class ProfileForm(RulesForm):
    """A profile as an administrator edits it: whoever's it is, and in which place it stands."""

    class Meta:
        model = Profile
        fields = (
            "title",
            "name",
            "colour",
            "instructions",
            "language",
            "owner",
            "position",
            "connection",
            "model",
            "temperature",
            "top_p",
            "max_output_tokens",
            "reasoning_effort",
            "todo_policy",
            "max_todos",
            "remind_after",
            "max_steps",
            "max_tool_calls",
            "max_seconds",
        )
