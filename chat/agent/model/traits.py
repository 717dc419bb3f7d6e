"""What an endpoint, or a model behind it, needs to be asked in its own way."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Literal, Self, get_args
from urllib.parse import urlsplit

EchoReasoning = Literal["never", "calls", "always"]
IdStyle = Literal["native", "alnum9", "functions"]
SystemRole = Literal["system", "user"]
MaxTokensParam = Literal["", "max_tokens", "max_completion_tokens"]


@dataclass(frozen=True)
class Traits:
    """How one model at one endpoint is asked. The defaults suit most of them.

    - `echo_reasoning`: the assistant messages on which the model's reasoning goes back to it, also where
      it is empty: never, those with tool calls, or always; in the field `reasoning_field`.
    - `echo_fields`: further fields of its messages that go back to the endpoint which wrote them.
    - `forbid_reasoning`: nothing of the reasoning goes back, whatever the fields above say.
    - `content_with_reasoning`: a message may have reasoning that goes back and text, too.
    - `thought_signature`: calls need Google's signature; where none is kept, the one that stands for none.
    - `id_style`: the ids of calls: as they came; 9 letters and digits; or, of other models' calls,
      functions.name:0.
    - `drop_params`: parameters, and fields of a tool's function, that are left out.
    - `max_tokens_param`: the name for the longest reply; empty where there is none.
    - `system_role`: whose message carries the system prompt; `user` puts it into the person's first.
    - `user_after_tool`: a message of the person may follow a tool's result.
    - `alternate`: messages of one role never follow each other.
    - `tools`, `images`: whether the model can call tools, and see images.
    - `simple_schemas`: tools' schemas are reduced to the plainest keywords.
    - `context_window`: tokens that request and reply may have together; 0 where that is not known.
    - `first_byte`: seconds for which it may send nothing before the reply begins; 0 takes `silence`.
    - `silence`: seconds for which it may send nothing within a reply.
    """

    echo_reasoning: EchoReasoning = "never"
    reasoning_field: str = "reasoning_content"
    echo_fields: tuple[str, ...] = ("reasoning_details", "extra_content", "thinking_blocks")
    forbid_reasoning: bool = False
    content_with_reasoning: bool = True
    thought_signature: bool = False
    id_style: IdStyle = "native"
    drop_params: tuple[str, ...] = ()
    max_tokens_param: MaxTokensParam = "max_tokens"
    system_role: SystemRole = "system"
    user_after_tool: bool = True
    alternate: bool = False
    tools: bool = True
    images: bool = True
    simple_schemas: bool = False
    context_window: int = 0
    first_byte: float = 0.0
    silence: float = 120.0

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The traits of a dictionary; names that are not known are passed over, those that lack keep their
        default. Raises ValueError, with a sentence for the person, for a value that does not fit."""
        return cls().but(given)

    def but(self, changes: Mapping[str, Any]) -> Self:
        """The same with changes, by the rules of `from_dict`. A lone `silence` is the first byte's too."""
        known = {name: _fit(name, value) for name, value in changes.items() if name in _NAMES}
        if "silence" in known:
            known.setdefault("first_byte", 0.0)
        return dataclasses.replace(self, **known)

    @property
    def patience(self) -> float:
        """Seconds for which it may send nothing before the reply begins."""
        return self.first_byte or self.silence

    def as_dict(self) -> dict[str, Any]:
        """All traits, as JSON has them."""
        return {name: _plain(value) for name, value in dataclasses.asdict(self).items()}

    def changes(self) -> dict[str, Any]:
        """What differs from the defaults, as JSON has it."""
        usual = Traits().as_dict()
        return {name: value for name, value in self.as_dict().items() if value != usual[name]}


_NAMES = tuple(field.name for field in dataclasses.fields(Traits))
_WORDS: dict[str, tuple[str, ...]] = {
    "echo_reasoning": get_args(EchoReasoning),
    "id_style": get_args(IdStyle),
    "system_role": get_args(SystemRole),
    "max_tokens_param": get_args(MaxTokensParam),
}
_USUAL = Traits()
_LARGEST = 2**31


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _fit(name: str, value: Any) -> Any:
    """The value as the trait has it; raises ValueError."""
    if name in _WORDS:
        return _word(name, value, _WORDS[name])
    match getattr(_USUAL, name):
        case bool():
            return _flag(name, value)
        case tuple():
            return _names(name, value)
        case str():
            return _text(name, value)
        case usual:
            return _number(name, value, type(usual))


