"""What an endpoint, or a model behind it, needs to be asked in its own way."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

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
