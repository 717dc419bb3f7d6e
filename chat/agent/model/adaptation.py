"""Adapts a model's traits to what its endpoint's errors say, so that the request can be sent again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from chat.agent.model.errors import ErrorReport
from chat.agent.model.failures import EndpointError
from chat.agent.model.protocol import ModelError
from chat.agent.model.traits import Traits

Changes = dict[str, Any]

MAX_CHANGES = 8  # in one request
# Kinds of errors that may be about the form of a request.
_ADAPTABLE = ("refused", "reported", "unavailable", "not_found")

# Required parts of a request; `tools` has its own error.
_REQUIRED = ("model", "messages", "stream", "tools")
_MAX_TOKENS_PARAMS = ("max_tokens", "max_completion_tokens")
_REASONING = re.compile(r"reasoning_content|reasoning_details|thinking_blocks|['\"`]reasoning['\"`]")
# Parameters named by everyday words: they only count in quotes.
_COMMON_WORDS = ("user", "n", "stop", "store", "seed", "metadata", "reasoning", "thinking")
_DEMANDED = re.compile(r"missing|must be (?:passed|provided|included|present)|is required|passed back")

_RULES: tuple[tuple[re.Pattern[str], Changes], ...] = tuple(
    (re.compile(pattern), changes)
    for pattern, changes in (
        (r"tool call id.{0,80}(?:length of 9|a-z, a-z, 0-9)", {"id_style": "alnum9"}),
        (r"pass both content and thinking", {"content_with_reasoning": False}),
        (r"missing a `?thought_signature", {"thought_signature": True}),
        (r"unexpected role 'user' after role 'tool'", {"user_after_tool": False}),
        (r"roles must alternate", {"alternate": True}),
        (
            r"system role not supported|does not support 'system'|developer instruction is not enabled"
            r"|system (?:message|role|prompt|instruction)s? (?:is|are) not (?:supported|allowed|enabled)",
            {"system_role": "user"},
        ),
    )
)
_NO_IMAGES = re.compile(
    r"image_url.{0,80}(?:not support|unsupported|expected `text`|invalid)|unknown variant `image_url`"
    r"|(?:not support|unsupported|no endpoints found that support).{0,40}(?:image|vision|multimodal)"
    r"|not a multimodal model|image input (?:is )?not|image_url is only supported"
    r"|missing data required for image|content must be a string|content' ?: value must be a string"
)
# Errors about one picture, which say nothing about the model.
_BAD_IMAGE = re.compile(
    r"(?:could not|cannot|unable to|failed to) (?:process|decode|load|parse|read|identify)|dimension|corrupt"
    r"|valid image|unsupported image\b|invalid (?:image|base64)|image.{0,40}(?:exceed|too large|too big)"
)
_SCHEMA = re.compile(
    r"additionalproperties|\$ref|\$defs|\banyof\b|\boneof\b|\ballof\b|function_declarations|invalid schema"
    r"|json[ _]schema|unknown name .{0,40}parameters|schema.{0,60}(?:not support|unsupported)"
)


def trait_changes(report: ErrorReport, body: Mapping[str, Any], traits: Traits) -> Changes:
    """The change of traits with which the endpoint may accept this request body; empty if there is none."""
    for detect in _DETECTORS:
        changes = detect(report, body, traits)
        if changes and traits.but(changes) != traits:
            return changes
    return {}


class TraitsAdapter:
    """Collects trait changes from the errors of one request. Each change is tried once, so retries end."""

    def __init__(self, traits: Traits) -> None:
        self.traits = traits
        self.changes: Changes = {}
        self._applied: list[Changes] = []

    def learn(self, error: ModelError, body: Mapping[str, Any]) -> bool:
        if (
            not isinstance(error, EndpointError)
            or error.kind not in _ADAPTABLE
            or len(self._applied) >= MAX_CHANGES
        ):
            return False
        changes = trait_changes(error.report, body, self.traits)
        if "max_tokens_param" in changes and "max_tokens_param" in self.changes:
            changes = {"max_tokens_param": ""}  # neither of the names
        if not changes or changes in self._applied:
            return False
        self._applied.append(changes)
        self._apply(changes)
        return True

    def learn_from_final_error(self, error: ModelError) -> Changes:
        """Trait changes that the error implies for later requests, though this one has failed."""
        if not isinstance(error, EndpointError):
            return {}
        if error.kind == "no_tools":
            return {"tools": False} if self.traits.tools else {}
        window = error.report.window if error.kind == "overflow" else 0
        return {"context_window": window} if window not in (0, self.traits.context_window) else {}

    def _apply(self, changes: Changes) -> None:
        self.traits = self.traits.but(changes)
        self.changes.update(changes)


def _by_rule(report: ErrorReport, body: Mapping[str, Any], traits: Traits) -> Changes:
    return next((dict(changes) for pattern, changes in _RULES if pattern.search(report.text)), {})


def _reasoning(report: ErrorReport, body: Mapping[str, Any], traits: Traits) -> Changes:
    if not _REASONING.search(report.text):
        return {}
    if _DEMANDED.search(report.text) and "must not" not in report.text:
        further = "always" if traits.echo_reasoning == "calls" else "calls"
        return {"echo_reasoning": further, "forbid_reasoning": False}
    fields = {name for message in body["messages"] for name in message}
    sent = bool(fields & {traits.reasoning_field, *traits.echo_fields})
    refused = report.is_unsupported or re.search(r"must not|should not|remove", report.text)
    return {"forbid_reasoning": True} if sent and refused else {}


def _images(report: ErrorReport, body: Mapping[str, Any], traits: Traits) -> Changes:
    if _BAD_IMAGE.search(report.text) or not _NO_IMAGES.search(report.text):
        return {}
    return {"images": False} if _has_images(body) else {}


def _longest_reply(report: ErrorReport, body: Mapping[str, Any], traits: Traits) -> Changes:
    sent = next((name for name in _MAX_TOKENS_PARAMS if name in body), None)
    if sent is None or not _names(report, sent) or not report.is_unsupported:
        return {}
    other = _MAX_TOKENS_PARAMS[1 - _MAX_TOKENS_PARAMS.index(sent)]
    return {"max_tokens_param": other}


def _parameter(report: ErrorReport, body: Mapping[str, Any], traits: Traits) -> Changes:
    # If the error lists the supported values, the user has to choose one.
    if not report.is_unsupported or "supported values are" in report.text:
        return {}
    droppable = [name for name in body if name not in (*_REQUIRED, *_MAX_TOKENS_PARAMS)]
    if any("strict" in tool.get("function", {}) for tool in body.get("tools", ())):
        droppable.append("strict")
    named = [name for name in droppable if _names(report, name)]
    return {"drop_params": [*traits.drop_params, *named[:1]]} if named else {}


def _schema(report: ErrorReport, body: Mapping[str, Any], traits: Traits) -> Changes:
    return {"simple_schemas": True} if body.get("tools") and _SCHEMA.search(report.text) else {}


def _names(report: ErrorReport, name: str) -> bool:
    if any(name in re.split(r"[.\[\]]+", param) for param in report.params):
        return True
    word = re.escape(name.lower())
    pattern = rf"['\"`]{word}['\"`]" if name in _COMMON_WORDS else rf"(?<![\w-]){word}(?![\w-])"
    return bool(re.search(pattern, report.text))


def _has_images(body: Mapping[str, Any]) -> bool:
    contents = [message.get("content") for message in body["messages"]]
    return any(
        part.get("type") == "image_url" for each in contents if isinstance(each, list) for part in each
    )


_DETECTORS: tuple[Callable[[ErrorReport, Mapping[str, Any], Traits], Changes], ...] = (
    _by_rule,
    _reasoning,
    _images,
    _longest_reply,
    _parameter,
    _schema,
)
