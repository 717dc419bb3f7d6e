"""From the loop's messages, tools and options to the request that fits the endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chat.agent.arguments import as_object
from chat.agent.model.call_ids import CallIds
from chat.agent.model.history import Exchange, Message, exchanges, system_text, text_of
from chat.agent.model.protocol import Delta, ToolCallDelta
from chat.agent.model.toolbox import Toolbox
from chat.agent.model.traits import Traits

# What the loop's messages carry beside the format: who wrote them, and what only that endpoint reads again.
PRIVATE = ("provider", "reasoning_content", "extra")

_OF_EVERY_CALL = ("id", "type", "function")
_LONGEST_REPLY = ("max_completion_tokens", "max_tokens")
_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
# Google's own word for a call whose signature nobody has.
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
_BETWEEN = "OK."  # what stands for the assistant's words where an endpoint insists on some
_IMAGE_LEFT_OUT = "[An image was left out here: this model cannot see images.]"


class Fitting:
    """One request, made for one model at one endpoint."""

    def __init__(self, model: str, endpoint: str, traits: Traits) -> None:
        self.model = model
        self.endpoint = endpoint
        self.traits = traits
        self.toolbox = Toolbox((), traits)

    def body(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The request's body. `options` win over what is asked for anyway, and the traits over them."""
        self.toolbox = Toolbox(tools if self.traits.tools else (), self.traits)
        body: dict[str, Any] = {"stream_options": {"include_usage": True}, **options}
        if definitions := self.toolbox.definitions:
            body["tools"] = definitions
        longest = [body.pop(name) for name in _LONGEST_REPLY if name in body]
        if longest and self.traits.max_tokens_param:
            body[self.traits.max_tokens_param] = longest[0]
        left_out = (*self.traits.drop_params, *(() if "tools" in body else _WITH_TOOLS))
        body = {name: value for name, value in body.items() if name not in left_out}
        return {**body, "model": self.model, "messages": self.messages(messages), "stream": True}

    def read(self, delta: Delta) -> Delta:
        """A delta of the reply, with the tools called by their own names again."""
        if isinstance(delta, ToolCallDelta) and delta.name:
            return replace(delta, name=self.toolbox.own_name(delta.name))
        return delta

    def messages(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The conversation as the endpoint takes it: valid, and with one system message ahead."""
        ids = CallIds(self.traits.id_style)
        held = exchanges(messages)
        if not self.traits.tools:
            held = [told for exchange in held for told in _in_words(exchange)]
        fitted = [message for exchange in held for message in self._exchange(exchange, ids)]
        fitted = [self._seen(message) for message in fitted]
        if not self.traits.user_after_tool:
            fitted = _parted(fitted, self._with_reasoning({"role": "assistant", "content": _BETWEEN}, ""))
        if self.traits.alternate:
            fitted = _joined(fitted)
        return self._with_system(system_text(messages), fitted)

    def _exchange(self, exchange: Exchange, ids: CallIds) -> list[dict[str, Any]]:
        own = bool(self.endpoint) and exchange.message.get("provider") == self.endpoint
        # Where nobody wrote down who made them, ids are left as they are.
        native = own or not exchange.message.get("provider")
        message = self._message(exchange, own=own)
        taken: set[str] = set()
        for call in message.get("tool_calls", ()):
            call["id"] = ids.of(
                str(call.get("id") or ""), call["function"]["name"], native=native, taken=taken
            )
            taken.add(call["id"])
        results = zip(exchange.results, message.get("tool_calls", ()), strict=True)
        return [message, *({**_result(result), "tool_call_id": call["id"]} for result, call in results)]

    def _message(self, exchange: Exchange, *, own: bool) -> dict[str, Any]:
        given = exchange.message
        message = {name: value for name, value in given.items() if name not in PRIVATE}
        if given["role"] != "assistant":
            return message
        if exchange.calls:
            message["content"] = given.get("content") or None
            message["tool_calls"] = [self._call(call, own=own) for call in exchange.calls]
            self._sign(message["tool_calls"])
        if own and not self.traits.forbid_reasoning:
            extra = given.get("extra") or {}
            message.update({name: extra[name] for name in self.traits.echo_fields if name in extra})
        return self._with_reasoning(message, str(given.get("reasoning_content") or "") if own else "")

    def _with_reasoning(self, message: dict[str, Any], reasoning: str) -> dict[str, Any]:
        wanted = self.traits.echo_reasoning
        if (
            self.traits.forbid_reasoning
            or wanted == "never"
            or not (wanted == "always" or "tool_calls" in message)
        ):
            return message
        if message["content"] and not self.traits.content_with_reasoning:
            return message
        return {**message, self.traits.reasoning_field: reasoning}

    def _call(self, call: Mapping[str, Any], *, own: bool) -> dict[str, Any]:
        function = call.get("function") or {}
        sent = {
            "name": self.toolbox.sent_name(str(function.get("name") or "")),
            "arguments": as_object(_text(function.get("arguments"))),
        }
        extra = {name: value for name, value in call.items() if name not in _OF_EVERY_CALL} if own else {}
        return {**extra, "id": call.get("id"), "type": "function", "function": sent}

    def _sign(self, calls: list[dict[str, Any]]) -> None:
        if self.traits.thought_signature and not any("extra_content" in call for call in calls):
            calls[0]["extra_content"] = _NO_SIGNATURE

    def _seen(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message with its images only for a model that sees them."""
        content = message.get("content")
        if self.traits.images or not isinstance(content, list):
            return message
        parts = [_without_image(part) for part in content]
        if all(part.get("type") == "text" for part in parts):
            return {**message, "content": "\n".join(str(part.get("text", "")) for part in parts)}
        return {**message, "content": parts}

    def _with_system(self, system: str, fitted: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not system:
            return fitted
        if self.traits.system_role == "system":
            return [{"role": "system", "content": system}, *fitted]
        if fitted and fitted[0]["role"] == "user":
            return [{**fitted[0], "content": _with_text(system, fitted[0]["content"])}, *fitted[1:]]
        return [{"role": "user", "content": system}, *fitted]


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)


def _result(result: Message) -> dict[str, Any]:
    """A result with something in it: an empty one is refused here and there."""
    return {"role": "tool", "content": result.get("content") or "(empty)"}


def _in_words(exchange: Exchange) -> list[Exchange]:
    """An exchange without calls: what was called, and what came of it, told in words."""
    if not exchange.calls:
        return [exchange]
    functions = [call.get("function") or {} for call in exchange.calls]
    used = [f"[Used {each.get('name')} with {_text(each.get('arguments'))}]" for each in functions]
    came = [
        f"[Result of {each.get('name')}]\n{text_of(result)}"
        for each, result in zip(functions, exchange.results, strict=True)
    ]
    said = {name: value for name, value in exchange.message.items() if name != "tool_calls"}
    said["content"] = "\n".join([text_of(exchange.message), *used]).strip()
    return [Exchange(said), Exchange({"role": "user", "content": "\n\n".join(came)})]


def _without_image(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return dict(part)
    name = part.get("name") or part.get("filename")
    return {
        "type": "text",
        "text": _IMAGE_LEFT_OUT if not name else _IMAGE_LEFT_OUT.replace("An image", f"{name}"),
    }


def _parted(messages: list[dict[str, Any]], between: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages with a word of the assistant's between a tool's result and what the person says."""
    parted: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "user" and parted and parted[-1]["role"] == "tool":
            parted.append(dict(between))
        parted.append(message)
    return parted


def _joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with neighbours of one role as one; calls and results stay as they are."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        last = joined[-1] if joined else {}
        same = last.get("role") == message["role"] != "tool"
        if same and not last.get("tool_calls") and not message.get("tool_calls"):
            joined[-1] = {**last, "content": _with_text(last["content"], message["content"])}
        else:
            joined.append(message)
    return joined


def _with_text(first: Any, second: Any) -> Any:
    """Two contents as one: text, or a list of parts where one of them is such a list."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
