"""Rules: what becomes of a tool's calls before they run."""

from __future__ import annotations

import re
from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

# Confined by the sandbox and the workspace, so they need no question. What is not named here asks.
BUILT_IN_TOOLS = ("bash", "read_file", "write_file", "edit_file")
OTHERS = "*"  # in a profile's rules: every tool that they name nowhere else, which is to say of MCP servers
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{1,60}__\*|\*")


class Rule(models.TextChoices):
    """What becomes of a call before it runs: it just runs, the person is asked, or it is not even offered."""

    RUN = "run", _("Run: without asking")
    ASK = "ask", _("Ask: wait for an answer first")
    NEVER = "never", _("Never: not offered to the model")


def check_rules(rules: object) -> None:
    """Raise ValidationError for what is no object of tools' names and their rules."""
    if not isinstance(rules, dict):
        raise ValidationError(_("The rules must be an object of tool names and rules."))
    for name, rule in rules.items():
        if not _TOOL_NAME.fullmatch(name):
            raise ValidationError(_("%(name)s is not a tool name."), params={"name": name})
        if rule not in Rule.values:
            raise ValidationError(
                _("The rule of %(name)s must be run, ask or never, not %(rule)s."),
                params={"name": name, "rule": rule},
            )


def rule_in(rules: Mapping[str, str], tool: str) -> Rule:
    """What the rules say of the tool: its own rule, its server's (`server__*`), or the default."""
    server = f"{tool.partition('__')[0]}__*" if "__" in tool else tool
    for name in (tool, server):
        if name in rules:
            return Rule(rules[name])
    return Rule.RUN if tool in BUILT_IN_TOOLS else Rule(rules.get(OTHERS, Rule.ASK))


def strictest(*rules: Rule) -> Rule:
    """Of several rules the one that lets least happen."""
    return max(rules, key=list(Rule).index)
