"""Builds the request for an endpoint from the loop's messages, tools and options."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.agent.arguments import as_object
from chat.agent.model.protocol import Delta, ToolCallDelta
from chat.agent.model.traits import IdStyle, Traits

# Private fields of the loop's messages: their provider, and what only that endpoint may read.
PRIVATE = ("provider", "reasoning_content", "extra")

_CALL_FIELDS = ("id", "type", "function")
_MAX_TOKENS_PARAMS = ("max_completion_tokens", "max_tokens")
_TOOL_PARAMS = ("tool_choice", "parallel_tool_calls")
# Google's placeholder for a call without a signature.
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
_BETWEEN = "OK."  # an assistant message where an endpoint requires one
_IMAGE_LEFT_OUT = "[An image was left out here: this model cannot see images.]"


class RequestBuilder:
    def __init__(self, model: str, endpoint: str, traits: Traits) -> None:
        self.model = model
        self.endpoint = endpoint
        self.traits = traits
        self.tool_names = ToolNames((), traits)

    def body(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The request's body. `options` override defaults, traits override `options`."""
        self.tool_names = ToolNames(tools if self.traits.tools else (), self.traits)
        body: dict[str, Any] = {"stream_options": {"include_usage": True}, **options}
        if definitions := self.tool_names.definitions:
            body["tools"] = definitions
        longest = [body.pop(name) for name in _MAX_TOKENS_PARAMS if name in body]
        if longest and self.traits.max_tokens_param:
            body[self.traits.max_tokens_param] = longest[0]
        left_out = (*self.traits.drop_params, *(() if "tools" in body else _TOOL_PARAMS))
        body = {name: value for name, value in body.items() if name not in left_out}
        return {**body, "model": self.model, "messages": self.messages(messages), "stream": True}

    def read(self, delta: Delta) -> Delta:
        if isinstance(delta, ToolCallDelta) and delta.name:
            return replace(delta, name=self.tool_names.own_name(delta.name))
        return delta

    def messages(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        ids = CallIds(self.traits.id_style)
        history = exchanges(messages)
        if not self.traits.tools:
            history = [each for exchange in history for each in _as_text(exchange)]
        fitted = [message for exchange in history for message in self._exchange(exchange, ids)]
        fitted = [self._without_images(message) for message in fitted]
        if not self.traits.user_after_tool:
            fitted = _separate_users(
                fitted, self._with_reasoning({"role": "assistant", "content": _BETWEEN}, "")
            )
        if self.traits.alternate:
            fitted = _merge_neighbours(fitted)
        return self._with_system(system_text(messages), fitted)

    def _exchange(self, exchange: Exchange, ids: CallIds) -> list[dict[str, Any]]:
        own = bool(self.endpoint) and exchange.message.get("provider") == self.endpoint
        # Ids of unknown origin are left unchanged.
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
        source = exchange.message
        message = {name: value for name, value in source.items() if name not in PRIVATE}
        if source["role"] != "assistant":
            return message
        if exchange.calls:
            message["content"] = source.get("content") or None
            message["tool_calls"] = [self._call(call, own=own) for call in exchange.calls]
            self._sign(message["tool_calls"])
        if own and not self.traits.forbid_reasoning:
            extra = source.get("extra") or {}
            message.update({name: extra[name] for name in self.traits.echo_fields if name in extra})
        return self._with_reasoning(message, str(source.get("reasoning_content") or "") if own else "")

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
            "name": self.tool_names.sent_name(str(function.get("name") or "")),
            "arguments": as_object(_text(function.get("arguments"))),
        }
        extra = {name: value for name, value in call.items() if name not in _CALL_FIELDS} if own else {}
        return {**extra, "id": call.get("id"), "type": "function", "function": sent}

    def _sign(self, calls: list[dict[str, Any]]) -> None:
        if self.traits.thought_signature and not any("extra_content" in call for call in calls):
            calls[0]["extra_content"] = _NO_SIGNATURE

    def _without_images(self, message: dict[str, Any]) -> dict[str, Any]:
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
            return [{**fitted[0], "content": _merge_contents(system, fitted[0]["content"])}, *fitted[1:]]
        return [{"role": "user", "content": system}, *fitted]


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)


def _result(result: Message) -> dict[str, Any]:
    """A result with non-empty content: some endpoints refuse empty ones."""
    return {"role": "tool", "content": result.get("content") or "(empty)"}


