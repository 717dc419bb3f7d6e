"""The part of a profile's form that is about tools: a choice for each in place of one piece of JSON."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.models import Profile, Rule
from chat.models.rule import BUILT_IN_TOOLS, OTHERS, check_rules

LABELS = {
    "bash": gettext_lazy("Shell commands (bash)"),
    "read_file": gettext_lazy("Read files (read_file)"),
    "write_file": gettext_lazy("Write files (write_file)"),
    "edit_file": gettext_lazy("Edit files (edit_file)"),
    OTHERS: gettext_lazy("Tools of MCP servers"),
}
FIELDS = {tool: f"rule_{tool}" if tool != OTHERS else "rule_others" for tool in (*BUILT_IN_TOOLS, OTHERS)}


def _choice(tool: str) -> forms.ChoiceField:
    """A choice between the three rules; left out of what is sent, the tool keeps its rule."""
    return forms.ChoiceField(label=LABELS[tool], choices=Rule.choices, required=False)


class RulesForm(forms.ModelForm):  # type: ignore[type-arg] # not subscriptable as it runs
    """A profile with its rules for tools, which `save` puts together."""

    rule_bash = _choice("bash")
    rule_read_file = _choice("read_file")
    rule_write_file = _choice("write_file")
    rule_edit_file = _choice("edit_file")
    rule_others = _choice(OTHERS)
    single_rules = forms.CharField(
        label=gettext_lazy("Individual tools of MCP servers"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 60, "spellcheck": "false", "class": "mono"}),
        help_text=gettext_lazy(
            "One per line: a tool, or all tools of a server, then run, ask or never. For example "
            "“github__create_issue = ask” or “github__* = never”."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        profile = self.instance
        for tool, field in FIELDS.items():
            self.initial.setdefault(field, profile.rule_for(tool))
        self.initial.setdefault("single_rules", single_rules(profile.rules))

    def clean_single_rules(self) -> dict[str, str]:
        """The rules of single tools by their names."""
        rules = {}
        for line in self.cleaned_data["single_rules"].splitlines():
            name, found, rule = (part.strip() for part in line.partition("="))
            if line.strip() and not found:
                raise ValidationError(_("A line has no %(mark)s."), params={"mark": "="})
            if name in FIELDS:
                raise ValidationError(_("%(name)s has its own field."), params={"name": name})
            if line.strip():
                rules[name] = rule.lower()
        check_rules(rules)
        return rules

    def save(self, commit: bool = True) -> Profile:
        """The profile, with its rules."""
        rules = {tool: self.cleaned_data[field] or self.initial[field] for tool, field in FIELDS.items()}
        self.instance.rules = {**rules, **self.cleaned_data["single_rules"]}
        saved: Profile = super().save(commit)
        return saved


def single_rules(rules: dict[str, str]) -> str:
    """The rules that have no field of their own, as the form has them."""
    return "\n".join(f"{name} = {rule}" for name, rule in rules.items() if name not in FIELDS)
