"""The forms of a profile."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.agent import Limits
from chat.models import Connection, McpServer, Profile, Rule
from chat.models.profile import BUILT_IN_TOOLS, OTHERS, check_rules
from chat.models.profile import FIELDS as PROFILE_FIELDS
from chat.pages.settings.settings_form import SettingsForm

LABELS = {
    "bash": gettext_lazy("Shell commands (bash)"),
    "read_file": gettext_lazy("Read files (read_file)"),
    "write_file": gettext_lazy("Write files (write_file)"),
    "edit_file": gettext_lazy("Edit files (edit_file)"),
    OTHERS: gettext_lazy("Tools of MCP servers"),
}
FIELDS = {tool: f"rule_{tool}" if tool != OTHERS else "rule_others" for tool in (*BUILT_IN_TOOLS, OTHERS)}


def _choice(tool: str) -> forms.ChoiceField:
    """A choice of rule; if the field is not sent, the tool keeps its rule."""
    return forms.ChoiceField(label=LABELS[tool], choices=Rule.choices, required=False)


class RulesForm(SettingsForm):
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
        rules = {}
        for line in self.cleaned_data["single_rules"].splitlines():
            name, equals, rule = (part.strip() for part in line.partition("="))
            if line.strip() and not equals:
                raise ValidationError(_("A line has no %(mark)s."), params={"mark": "="})
            if name in FIELDS:
                raise ValidationError(_("%(name)s has its own field."), params={"name": name})
            if line.strip():
                rules[name] = rule.lower()
        check_rules(rules)
        return rules

    def save(self, commit: bool = True) -> Profile:
        rules = {tool: self.cleaned_data[field] or self.initial[field] for tool, field in FIELDS.items()}
        self.instance.rules = {**rules, **self.cleaned_data["single_rules"]}
        saved: Profile = super().save(commit)
        return saved


def single_rules(rules: dict[str, str]) -> str:
    """The rules without a field of their own, in the form's notation."""
    return "\n".join(f"{name} = {rule}" for name, rule in rules.items() if name not in FIELDS)