def _as_text(exchange: Exchange) -> list[Exchange]:
    if not exchange.calls:
        return [exchange]
    functions = [call.get("function") or {} for call in exchange.calls]
    used = [f"[Used {each.get('name')} with {_text(each.get('arguments'))}]" for each in functions]
    results = [
        f"[Result of {each.get('name')}]\n{text_of(result)}"
        for each, result in zip(functions, exchange.results, strict=True)
    ]
    message = {name: value for name, value in exchange.message.items() if name != "tool_calls"}
    message["content"] = "\n".join([text_of(exchange.message), *used]).strip()
    return [Exchange(message), Exchange({"role": "user", "content": "\n\n".join(results)})]


def _without_image(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return dict(part)
    name = part.get("name") or part.get("filename")
    return {
        "type": "text",
        "text": _IMAGE_LEFT_OUT if not name else _IMAGE_LEFT_OUT.replace("An image", f"{name}"),
    }


def _separate_users(messages: list[dict[str, Any]], between: dict[str, Any]) -> list[dict[str, Any]]:
    separated: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "user" and separated and separated[-1]["role"] == "tool":
            separated.append(dict(between))
        separated.append(message)
    return separated


def _merge_neighbours(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    merged: list[dict[str, Any]] = []
    for message in messages:
        last = merged[-1] if merged else {}
        same = last.get("role") == message["role"] != "tool"
        if same and not last.get("tool_calls") and not message.get("tool_calls"):
            merged[-1] = {**last, "content": _merge_contents(last["content"], message["content"])}
        else:
            merged.append(message)
    return merged


def _merge_contents(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]


log = logging.getLogger(__name__)

MAX_TOOLS = 128  # that endpoints accept
_MAX_NAME = 64
_EMPTY = {"type": "object", "properties": {}}


class ToolNames:
    """The tools of one request and their names in it; tools beyond MAX_TOOLS are left out."""

    def __init__(self, tools: Sequence[Mapping[str, Any]], traits: Traits) -> None:
        self._traits = traits
        self._names: dict[str, str] = {}
        if len(tools) > MAX_TOOLS:
            log.warning("of %d tools only the first %d are offered to the model", len(tools), MAX_TOOLS)
        self.definitions = [self._definition(tool) for tool in tools[:MAX_TOOLS]]
        self._own_names = {sent: own for own, sent in self._names.items() if own != sent}

    def sent_name(self, own: str) -> str:
        """The name for the endpoint, also of a tool that is no longer offered."""
        return self._names.get(own) or _plain_name(own)

    def own_name(self, sent: str) -> str:
        return self._own_names.get(sent, sent)

    def _definition(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        function = tool.get("function")
        if not isinstance(function, Mapping):  # a tool that the provider runs
            return dict(tool)
        definition = {name: value for name, value in function.items() if name not in self._traits.drop_params}
        definition["name"] = self._names[function["name"]] = self._free_name(str(function["name"]))
        parameters = {**_EMPTY, **(function.get("parameters") or {})}
        definition["parameters"] = plain_schema(parameters) if self._traits.simple_schemas else parameters
        return {**tool, "function": definition}

    def _free_name(self, own: str) -> str:
        name, number = _plain_name(own), 2
        while name in self._names.values():
            ending = f"_{number}"
            name, number = _plain_name(own)[: _MAX_NAME - len(ending)] + ending, number + 1
        return name


def _plain_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_MAX_NAME] or "unnamed"


_ALPHABET = string.digits + string.ascii_letters
# Ids that most endpoints accept; OpenAI's limit is 40 characters.
_PORTABLE = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ALNUM9 = re.compile(r"[A-Za-z0-9]{9}")


class CallIds:
    """Assigns an id to each call of a history, in order; deterministic for the same history.

    Ids that the endpoint made are sent back unchanged, repeated or not: some stop working otherwise.
    """

    def __init__(self, style: IdStyle) -> None:
        self._style = style
        self._occurrences: Counter[str] = Counter()
        self._calls = 0

    def of(self, call_id: str, name: str, *, native: bool, taken: set[str]) -> str:
        """The id for a call; `native`: the endpoint made `call_id`; `taken`: ids in the same message."""
        self._calls += 1
        self._occurrences[call_id] += 1
        if self._fits(call_id, native=native) and call_id not in taken:
            return call_id
        if self._style == "functions":
            return f"functions.{name}:{self._calls - 1}"
        seed = f"{call_id}#{self._occurrences[call_id]}"
        generated = _generated_id(seed, self._style)
        while generated in taken:
            seed += "#"
            generated = _generated_id(seed, self._style)
        return generated

    def _fits(self, call_id: str, *, native: bool) -> bool:
        if self._style == "alnum9":
            return bool(_ALNUM9.fullmatch(call_id))
        if native:
            return bool(call_id)
        return self._style == "native" and bool(_PORTABLE.fullmatch(call_id))


def _generated_id(seed: str, style: IdStyle) -> str:
    digest = hashlib.sha256(seed.encode(errors="replace")).digest()
    if style == "alnum9":
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:9])
    return f"call_{digest.hex()[:24]}"


