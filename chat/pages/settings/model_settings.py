"""The settings of a model: prices, abilities, request format."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from chat.agent.model import Traits
from chat.connections.model_clients import apply_traits, site_traits
from chat.models import Connection, ModelSettings
from chat.pages.audience import audience
from chat.pages.settings.connections import environment
from chat.pages.settings.settings_form import SettingsForm
from chat.pages.signed_in import SignedInRequest

Label = Any  # text, or text to be translated when it is shown

ABILITIES: dict[str, Label] = {"tools": gettext_lazy("Calls tools"), "images": gettext_lazy("Sees images")}
NUMBERS: dict[str, tuple[Label, Label]] = {
    "context_window": (
        gettext_lazy("Context window"),
        gettext_lazy("The most tokens a request and its reply can have together. 0: unknown."),
    ),
    "first_byte": (
        gettext_lazy("Seconds to the first reply"),
        gettext_lazy(
            "The reply must start within this time. If you only set the idle limit, it applies here too."
        ),
    ),
    "silence": (
        gettext_lazy("Idle limit in seconds"),
        gettext_lazy("The reply is ended if nothing arrives for this long."),
    ),
}
# The request format. Rarely set by hand: most is learned from the endpoint's errors.
QUIRKS: dict[str, Label] = {
    "simple_schemas": gettext_lazy("Needs simplified tool schemas"),
    "user_after_tool": gettext_lazy("Accepts a message right after a tool result"),
    "alternate": gettext_lazy("Needs roles to alternate"),
    "forbid_reasoning": gettext_lazy("Rejects its own reasoning"),
    "content_with_reasoning": gettext_lazy("Accepts text and reasoning in one message"),
}
CHOICES: dict[str, tuple[Label, dict[str, Label]]] = {
    "echo_reasoning": (
        gettext_lazy("Needs its reasoning sent back"),
        {
            "never": gettext_lazy("never"),
            "calls": gettext_lazy("with its tool calls"),
            "always": gettext_lazy("always"),
        },
    ),
    "system_role": (
        gettext_lazy("Instructions sent as"),
        {"system": gettext_lazy("a system message"), "user": gettext_lazy("part of your message")},
    ),
    "id_style": (
        gettext_lazy("Call IDs sent"),
        {
            "native": gettext_lazy("unchanged"),
            "alnum9": gettext_lazy("as nine letters and digits"),
            "functions": "functions.name:0",
        },
    ),
    "max_tokens_param": (
        gettext_lazy("Parameter for the reply limit"),
        {
            "max_tokens": "max_tokens",
            "max_completion_tokens": "max_completion_tokens",
            "": gettext_lazy("none (not sent)"),
        },
    ),
}
_YES_NO = {"true": gettext_lazy("yes"), "false": gettext_lazy("no")}
_EMPTY = "none"  # the value of the empty choice; in a form field "" means unset


class ModelSettingsForm(SettingsForm):
    """Values set here override known and learned ones; blank fields stay automatic."""

    class Meta:
        model = ModelSettings
        fields = ("input_price", "cached_price", "output_price", "currency")

    def __init__(self, *args: Any, known: Traits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = known.as_dict()
        for name in ("input_price", "cached_price", "output_price"):
            if (price := self.initial[name]) is not None:
                self.initial[name] = f"{price.normalize():f}"
        for name, label in (ABILITIES | QUIRKS).items():
            self._add_choice(name, label, _YES_NO)
        for name, (label, words) in CHOICES.items():
            self._add_choice(name, label, {value or _EMPTY: text for value, text in words.items()})
        for name, (label, help_text) in NUMBERS.items():
            known_number = f"{self.known[name]:.0f}" if self.known[name] else _("unknown")
            widget = forms.NumberInput(attrs={"placeholder": known_number})
            self.fields[name] = forms.IntegerField(
                label=label,
                help_text=help_text,
                min_value=0,
                max_value=2**31 - 1,
                required=False,
                widget=widget,
            )
            self.initial[name] = self.instance.traits.get(name)
        self._add_drop_params()

    def _add_choice(self, name: str, label: Label, choices: dict[str, Label]) -> None:
        known_label = choices.get(_choice_value(self.known[name]), "")
        automatic = ("", format_lazy(gettext_lazy("automatic: {}"), known_label))
        self.fields[name] = forms.ChoiceField(
            label=label, choices=[automatic, *choices.items()], required=False
        )
        value = self.instance.traits.get(name)
        self.initial[name] = "" if value is None else _choice_value(value)

    def _add_drop_params(self) -> None:
        widget = forms.TextInput(
            attrs={
                "placeholder": ", ".join(self.known["drop_params"]),
                "spellcheck": "false",
                "class": "mono",
            }
        )
        self.fields["drop_params"] = forms.CharField(
            label=_("Parameters not sent"), required=False, max_length=500, widget=widget
        )
        self.fields["drop_params"].help_text = _("Names separated by commas, such as temperature, top_p.")
        self.initial["drop_params"] = ", ".join(self.instance.traits.get("drop_params", []))

    @property
    def prices(self) -> list[forms.BoundField]:
        return [self[name] for name in self._meta.fields or ()]

    @property
    def abilities(self) -> list[forms.BoundField]:
        return [self[name] for name in (*NUMBERS, *ABILITIES)]

    @property
    def habits(self) -> list[forms.BoundField]:
        return [self[name] for name in (*CHOICES, *QUIRKS, "drop_params")]

    @property
    def habits_are_set(self) -> bool:
        return any(field.value() not in (None, "") or field.errors for field in self.habits)

    def clean_currency(self) -> str:
        currency = self.cleaned_data["currency"].strip().upper()
        if len(currency) != 3 or not currency.isascii() or not currency.isalpha():
            raise forms.ValidationError(_("Three letters, such as USD, EUR or CNY."))
        return str(currency)

    def save(self, commit: bool = True) -> ModelSettings:
        """Replace the traits that have a field; keep the others."""
        shown = {*ABILITIES, *QUIRKS, *CHOICES, *NUMBERS, "drop_params"}
        kept = {name: value for name, value in self.instance.traits.items() if name not in shown}
        self.instance.traits = kept | self._traits()
        saved: ModelSettings = super().save(commit)
        return saved

    def _traits(self) -> dict[str, Any]:
        data = self.cleaned_data
        traits: dict[str, Any] = {name: data[name] == "true" for name in (*ABILITIES, *QUIRKS) if data[name]}
        traits |= {name: "" if data[name] == _EMPTY else data[name] for name in CHOICES if data[name]}
        traits |= {name: data[name] for name in NUMBERS if data[name] is not None}
        dropped = [name.strip() for name in data["drop_params"].split(",") if name.strip()]
        return traits | ({"drop_params": dropped} if dropped else {})


def _choice_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) or _EMPTY


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
def model_settings(request: SignedInRequest, connection_id: int) -> HttpResponse:
    row = get_object_or_404(Connection.changeable_by(request.user), pk=connection_id)
    return _model_settings(request, row, row.base_url)


@audience("staff")
@require_http_methods(["GET", "HEAD", "POST"])
def model_settings_of_environment(request: SignedInRequest) -> HttpResponse:
    return _model_settings(request, None, environment().address)


def _model_settings(request: SignedInRequest, connection: Connection | None, base_url: str) -> HttpResponse:
    name = request.GET.get("name", "").strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise Http404
    row = ModelSettings.objects.filter(connection=connection, model=name).first()
    row = row or ModelSettings(connection=connection, model=name)
    if request.method == "POST" and "forget" in request.POST:
        return _forget(request, row)
    known = apply_traits(site_traits(base_url, name), row.learned)
    form = ModelSettingsForm(request.POST or None, instance=row, known=known)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("“%s” saved.") % name)
        return redirect("connection", connection.pk) if connection else redirect("connections")
    context = {"section": "connections", "connection": connection, "row": row, "form": form}
    return render(request, "settings/model_settings.html", context, status=400 if form.errors else 200)


def _forget(request: SignedInRequest, row: ModelSettings) -> HttpResponse:
    """Clear what was learned from the endpoint's errors; it is learned again if it still holds."""
    if row.pk:
        row.learned = {}
        row.save(update_fields=["learned"])
    return redirect(request.get_full_path())
