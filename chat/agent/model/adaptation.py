"""What a complaint teaches about the model: a change of its traits, after which it may be asked again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from chat.agent.model.errors import EndpointComplaint
from chat.agent.model.failures import ComplaintError
from chat.agent.model.protocol import ModelError
from chat.agent.model.traits import Traits

Changes = dict[str, Any]

MOST = 8  # lessons in one request
# Errors that may be about the form of a request.
_TEACHING = ("refused", "reported", "unavailable", "not_found")

# Parts of a request that nobody can leave out; `tools` has an error of its own.
_NEEDED = ("model", "messages", "stream", "tools")
_LONGEST_REPLY = ("max_tokens", "max_completion_tokens")
_REASONING = re.compile(r"reasoning_content|reasoning_details|thinking_blocks|['\"`]reasoning['\"`]")
# Parameters whose names are everyday words: only in quotes are they meant.
_EVERYDAY = ("user", "n", "stop", "store", "seed", "metadata", "reasoning", "thinking")
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
# A complaint about one picture, which says nothing of what the model can see.
_BAD_IMAGE = re.compile(
    r"(?:could not|cannot|unable to|failed to) (?:process|decode|load|parse|read|identify)|dimension|corrupt"
    r"|valid image|unsupported image\b|invalid (?:image|base64)|image.{0,40}(?:exceed|too large|too big)"
)
_SCHEMA = re.compile(
    r"additionalproperties|\$ref|\$defs|\banyof\b|\boneof\b|\ballof\b|function_declarations|invalid schema"
    r"|json[ _]schema|unknown name .{0,40}parameters|schema.{0,60}(?:not support|unsupported)"
)


def lesson(complaint: EndpointComplaint, body: Mapping[str, Any], traits: Traits) -> Changes:
    """The change of traits after which a request with this body may be taken; empty for none."""
    for teach in _TEACHERS:
        changes = teach(complaint, body, traits)
        if changes and traits.but(changes) != traits:
            return changes
    return {}


class Adaptation:
    """What the errors of one request have taught. Each thing is tried once, so that it comes to an end."""

    def __init__(self, traits: Traits) -> None:
        self.traits = traits
        self.changes: Changes = {}
        self._taught: list[Changes] = []

    def learn(self, error: ModelError, body: Mapping[str, Any]) -> bool:
        """Whether the error taught something with which it is worth asking again."""
        if not isinstance(error, ComplaintError) or error.kind not in _TEACHING or len(self._taught) >= MOST:
            return False
        changes = lesson(error.complaint, body, self.traits)
        if "max_tokens_param" in changes and "max_tokens_param" in self.changes:
            changes = {"max_tokens_param": ""}  # neither of the names
        if not changes or changes in self._taught:
            return False
        self._taught.append(changes)
        self._take(changes)
        return True

    def conclude(self, error: ModelError) -> Changes:
        """What the error says of the model for good, though this request is lost."""
        if not isinstance(error, ComplaintError):
            return {}
        if error.kind == "no_tools":
            return {"tools": False} if self.traits.tools else {}
        window = error.complaint.window if error.kind == "overflow" else 0
        return {"context_window": window} if window not in (0, self.traits.context_window) else {}

    def _take(self, changes: Changes) -> None:
        self.traits = self.traits.but(changes)
        self.changes.update(changes)


def _by_rule(complaint: EndpointComplaint, body: Mapping[str, Any], traits: Traits) -> Changes:
    return next((dict(changes) for said, changes in _RULES if said.search(complaint.said)), {})


def _reasoning(complaint: EndpointComplaint, body: Mapping[str, Any], traits: Traits) -> Changes:
    if not _REASONING.search(complaint.said):
        return {}
    if _DEMANDED.search(complaint.said) and "must not" not in complaint.said:
        further = "always" if traits.echo_reasoning == "calls" else "calls"
        return {"echo_reasoning": further, "forbid_reasoning": False}
    fields = {name for message in body["messages"] for name in message}
    sent = bool(fields & {traits.reasoning_field, *traits.echo_fields})
    refused = complaint.is_unsupported or re.search(r"must not|should not|remove", complaint.said)
    return {"forbid_reasoning": True} if sent and refused else {}


def _images(complaint: EndpointComplaint, body: Mapping[str, Any], traits: Traits) -> Changes:
    if _BAD_IMAGE.search(complaint.said) or not _NO_IMAGES.search(complaint.said):
        return {}
    return {"images": False} if _has_images(body) else {}


def _longest_reply(complaint: EndpointComplaint, body: Mapping[str, Any], traits: Traits) -> Changes:
    sent = next((name for name in _LONGEST_REPLY if name in body), None)
    if sent is None or not _names(complaint, sent) or not complaint.is_unsupported:
        return {}
    other = _LONGEST_REPLY[1 - _LONGEST_REPLY.index(sent)]
    return {"max_tokens_param": other}


def _parameter(complaint: EndpointComplaint, body: Mapping[str, Any], traits: Traits) -> Changes:
    # Where the values are listed that would do, it is the person's to choose among them.
    if not complaint.is_unsupported or "supported values are" in complaint.said:
        return {}
    droppable = [name for name in body if name not in (*_NEEDED, *_LONGEST_REPLY)]
    if any("strict" in tool.get("function", {}) for tool in body.get("tools", ())):
        droppable.append("strict")
    named = [name for name in droppable if _names(complaint, name)]
    return {"drop_params": [*traits.drop_params, *named[:1]]} if named else {}


def _schema(complaint: EndpointComplaint, body: Mapping[str, Any], traits: Traits) -> Changes:
    return {"simple_schemas": True} if body.get("tools") and _SCHEMA.search(complaint.said) else {}


def _names(complaint: EndpointComplaint, name: str) -> bool:
    if any(name in re.split(r"[.\[\]]+", param) for param in complaint.params):
        return True
    word = re.escape(name.lower())
    pattern = rf"['\"`]{word}['\"`]" if name in _EVERYDAY else rf"(?<![\w-]){word}(?![\w-])"
    return bool(re.search(pattern, complaint.said))


def _has_images(body: Mapping[str, Any]) -> bool:
    contents = [message.get("content") for message in body["messages"]]
    return any(
        part.get("type") == "image_url" for each in contents if isinstance(each, list) for part in each
    )


_TEACHERS: tuple[Callable[[EndpointComplaint, Mapping[str, Any], Traits], Changes], ...] = (
    _by_rule,
    _reasoning,
    _images,
    _longest_reply,
    _parameter,
    _schema,
)