Message = Mapping[str, Any]

NO_RESULT = "Error: this call has no result; it was cut off. Look before you repeat it."

_SYSTEM = ("system", "developer")


@dataclass
class Exchange:
    message: dict[str, Any]
    results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def calls(self) -> list[dict[str, Any]]:
        return list(self.message.get("tool_calls") or ())


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The conversation without system messages, made valid.

    A call without a result gets one that says so; results without a call, repeated results and empty
    assistant messages are left out. Results are moved right after their calls.
    """
    valid: list[Exchange] = []
    for index, message in enumerate(messages):
        if message["role"] == "user":
            valid.append(Exchange(dict(message)))
        elif message["role"] == "assistant" and _says_something(message):
            valid.append(Exchange(_normalized(message), _results(message, messages[index + 1 :])))
    return valid


def system_text(messages: Sequence[Message]) -> str:
    texts = [text_of(message) for message in messages if message["role"] in _SYSTEM]
    return "\n\n".join(text for text in texts if text.strip())


def text_of(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _says_something(message: Message) -> bool:
    content = message.get("content")
    has_content = bool(content) if isinstance(content, list) else bool(content and str(content).strip())
    return has_content or bool(message.get("tool_calls"))


def _normalized(message: Message) -> dict[str, Any]:
    normalized = {name: value for name, value in message.items() if name != "tool_calls"}
    if calls := [dict(call) for call in message.get("tool_calls") or ()]:
        normalized["tool_calls"] = calls
    return normalized


def _results(message: Message, following: Sequence[Message]) -> list[dict[str, Any]]:
    answers = list(_answers(following))
    results = []
    for call in message.get("tool_calls") or ():
        answer = next((each for each in answers if each.get("tool_call_id") == call.get("id")), None)
        if answer is not None:
            answers.remove(answer)
        results.append(dict(answer) if answer is not None else {"role": "tool", "content": NO_RESULT})
    return results


def _answers(following: Sequence[Message]) -> Iterable[Message]:
    """The results up to the next calls: ids may be reused later."""
    for message in following:
        if message.get("tool_calls"):
            return
        if message["role"] == "tool":
            yield message


MAX_DEPTH = 12

_KEPT_KEYWORDS = ("type", "description", "enum", "required", "nullable")
_CHOICES = ("anyOf", "oneOf", "allOf")


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without references, constraints and alternatives; tools validate by the full one."""
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    plain = _plain(schema, definitions, 0)
    return {**plain, "type": "object", "properties": plain.get("properties", {})}


def _plain(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return {}
    schema = _chosen(schema)
    if "$ref" in schema:
        target = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
        schema = {**target, **{name: value for name, value in schema.items() if name != "$ref"}}
        return _plain(schema, definitions, depth + 1)
    plain = {name: schema[name] for name in _KEPT_KEYWORDS if name in schema}
    plain.update(_types(schema))
    if isinstance(schema.get("properties"), Mapping):
        plain["properties"] = {
            name: _plain(each, definitions, depth + 1) for name, each in schema["properties"].items()
        }
    if plain.get("type") == "array":
        plain["items"] = _plain(schema.get("items"), definitions, depth + 1) or {"type": "string"}
    if "required" in plain:
        plain["required"] = [name for name in plain["required"] if name in plain.get("properties", {})]
    return {name: value for name, value in plain.items() if value != []}


def _chosen(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema merged with its first choice; a null choice makes it nullable."""
    merged = {name: value for name, value in schema.items() if name not in _CHOICES}
    for keyword in _CHOICES:
        choices = [each for each in schema.get(keyword) or () if isinstance(each, Mapping)]
        real = [each for each in choices if each.get("type") != "null"]
        if len(real) < len(choices):
            merged["nullable"] = True
        for each in real if keyword == "allOf" else real[:1]:
            merged = {**each, **merged}
    if "const" in merged:
        merged["enum"] = [merged["const"]]
    if not all(isinstance(each, str) and each for each in merged.get("enum") or ()):
        del merged["enum"]
    return merged


def _types(schema: Mapping[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, list):
        real = [each for each in kind if each != "null"]
        return {"type": real[0] if real else "string", **({"nullable": True} if "null" in kind else {})}
    return {}
