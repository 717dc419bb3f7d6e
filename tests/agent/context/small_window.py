"""A model with a small window that rejects longer requests as endpoints do."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chat.demo.reply import Reply, Request

SUMMARY = Reply(text="# So far\n\nMuch was said, and all of it well.")

Answer = Callable[[Request], Reply]

# The body of the error, by who words it so; {asked} and {window} are numbers.
STYLES: dict[str, Any] = {
    "openai": {
        "error": {
            "message": "This model's maximum context length is {window} tokens. However, your messages "
            "resulted in {asked} tokens (12 in the functions). Please reduce the length of the messages.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    },
    "openai without numbers": {
        "error": {
            "message": "Your input exceeds the context window of this model. Please adjust your input and "
            "try again.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
    },
    "vllm": {
        "object": "error",
        "message": "This model's maximum context length is {window} tokens. However, you requested {asked} "
        "tokens in the messages, Please reduce the length of the messages.",
        "code": 400,
    },
    "llama.cpp": {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": "{asked}",
            "n_ctx": "{window}",
        }
    },
    "anthropic": {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "prompt is too long: {asked} tokens > {window} maximum",
        },
    },
    "gemini": [
        {
            "error": {
                "code": 400,
                "message": "The input token count ({asked}) exceeds the maximum number of tokens allowed "
                "({window}).",
                "status": "INVALID_ARGUMENT",
            }
        }
    ],
    "mistral": {
        "object": "error",
        "message": "Prompt contains {asked} tokens and 0 draft tokens, too large for model with {window} "
        "maximum context length",
        "type": "invalid_request_prompt",
    },
    "kimi": {
        "error": {
            "message": "Invalid request: Your request exceeded model token limit: {window} "
            "(requested: {asked})",
            "type": "invalid_request_error",
        }
    },
}


class SmallWindow:
    """Answers as `answer` does where the request fits into `window` tokens, of `letters` characters each.

    `longest` is what the longest request that fitted had, `refused` how many did not.
    """

    def __init__(
        self, window: int, answer: Answer, style: str = "openai", letters: float = 4.0, summary: Any = None
    ) -> None:
        self.window = window
        self.answer = answer
        self.style = style
        self.letters = letters
        self.summary = summary or (lambda _request: SUMMARY)
        self.longest = 0
        self.refused = 0
        self.summaries: list[Request] = []
        self.taken: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        check_valid(request.messages)
        asked = self.tokens(request)
        if asked > self.window:
            self.refused += 1
            return self.refusal(asked)
        self.longest = max(self.longest, asked)
        if not request.tools:
            self.summaries.append(request)
            return self.summary(request)
        self.taken.append(request)
        return self.answer(request)

    def tokens(self, request: Request) -> int:
        return int(len(json.dumps([request.messages, request.tools], ensure_ascii=False)) / self.letters)

    def refusal(self, asked: int) -> Reply:
        body = json.dumps(STYLES[self.style])
        for name, number in (("asked", asked), ("window", self.window)):
            body = body.replace(f'"{{{name}}}"', str(number)).replace(f"{{{name}}}", str(number))
        return Reply(status=400, body=json.loads(body))


def check_valid(messages: Sequence[Mapping[str, Any]]) -> None:
    """Raise AssertionError for a history that some endpoint refuses."""
    assert messages[0]["role"] == "system"
    assert messages[1]["role"] == "user"
    assert not {role for message in messages for role in message} - {
        "role", "content", "tool_calls", "tool_call_id", "reasoning_content"
    }  # fmt: skip
    open_calls: list[str] = []
    for message in messages[1:]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0), "results stand in order"
            assert message["content"], "no empty result"
            continue
        assert not open_calls, "every call is answered before anything else is said"
        assert message["content"] or message.get("tool_calls"), "nobody says nothing"
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    assert not open_calls
    assert messages[-1]["role"] in ("user", "tool")


def breaks(requests: Sequence[Request]) -> int:
    """How often a request did not start with the previous one."""
    return sum(
        list(later.messages[: len(sooner.messages)]) != list(sooner.messages)
        for sooner, later in itertools.pairwise(requests)
    )
