"""What an endpoint, or a model behind it, requires of requests."""

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
    """How requests to one model at one endpoint are built. The defaults suit most.

    - `echo_reasoning`: the assistant messages (none, those with tool calls, or all) that are sent back with
      the model's reasoning, even if empty, in the field `reasoning_field`.
    - `echo_fields`: further message fields sent back to the endpoint that wrote them.
    - `forbid_reasoning`: no reasoning is sent back, whatever the fields above say.
    - `content_with_reasoning`: a message may have both text and reasoning.
    - `thought_signature`: calls need Google's signature; calls without one get a placeholder.
    - `id_style`: call ids: unchanged; 9 letters and digits; or, for calls of other models, functions.name:0.
    - `drop_params`: request parameters, and fields of a tool's function, to leave out.
    - `max_tokens_param`: the parameter for the maximum reply length; empty if there is none.
    - `system_role`: the role of the system prompt; `user` merges it into the first user message.
    - `user_after_tool`: a user message may follow a tool result.
    - `alternate`: messages of the same role may not follow each other.
    - `tools`, `images`: whether the model can call tools, and see images.
    - `simple_schemas`: tool schemas are reduced to the most basic keywords.
    - `context_window`: tokens shared by request and reply; 0 if unknown.
    - `first_byte`: seconds of silence allowed before the reply; 0 uses `silence`.
    - `silence`: seconds of silence allowed within a reply.
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
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Traits from a dictionary; unknown names are ignored, missing ones keep their default.

        Raises ValueError, with a sentence for the user, for an invalid value.
        """
        return cls().but(values)

    def but(self, changes: Mapping[str, Any]) -> Self:
        """A copy with changes, by the rules of `from_dict`. `silence` alone also resets `first_byte`."""
        known = {name: _validated(name, value) for name, value in changes.items() if name in _NAMES}
        if "silence" in known:
            known.setdefault("first_byte", 0.0)
        return dataclasses.replace(self, **known)

    @property
    def first_byte_timeout(self) -> float:
        """Seconds of silence allowed before the reply begins."""
        return self.first_byte or self.silence

    def as_dict(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in dataclasses.asdict(self).items()}

    def changes(self) -> dict[str, Any]:
        default = Traits().as_dict()
        return {name: value for name, value in self.as_dict().items() if value != default[name]}


_NAMES = tuple(field.name for field in dataclasses.fields(Traits))
_WORDS: dict[str, tuple[str, ...]] = {
    "echo_reasoning": get_args(EchoReasoning),
    "id_style": get_args(IdStyle),
    "system_role": get_args(SystemRole),
    "max_tokens_param": get_args(MaxTokensParam),
}
_DEFAULTS = Traits()
_MAX_NUMBER = 2**31


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _validated(name: str, value: Any) -> Any:
    if name in _WORDS:
        return _word(name, value, _WORDS[name])
    match getattr(_DEFAULTS, name):
        case bool():
            return _flag(name, value)
        case tuple():
            return _names(name, value)
        case str():
            return _text(name, value)
        case default:
            return _number(name, value, type(default))


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
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER
    if not fits or kind(value) != value:
        raise ValueError(f"{name} must be a {'whole ' if kind is int else ''}number from 0, not {value!r}.")
    return kind(value)


OPENAI = "https://api.openai.com/v1"

Known = tuple[str, str, Mapping[str, Any]]

# Regular expressions for the host, with a leading dot, and for the model; later rows win.
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
# A local server may have to load the model first, and processes a long request for minutes.
_LOCAL = Traits(first_byte=600)


def known_traits(base_url: str | None, model: str) -> Traits:
    """The known traits of a model by its host and name; default host: the environment's, else OpenAI's."""
    host = _host(base_url)
    traits = _LOCAL if is_local(base_url) else Traits()
    for host_pattern, model_pattern, changes in _KNOWN:
        if re.search(host_pattern, f".{host}") and re.search(model_pattern, model.lower()):
            traits = traits.but(changes)
    return traits


def is_local(base_url: str | None) -> bool:
    """Whether the endpoint's address is on this machine or in its network."""
    host = _host(base_url)
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))


def _host(base_url: str | None) -> str:
    return (urlsplit(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).hostname or "").lower()
