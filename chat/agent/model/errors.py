"""Parses endpoints' error bodies of any form: what is wrong, and whether the request was too long."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_QUOTE = 300  # characters of an endpoint's message that are quoted

# Fields with the error message, the best first.
_MESSAGE_FIELDS = ("error", "message", "detail", "msg", "errors", "error_message", "reason", "title")
_ERROR_FIELDS = ("message", "detail", "msg", "errors", "error_message")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>|<h1[^>]*>(.*?)</h1>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"\s*<[!?A-Za-z]")
_MAX_DEPTH = 8
_PAGE_HEAD = 8 * 1024  # characters of a page that are searched for its title


def chunk_error(chunk: Mapping[str, Any]) -> str | None:
    if chunk.get("error") or chunk.get("object") == "error" or chunk.get("type") == "error":
        return error_text(chunk)
    if chunk.get("choices") is None and any(
        isinstance(chunk.get(name), str | list) for name in _ERROR_FIELDS
    ):
        return error_text(chunk)
    return None


def error_text(error: Any, depth: int = _MAX_DEPTH) -> str:
    if isinstance(error, str):
        return _message_text(error, depth)
    if isinstance(error, dict) and depth and (messages := _messages(error)):
        return _line(" ".join(error_text(each, depth - 1) for each in messages))
    if isinstance(error, list) and error and depth:
        return error_text(error[0], depth - 1)
    return _line(json.dumps(error, ensure_ascii=False, default=str)) if error and depth else ""


def is_page(text: str) -> bool:
    """Whether the text is markup: a gateway's error page, not an endpoint's message such as "<400> ..."."""
    return bool(_MARKUP.match(text))


def page_title(page: str) -> str:
    match = _TITLE.search(page[:_PAGE_HEAD])
    return _line(html.unescape(re.sub(r"<[^>]*>", " ", match[1] or match[2] or ""))) if match else ""


def _messages(error: Mapping[str, Any]) -> list[Any]:
    values = [error.get(name) for name in _MESSAGE_FIELDS]
    messages = [value for value in values if isinstance(value, str | dict | list) and value]
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return [*messages[:1], *([raw] if isinstance(raw, str) else [])]


def _message_text(text: str, depth: int) -> str:
    if is_page(text):
        return page_title(text)
    if text.lstrip().startswith(("{", "[")) and depth:
        try:
            return error_text(json.loads(text), depth - 1) or _line(text)
        except (ValueError, RecursionError):
            pass
    return _line(text)


def _line(text: str) -> str:
    return " ".join(text.split())[:MAX_QUOTE]


MAX_ERROR = 8192  # characters of an error that are examined

# Fields that echo the request: the user's text is no error message.
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
class ErrorReport:
    """An endpoint's error: its text in lower case, the parameters that it names, a line for the user."""

    status: int
    text: str
    params: tuple[str, ...] = ()  # ("tools.0.function.strict",)
    detail: str = ""

    @classmethod
    def of(cls, status: int, body: Any) -> ErrorReport:
        if isinstance(body, str):
            body = _decoded(body)
        texts = " ".join(_texts(body))[:MAX_ERROR]
        text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", " ".join(texts.lower().split()))
        return cls(status, text, tuple(_params(body)), error_text(body) if body else "")

    @property
    def kind(self) -> str:
        """The ModelError kind by the error's text; empty if only the status tells."""
        if overflows(self.text):
            return "overflow"
        if _NO_TOOLS.search(self.text) or (self.is_unsupported and "tools" in self.params):
            return "no_tools"
        if self.status == 402 or (self.status in (400, 403, 429) and _NO_CREDIT.search(self.text)):
            return "no_credit"
        return "loading" if self.status == 503 and _LOADING.search(self.text) else ""

    @property
    def is_unsupported(self) -> bool:
        return bool(UNSUPPORTED.search(self.text))

    @property
    def window(self) -> int:
        """The model's context in tokens, if stated, else 0."""
        return 0 if self.status == 429 else window_in(self.text)  # 429: a limit of tokens in a minute


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
    """Every text in the body, and `n_ctx`, the one number that matters."""
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


_OVERFLOW = re.compile(
    "|".join(
        (
            r"context[_ ]length[_ ]exceeded|maximum context length",  # OpenAI, DeepSeek, OpenRouter, vLLM
            r"exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context",  # OpenAI's newer words, vLLM
            r"longer than the maximum model length",  # vLLM
            r"exceed_context_size|exceeds? the available context",  # llama.cpp
            r"tokens to keep from the initial prompt|when context the overflows|when the context overflows",
            r"context length of only|greater than the context length",  # LM Studio
            r"input length exceeds the context|exceed\w* max context",  # Ollama
            r"prompt is too long|exceed context limit|input is too long for",  # Anthropic's, Bedrock
            r"input token count.{0,40}exceeds",  # Gemini
            r"maximum prompt length is",  # xAI
            r"prompt contains \d+ tokens.{0,60}too large",  # Mistral
            r"exceeded model token limit",  # Kimi
            r"range of input length should be",  # Qwen
            r"context window exceeds",  # MiniMax
            r"prompt token count.{0,40}exceeds the limit",  # Copilot
            r"must be <= \d+\. given: \d+ `?inputs",  # TGI
            r"request too large for|reduce the length of the (?:messages|prompt)",  # Groq
        )
    )
)
# Only the requested maximum reply length is too large.
_REPLY_TOO_LONG = re.compile(r"max_(?:completion_|new_)?tokens['\"`]?.{0,40}(?:too large|must be|at most)")

_WINDOWS = tuple(
    re.compile(pattern)
    for pattern in (
        r"maximum (?:context|prompt|model) length (?:is|of) (\d+)",
        r"with (\d+) maximum context",
        r"maximum number of tokens allowed \((\d+)\)",
        r"> (\d+) maximum",
        r"available context size \((\d+)",
        r"range of input length should be \[\d+, (\d+)\]",
        r"(?:token limit:?|context length of only|exceeds the limit of|context limit: [\d +]+>) (\d+)",
        r"n_ctx:? (\d+)",
    )
)
_PLAUSIBLE = range(256, 10**8)


def overflows(text: str) -> bool:
    return bool(_OVERFLOW.search(text)) and not _REPLY_TOO_LONG.search(text)


def window_in(text: str) -> int:
    """The size of the model's context that the text states; 0 if it does not."""
    sizes = [int(match[1]) for each in _WINDOWS if (match := each.search(text))]
    return next((tokens for tokens in sizes if tokens in _PLAUSIBLE), 0)
