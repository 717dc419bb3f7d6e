"""Descriptions of a turn's profile snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from chat.models import Profile
from chat.models.profile import OTHERS, Rule, rule_in

Fact = tuple[str, str]


def facts_of(snapshot: Mapping[str, Any]) -> list[Fact]:
    """Names and values of a snapshot for the user; most defaults are left out."""
    endpoint = snapshot["connection"]
    endpoint_text = " · ".join(each for each in (endpoint["name"], endpoint["address"]) if each)
    policy = Profile.Policy(snapshot["todo_policy"]).label
    return [
        (_("Profile"), snapshot["title"]),
        (_("Model"), snapshot["asked"]),
        *([(_("Endpoint"), endpoint_text)] if endpoint_text else []),
        *_numbers(snapshot),
        (_("To-do list"), str(policy)),
        (_("Language"), Profile.Language(snapshot["language"]).label),
        *([(_("Rules for tools"), rules)] if (rules := _rules(snapshot["rules"])) else []),
        *([(_("Instructions"), snapshot["instructions"])] if snapshot["instructions"] else []),
    ]


MODEL_FIELDS = {"model", "asked", "connection", "chosen", "lost"}


def change_of(snapshot: Mapping[str, Any]) -> str:
    """What is different from the turn before, as a sentence; empty if nothing is."""
    changed = set(snapshot["changed"])
    title, model = str(snapshot["title"]), str(snapshot["asked"])
    if "id" in changed:
        return _("Switched to %(title)s") % {"title": title}
    if changed and changed <= MODEL_FIELDS:
        return _("Model switched to %(model)s") % {"model": model}
    sentence = _("%(title)s was changed: %(what)s") % {"title": title, "what": _changes(snapshot)}
    return sentence if changed else ""


def _changes(snapshot: Mapping[str, Any]) -> str:
    names = {**_names(), "title": _("name"), "name": _("agent's name"), "colour": _("colour")}
    names |= {"instructions": _("instructions"), "language": _("language"), "asked": _("model")}
    names |= {"todo_policy": _("to-do policy"), "rules": _("rules for tools"), "connection": _("connection")}
    changed = [names[name] for name in snapshot["changed"] if name in names]
    return pgettext("list", ", ").join(name.lower() for name in changed)


def _numbers(snapshot: Mapping[str, Any]) -> Iterator[Fact]:
    for name, label in _names().items():
        value = snapshot[name]
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


_CHANGING_TOOLS = ("bash", "write_file", "edit_file")


def setup_of(profile: Profile) -> tuple[list[str], list[str]]:
    """Sentences on what the profile may do and how it plans, and the rules for other tools that differ."""
    other_rules = {name: rule for name, rule in profile.rules.items() if name not in _CHANGING_TOOLS}
    return [*_permissions(profile), _planning(profile)], _rules(other_rules).splitlines()


def _permissions(profile: Profile) -> Iterator[str]:
    commands, writes, edits = map(profile.rule_for, ("bash", "write_file", "edit_file"))
    if commands == writes == edits:
        yield {
            Rule.RUN: _("Works on its own in its workspace."),
            Rule.ASK: _("Asks before it runs commands or changes files."),
            Rule.NEVER: _("Cannot run commands or change files."),
        }[commands]
        return
    rules = [(commands, _("Asks before it runs commands."), _("Cannot run commands."))]
    if writes == edits:
        rules.append((edits, _("Asks before it changes files."), _("Cannot change files.")))
    else:
        rules.append((writes, _("Asks before it writes files."), _("Cannot write files.")))
        rules.append((edits, _("Asks before it edits files."), _("Cannot edit files.")))
    for rule, asks, refuses in rules:
        if rule != Rule.RUN:
            yield asks if rule == Rule.ASK else refuses


def _planning(profile: Profile) -> str:
    return {
        Profile.Policy.FOCUSED: _("Shows the step it is on."),
        Profile.Policy.LEAN: _("Updates its plan less often, which saves tokens."),
        Profile.Policy.CHECKLIST: _("Numbers the items of its plan."),
    }[Profile.Policy(profile.todo_policy)]


def _rules(rules: Mapping[str, str]) -> str:
    """The rules that differ from the defaults, one per line."""
    changed = {name: rule for name, rule in rules.items() if rule != rule_in({}, name)}
    # A label is a word and its explanation: "Ask: wait for an answer first".
    words = {value: re.split("[:：]", str(label))[0].lower() for value, label in Rule.choices}
    others, colon = _("other tools"), _(": ")
    return "\n".join(
        f"{name if name != OTHERS else others}{colon}{words.get(rule, rule)}"
        for name, rule in changed.items()
    )
