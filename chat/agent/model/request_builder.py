"""From the loop's messages, tools and options to the request that fits the endpoint."""

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

# What the loop's messages carry beside the format: who wrote them, and what only that endpoint reads again.
PRIVATE = ("provider", "reasoning_content", "extra")

_OF_EVERY_CALL = ("id", "type", "function")
_LONGEST_REPLY = ("max_completion_tokens", "max_tokens")
_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
# Google's own word for a call whose signature nobody has.
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
_BETWEEN = "OK."  # what stands for the assistant's words where an endpoint insists on some
_IMAGE_LEFT_OUT = "[An image was left out here: this model cannot see images.]"


class RequestBuilder:
    """One request, made for one model at one endpoint."""

    def __init__(self, model: str, endpoint: str, traits: Traits) -> None:
        self.model = model
        self.endpoint = endpoint
        self.traits = traits
        self.toolbox = ToolNames((), traits)

    def body(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The request's body. `options` win over what is asked for anyway, and the traits over them."""
        self.toolbox = ToolNames(tools if self.traits.tools else (), self.traits)
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


log = logging.getLogger(__name__)

MOST = 128  # the most tools that endpoints take
_LONGEST = 64
_EMPTY = {"type": "object", "properties": {}}


class ToolNames:
    """The tools of one request; those beyond MOST are left out."""

    def __init__(self, tools: Sequence[Mapping[str, Any]], traits: Traits) -> None:
        self._traits = traits
        self._names: dict[str, str] = {}
        if len(tools) > MOST:
            log.warning("of %d tools only the first %d are offered to the model", len(tools), MOST)
        self.definitions = [self._definition(tool) for tool in tools[:MOST]]
        self._own_names = {sent: own for own, sent in self._names.items() if own != sent}

    def sent_name(self, own: str) -> str:
        """The name under which a tool, perhaps one of long ago, is spoken of."""
        return self._names.get(own) or _plain_name(own)

    def own_name(self, sent: str) -> str:
        """The tool's own name for one that the model used."""
        return self._own_names.get(sent, sent)

    def _definition(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        function = tool.get("function")
        if not isinstance(function, Mapping):  # one that the provider runs by itself
            return dict(tool)
        made = {name: value for name, value in function.items() if name not in self._traits.drop_params}
        made["name"] = self._names[function["name"]] = self._free_name(str(function["name"]))
        parameters = {**_EMPTY, **(function.get("parameters") or {})}
        made["parameters"] = plain_schema(parameters) if self._traits.simple_schemas else parameters
        return {**tool, "function": made}

    def _free_name(self, own: str) -> str:
        name, number = _plain_name(own), 2
        while name in self._names.values():
            ending = f"_{number}"
            name, number = _plain_name(own)[: _LONGEST - len(ending)] + ending, number + 1
        return name


def _plain_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST] or "unnamed"


_ALPHABET = string.digits + string.ascii_letters
# What most endpoints take from others; OpenAI's own limit is 40 characters.
_USUAL = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ALNUM9 = re.compile(r"[A-Za-z0-9]{9}")


class CallIds:
    """Gives each call of a history its id, call by call from the first; the same history gives the same ids.

    Ids that an endpoint made go back to it as they were, repeated or not: some stop answering otherwise.
    """

    def __init__(self, style: IdStyle) -> None:
        self._style = style
        self._seen: Counter[str] = Counter()
        self._calls = 0

    def of(self, given: str, name: str, *, native: bool, taken: set[str]) -> str:
        """The id for a call of the tool `name`.

        `native`: the endpoint itself made the id `given`. `taken` are the ids of the same message.
        """
        self._calls += 1
        self._seen[given] += 1
        if self._fits(given, native=native) and given not in taken:
            return given
        if self._style == "functions":
            return f"functions.{name}:{self._calls - 1}"
        seed = f"{given}#{self._seen[given]}"
        made = _made(seed, self._style)
        while made in taken:
            seed += "#"
            made = _made(seed, self._style)
        return made

    def _fits(self, given: str, *, native: bool) -> bool:
        if self._style == "alnum9":
            return bool(_ALNUM9.fullmatch(given))
        if native:
            return bool(given)
        return self._style == "native" and bool(_USUAL.fullmatch(given))


def _made(seed: str, style: IdStyle) -> str:
    digest = hashlib.sha256(seed.encode(errors="replace")).digest()
    if style == "alnum9":
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:9])
    return f"call_{digest.hex()[:24]}"


