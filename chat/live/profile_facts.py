"""What there is to tell of the profile that a turn had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from chat.models import Profile
from chat.models.profile import OTHERS, rule_in

Fact = tuple[str, str]


def facts_of(then: Mapping[str, Any]) -> list[Fact]:
    """Names and values of a record, for a person; what was left as it usually is goes without saying."""
    endpoint = then["connection"]
    where = " · ".join(each for each in (endpoint["name"], endpoint["address"]) if each)
    policy = Profile.Policy(then["todo_policy"]).label
    return [
        (_("Profile"), then["title"]),
        (_("Model"), then["asked"]),
        *([(_("Endpoint"), where)] if where else []),
        *_numbers(then),
        (_("To-do list"), str(policy)),
        (_("Language"), Profile.Language(then["language"]).label),
        *([(_("Rules for tools"), rules)] if (rules := _rules(then["rules"])) else []),
        *([(_("Instructions"), then["instructions"])] if then["instructions"] else []),
    ]


def changes_of(then: Mapping[str, Any]) -> str:
    """What a profile that was changed between two turns has other than before."""
    names = {**_names(), "title": _("title"), "name": _("agent's name"), "colour": _("colour")}
    names |= {"instructions": _("instructions"), "language": _("language"), "asked": _("model")}
    names |= {"todo_policy": _("to-do policy"), "rules": _("rules for tools"), "connection": _("connection")}
    told = [names[name] for name in then["changed"] if name in names]
    return ", ".join(name.lower() for name in told)


def _numbers(then: Mapping[str, Any]) -> Iterator[Fact]:
    for name, label in _names().items():
        value = then[name]
        if value not in (None, "", Profile._meta.get_field(name).get_default()):  # type: ignore[union-attr]
            yield label, str(value)


def _names() -> dict[str, str]:
    return {
        "temperature": _("Temperature"),
        "top_p": _("Top p"),
        "max_output_tokens": _("Max tokens per reply"),
        "reasoning_effort": _("Reasoning effort"),
        "max_steps": _("Max steps"),
        "max_tool_calls": _("Max tool calls"),
        "max_seconds": _("Max seconds"),
        "max_todos": _("Max to-dos"),
        "remind_after": _("Rounds before a reminder"),
    }


def _rules(rules: Mapping[str, str]) -> str:
    """The rules that are not as without any, one a line."""
    told = {name: rule for name, rule in rules.items() if rule != rule_in({}, name)}
    return "\n".join(f"{name if name != OTHERS else _('others')}: {rule}" for name, rule in told.items())