def _word(name: str, value: Any, words: tuple[str, ...]) -> str:
    if value not in words:
        allowed = ", ".join(f'"{word}"' for word in words)
        raise ValueError(f"{name} must be one of {allowed}, not {value!r}.")
    return str(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, not {value!r}.")
    return value


def _names(name: str, value: Any) -> tuple[str, ...]:
    fits = isinstance(value, list | tuple) and all(isinstance(each, str) and each.strip() for each in value)
    if not fits:
        raise ValueError(f"{name} must be a list of names, not {value!r}.")
    return tuple(dict.fromkeys(each.strip() for each in value))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} must be a name, not {value!r}.")
    return value.strip()


def _number(name: str, value: Any, kind: type[Any]) -> Any:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LARGEST
    if not fits or kind(value) != value:
        raise ValueError(f"{name} must be a {'whole ' if kind is int else ''}number from 0, not {value!r}.")
    return kind(value)


OPENAI = "https://api.openai.com/v1"

Known = tuple[str, str, Mapping[str, Any]]

# Host, with a dot ahead, and model as regular expressions that must be found in them; later rows win.
_KNOWN: tuple[Known, ...] = (
    # By the model alone, wherever it is served.
    ("", r"gpt-3\.5", {"context_window": 16_385, "images": False}),
    ("", r"gpt-4o|gpt-4-turbo", {"context_window": 128_000}),
    ("", r"gpt-4\.1", {"context_window": 1_047_576}),
    ("", r"gpt-5", {"context_window": 400_000}),
    ("", r"gpt-oss", {"context_window": 131_072, "images": False}),
    ("", r"\bo[134](-|$)", {"context_window": 200_000}),
    ("", r"claude", {"context_window": 200_000}),
    ("", r"gemini", {"context_window": 1_048_576}),
    ("", r"deepseek(?!.*(vl|ocr))", {"context_window": 128_000, "images": False}),
    ("", r"deepseek-v4", {"context_window": 1_000_000}),
    ("", r"(moonshot|kimi-k2)(?!.*vision)", {"images": False}),
    ("", r"kimi-k2(\.\d|-0905|-thinking|-turbo)", {"context_window": 262_144}),
    ("", r"kimi-k2\.\d", {"images": True}),
    ("", r"mistral-(large|medium|small)", {"context_window": 128_000}),
    # By the host.
    (r"^\.demo$", "", {"images": False}),
    (r"\.api\.openai\.com$|\.azure\.com$", "", {"max_tokens_param": "max_completion_tokens"}),
    (r"\.api\.openai\.com$|\.azure\.com$", r"^(o[134](-|$)|gpt-5)", {"silence": 600}),
    (r"\.deepseek\.com$", r"reasoner|v3\.2|v4", {"echo_reasoning": "calls", "silence": 300}),
    (r"\.moonshot\.(ai|cn)$|\.kimi\.com$", "kimi", {"id_style": "functions"}),
    (r"\.moonshot\.(ai|cn)$|\.kimi\.com$", r"thinking|k2\.\d|k[3-9]", {"echo_reasoning": "calls"}),
    (r"\.mistral\.ai$", "", {"id_style": "alnum9", "user_after_tool": False, "forbid_reasoning": True}),
    (r"\.mistral\.ai$", "", {"drop_params": ["stream_options"]}),
    (r"\.googleapis\.com$", "", {"simple_schemas": True}),
    (r"\.googleapis\.com$", r"gemini-3", {"thought_signature": True}),
    (r"\.googleapis\.com$", r"gemma", {"system_role": "user", "tools": False}),
    (r"\.openrouter\.ai$", "", {"silence": 300}),
)
# A server on one's own machine may have to load the model first, and reads a long request for minutes.
_OWN_MACHINE = Traits(first_byte=600)


def known_traits(base_url: str | None, model: str) -> Traits:
    """The traits of the model at the endpoint, as far as its host and its name tell.

    Without `base_url` it is OpenAI's, or where the environment of the `openai` package points.
    """
    host = _host(base_url)
    traits = _OWN_MACHINE if is_local(base_url) else Traits()
    for at, called, changes in _KNOWN:
        if re.search(at, f".{host}") and re.search(called, model.lower()):
            traits = traits.but(changes)
    return traits


def is_local(base_url: str | None) -> bool:
    """Whether the endpoint is on this machine or in its network, as far as its address tells."""
    host = _host(base_url)
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))


def _host(base_url: str | None) -> str:
    return (urlsplit(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).hostname or "").lower()