MAX_INSTRUCTIONS = 20_000
OPTIONS = ("temperature", "top_p", "max_output_tokens", "reasoning_effort")
_NO_SUGGESTIONS = {"spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}
_DEFAULTS = Limits()


def _number(label: Any, maximum: int, default: object, **more: Any) -> forms.IntegerField:
    """A whole number from 1; blank means the default, which the field shows as placeholder."""
    widget = forms.NumberInput(
        attrs={"placeholder": f"{default:g}" if isinstance(default, float) else default}
    )
    return forms.IntegerField(
        label=label, min_value=1, max_value=maximum, required=False, widget=widget, **more
    )


class ProfileForm(RulesForm):
    instructions = forms.CharField(
        label=gettext_lazy("Instructions"),
        required=False,
        max_length=MAX_INSTRUCTIONS,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=gettext_lazy("Instructions for every conversation."),
    )
    colour = forms.ChoiceField(
        label=gettext_lazy("Colour"),
        choices=Profile.Colour,
        initial=Profile.Colour.BLUE,
        widget=forms.RadioSelect,
        required=False,
    )
    todo_policy = forms.ChoiceField(
        label=gettext_lazy("To-do list"),
        choices=Profile.Policy,
        initial=Profile.Policy.FOCUSED,
        widget=forms.RadioSelect,
        required=False,
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=Profile.Language,
        initial=Profile.Language.ENGLISH,
        required=False,
        help_text=gettext_lazy(
            "Language of the agent's own prompts. It replies in the language of your messages."
        ),
    )
    temperature = forms.FloatField(
        label=gettext_lazy("Temperature"),
        min_value=0,
        max_value=2,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=gettext_lazy("0 to 2: lower is more predictable. Blank: the endpoint's default."),
    )
    top_p = forms.FloatField(
        label=gettext_lazy("Top p"),
        min_value=0,
        max_value=1,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=gettext_lazy("0 to 1: lower considers only the most likely words."),
    )
    max_output_tokens = _number(
        gettext_lazy("Max tokens per reply"),
        10_000_000,
        "",
        help_text=gettext_lazy("Longer replies are cut off. Blank: the endpoint's default."),
    )
    reasoning_effort = forms.ChoiceField(
        label=gettext_lazy("Reasoning effort"),
        choices=[("", gettext_lazy("The endpoint's default")), *Profile.Effort.choices],
        required=False,
    )
    max_steps = _number(
        gettext_lazy("Max steps"),
        1000,
        _DEFAULTS.steps,
        help_text=gettext_lazy("Each step is one model call."),
    )
    max_tool_calls = _number(gettext_lazy("Max tool calls"), 5000, _DEFAULTS.tool_calls)
    max_seconds = _number(
        gettext_lazy("Max seconds"),
        86_400,
        _DEFAULTS.seconds,
        help_text=gettext_lazy("Time spent waiting for you doesn't count."),
    )
    max_todos = _number(gettext_lazy("Max to-dos"), 200, 20)
    remind_after = _number(
        gettext_lazy("Rounds before a reminder"),
        1000,
        "",
        help_text=gettext_lazy(
            "Remind the agent after this many tool rounds without a list update. Blank: default."
        ),
    )
    everyones = forms.BooleanField(
        label=gettext_lazy("For everyone"),
        required=False,
        help_text=gettext_lazy("Everyone can use it; only staff can change it."),
    )

    class Meta:
        model = Profile
        fields = ("connection", *(name for name in PROFILE_FIELDS if name != "rules"))
        widgets = {"model": forms.TextInput(attrs={**_NO_SUGGESTIONS, "list": "models", "class": "mono"})}

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self._offer_connections()
        self._offer_servers()
        if user.is_staff:
            self.initial.setdefault("everyones", bool(self.instance.pk) and self.instance.owner_id is None)
        else:
            del self.fields["everyones"]
            self.instance.owner_id = user.pk

    def _offer_connections(self) -> None:
        field = self.fields["connection"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 (as the model has it)
        field.queryset = Connection.offered_to(self.user)
        field.empty_label = _("Demo") if settings.DEMO else _("Environment: %s") % settings.MODEL_NAME
        field.help_text = ""
        self.fields["model"].help_text = _("Without a connection, blank means %s.") % settings.MODEL_NAME
        self.fields["title"].label = _("Name")
        self.fields["title"].help_text = _("Shown in menus.")
        self.fields["name"].help_text = _("Shown next to its messages.")

    def _offer_servers(self) -> None:
        self.servers = {f"server_{row.name}": row.name for row in McpServer.offered_to(self.instance)}
        for field, name in self.servers.items():
            choices = [("", _("Same as all servers")), *Rule.choices]
            self.fields[field] = forms.ChoiceField(label=name, choices=choices, required=False)
            self.initial.setdefault(field, self.instance.rules.get(f"{name}__*", ""))
        lines = self.initial["single_rules"].splitlines()
        with_field = {f"{name}__*" for name in self.servers.values()}
        self.initial["single_rules"] = "\n".join(
            line for line in lines if line.partition(" = ")[0] not in with_field
        )

    @property
    def rules(self) -> list[forms.BoundField]:
        return [self[field] for field in (*FIELDS.values(), *self.servers)]

    @property
    def options_are_set(self) -> bool:
        return any(self[name].value() not in (None, "") or self[name].errors for name in OPTIONS)

    def clean_single_rules(self) -> dict[str, str]:
        rules = super().clean_single_rules()
        for name in self.servers.values():
            if f"{name}__*" in rules:
                raise ValidationError(_("%(name)s has its own field."), params={"name": f"{name}__*"})
        return rules

    def clean_title(self) -> str:
        """Refuses the name of another profile that the user can choose."""
        title = str(self.cleaned_data["title"])
        others = Profile.offered_to(self.user).exclude(pk=self.instance.pk)
        is_new = not self.instance.pk or "title" in self.changed_data
        if is_new and others.filter(title__iexact=title).exists():
            raise ValidationError(_("This name is taken."))
        return title

    def clean_colour(self) -> str:
        return str(self.cleaned_data["colour"] or self.instance.colour)

    def clean_todo_policy(self) -> str:
        return str(self.cleaned_data["todo_policy"] or self.instance.todo_policy)

    def clean_language(self) -> str:
        return str(self.cleaned_data["language"] or self.instance.language)

    def clean_max_todos(self) -> int:
        return self.cleaned_data["max_todos"] or 20

    def clean(self) -> dict[str, Any]:
        """Set the owner, on whom the allowed connections depend, and merge the servers' rules."""
        data: dict[str, Any] = super().clean()
        if "everyones" in self.fields:
            owner = self.instance.owner if self.instance.pk and self.instance.owner else self.user
            self.instance.owner = None if data.get("everyones") else owner
        if "single_rules" in data:
            servers = {f"{name}__*": data.get(field) for field, name in self.servers.items()}
            data["single_rules"] |= {name: rule for name, rule in servers.items() if rule}
        return data
