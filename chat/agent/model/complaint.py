"""What an endpoint's error says, whoever worded it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chat.agent.model.faults import error_text, is_page
from chat.agent.model.overflow import overflows, window_in

LONGEST = 8192  # characters of an error that are looked at

# The request's own text comes back here, and what a person wrote is no complaint.
_ECHOES = ("input", "ctx", "url", "doc_url")

_NO_TOOLS = re.compile(
    r"does(?: not|n't) support (?:tools|(?:tool|function)[ _-]?(?:use|call))"
    r"|tools param requires --jinja|unsupported param\w*:? ['\"`]?tools\b(?![.\[])"
    r"|support tool use|(?:tool|function)[ _-](?:use|calling) (?:is|are) not (?:supported|enabled|available)"
    r"|\btools['\"`]? (?:\w+ ){0,3}(?:not supported|unsupported)"
    r"|\"?auto\"? tool choice requires"
)
_NO_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|payment required"
)
_LOADING = re.compile(r"loading model|model is (?:currently )?loading|is being loaded")


@dataclass(frozen=True)
class Complaint:
    """An error in words: `said` is all of its text in lower case, `params` what it names as wrong
    ("tools.0.function.strict"), `detail` a line for the person."""

    status: int
    said: str
    params: tuple[str, ...] = ()
    detail: str = ""

    @classmethod
    def of(cls, status: int, body: Any) -> Complaint:
        """What a decoded body, or the text of one that is no JSON, complains about."""
        if isinstance(body, str):
            body = _decoded(body)
        texts = " ".join(_texts(body))[:LONGEST]
        said = re.sub(r"(?<=\d),(?=\d{3}\b)", "", " ".join(texts.lower().split()))
        return cls(status, said, tuple(_params(body)), error_text(body) if body else "")

    @property
    def kind(self) -> str:
        """The kind of ModelError that its words make it; empty where only the status tells."""
        if overflows(self.said):
            return "overflow"
        if _NO_TOOLS.search(self.said) or (self.is_unsupported and "tools" in self.params):
            return "no_tools"
        if self.status == 402 or (self.status in (400, 403, 429) and _NO_CREDIT.search(self.said)):
            return "no_credit"
        return "loading" if self.status == 503 and _LOADING.search(self.said) else ""

    @property
    def is_unsupported(self) -> bool:
        """Whether something is said to be more than the endpoint takes."""
        return bool(UNSUPPORTED.search(self.said))

    @property
    def window(self) -> int:
        """The model's context in tokens, where it is told; else 0."""
        return 0 if self.status == 429 else window_in(self.said)  # 429: a limit of tokens in a minute


UNSUPPORTED = re.compile(
    r"unsupported|not support|not (?:yet )?(?:permitted|allowed|available|enabled|implemented|recognized)"
    r"|unrecognized|unknown (?:name|param|field|arg|key)|unexpected (?:keyword|param|field|arg|key|property)"
    r"|extra_forbidden|extra (?:inputs|fields)|additional properties|only the default|cannot find field"
    r"|no endpoints found that support|only \S+ (?:is|are) (?:allowed|supported)"
    r"|no such (?:param|field|option)|cannot be used with"
)


def _decoded(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _texts(body: Any, depth: int = 0) -> Iterator[str]:
    """Every text in the body, and the one number that is a complaint by itself."""
    if isinstance(body, str):
        yield "" if is_page(body) else body
    elif isinstance(body, dict) and depth < 8:
        for name, value in body.items():
            if name == "n_ctx":
                yield f"n_ctx {value}"
            elif name not in _ECHOES:
                yield from _texts(value, depth + 1)
    elif isinstance(body, list) and depth < 8:
        for value in body[:20]:
            yield from _texts(value, depth + 1)


def _params(body: Any) -> Iterator[str]:
    for error in _errors(body):
        if isinstance(error.get("param"), str) and error["param"]:
            yield error["param"]
        if isinstance(error.get("loc"), list):
            yield ".".join(str(each) for each in error["loc"] if each != "body")


def _errors(body: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if isinstance(body, dict) and depth < 5:
        yield body
        for name in ("error", "detail", "message", "errors"):
            yield from _errors(body.get(name), depth + 1)
    elif isinstance(body, list) and depth < 5:
        for each in body[:20]:
            yield from _errors(each, depth + 1)