Message = Mapping[str, Any]

NO_RESULT = "Error: this call has no result; it was cut off. Look before you repeat it."

_SYSTEM = ("system", "developer")


@dataclass
class Exchange:
    """A message, and the results of the calls that it asks for, in the order of the calls."""

    message: dict[str, Any]
    results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls that the message asks for."""
        return list(self.message.get("tool_calls") or ())


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The conversation without its system messages, made valid both ways.

    A call without a result gets one that says so; a result without its call, a second one of the same call,
    and an assistant's message that says nothing are left out. Results stand right after their calls, also
    where something had come in between.
    """
    made: list[Exchange] = []
    for place, message in enumerate(messages):
        if message["role"] == "user":
            made.append(Exchange(dict(message)))
        elif message["role"] == "assistant" and _says_something(message):
            made.append(Exchange(_normal(message), _results(message, messages[place + 1 :])))
    return made


def system_text(messages: Sequence[Message]) -> str:
    """What all system messages say, in their order."""
    texts = [text_of(message) for message in messages if message["role"] in _SYSTEM]
    return "\n\n".join(text for text in texts if text.strip())


def text_of(message: Message) -> str:
    """The text of a message, whose content may be a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _says_something(message: Message) -> bool:
    content = message.get("content")
    said = bool(content) if isinstance(content, list) else bool(content and str(content).strip())
    return said or bool(message.get("tool_calls"))


def _normal(message: Message) -> dict[str, Any]:
    """The message with its calls as dictionaries of the usual form, or without that field."""
    normal = {name: value for name, value in message.items() if name != "tool_calls"}
    if calls := [dict(call) for call in message.get("tool_calls") or ()]:
        normal["tool_calls"] = calls
    return normal


def _results(message: Message, following: Sequence[Message]) -> list[dict[str, Any]]:
    found = list(_answers(following))
    results = []
    for call in message.get("tool_calls") or ():
        answer = next((each for each in found if each.get("tool_call_id") == call.get("id")), None)
        if answer is not None:
            found.remove(answer)
        results.append(dict(answer) if answer is not None else {"role": "tool", "content": NO_RESULT})
    return results


def _answers(following: Sequence[Message]) -> Iterable[Message]:
    """The results up to the next calls: an id may well be used again further on."""
    for message in following:
        if message.get("tool_calls"):
            return
        if message["role"] == "tool":
            yield message


DEEPEST = 12

_KEPT = ("type", "description", "enum", "required", "nullable")
_CHOICES = ("anyOf", "oneOf", "allOf")


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its references put in place and without constraints, of several choices the first.

    The tool itself still checks its arguments by the whole schema.
    """
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    made = _plain(schema, definitions, 0)
    return {**made, "type": "object", "properties": made.get("properties", {})}


def _plain(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return {}
    schema = _chosen(schema)
    if "$ref" in schema:
        meant = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
        schema = {**meant, **{name: value for name, value in schema.items() if name != "$ref"}}
        return _plain(schema, definitions, depth + 1)
    made = {name: schema[name] for name in _KEPT if name in schema}
    made.update(_types(schema))
    if isinstance(schema.get("properties"), Mapping):
        made["properties"] = {
            name: _plain(each, definitions, depth + 1) for name, each in schema["properties"].items()
        }
    if made.get("type") == "array":
        made["items"] = _plain(schema.get("items"), definitions, depth + 1) or {"type": "string"}
    if "required" in made:
        made["required"] = [name for name in made["required"] if name in made.get("properties", {})]
    return {name: value for name, value in made.items() if value != []}


def _chosen(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the first of its choices in it; one that only adds null makes it nullable."""
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
