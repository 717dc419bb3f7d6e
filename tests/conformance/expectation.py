"""Whether a scenario came out as it must: in the rows, in the next request, and on the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import escape

from chat.models import Message, ModelSettings, Turn
from tests.conformance.scenario import Call, Scenario
from tests.conformance.validity import check_request
from tests.live.site import article

Body = Mapping[str, Any]


def check(scenario: Scenario, turn: Turn, page: str, requests: Sequence[Body], asked: int) -> None:
    """Raise AssertionError for whatever is not as the scenario says.

    `page` is the page as it was when the turn had ended, `asked` the number of requests that it had made.
    """
    _check_rows(scenario, turn)
    for request in requests:
        check_request(request)
    assert asked == (scenario.asks or asked)
    for number, fields in scenario.sent.items():
        request = requests[number - 1]
        assert {name: request.get(name) for name in fields} == fields
    _check_next_request(scenario, requests[-1]["messages"])
    _check_page(scenario, article(page, turn))


def _check_rows(scenario: Scenario, turn: Turn) -> None:
    assert (turn.status, turn.status_message) == (scenario.status, turn.status_message), turn.status_message
    assert scenario.sentence in turn.status_message
    assert bool(turn.status_message) == (turn.status != "completed")
    step = turn.steps.order_by("number").first()
    assert step
    message = step.messages.filter(role=Message.Role.ASSISTANT).first()
    stored = (message.text, message.reasoning) if message else ("", "")
    assert stored == (scenario.text, scenario.reasoning)
    assert message is None or message.complete
    calls = list(step.tool_calls.order_by("index"))
    assert [(call.name, call.status) for call in calls] == [
        (call.name, call.status) for call in scenario.calls
    ]
    for call, expected in zip(calls, scenario.calls, strict=True):
        assert expected.result in call.output
    counted = (step.input_tokens, step.output_tokens, step.cached_tokens, step.reasoning_tokens)
    expected = scenario.tokens or (None,) * len(counted)
    assert [one for one, wanted in zip(counted, expected, strict=True) if wanted is not None] == [
        wanted for wanted in expected if wanted is not None
    ]
    assert ModelSettings.objects.get().learned == scenario.learned


def _check_next_request(scenario: Scenario, messages: Sequence[Body]) -> None:
    """What the model reads in the second turn of the first one."""
    question = next(place for place, message in enumerate(messages) if message["role"] == "user")
    told = messages[question + 1 : -1]
    if not scenario.text.strip() and not scenario.calls:
        assert all(message["role"] != "assistant" for message in told[:1])
        return
    reply = told[0]
    assert reply["role"] == "assistant"
    assert (reply["content"] or "") == scenario.text
    _check_calls(scenario.calls, reply.get("tool_calls") or [])
    assert {name: reply.get(name) for name in scenario.back} == scenario.back
    results = told[1 : 1 + len(scenario.calls)]
    for call, result in zip(scenario.calls, results, strict=True):
        assert call.result in result["content"]


def _check_calls(expected: Sequence[Call], sent: Sequence[Body]) -> None:
    assert [_meaning(call) for call in sent] == [
        (call.back or call.name, dict(call.arguments)) for call in expected
    ]
    for call, other in zip(expected, sent, strict=True):
        assert call.id in ("", other["id"])


def _meaning(call: Body) -> tuple[str, Any]:
    return call["function"]["name"], json.loads(call["function"]["arguments"])


def _check_page(scenario: Scenario, turn: str) -> None:
    assert f'data-status="{scenario.status}"' in turn
    for shown in scenario.shows or [escape(scenario.text)]:
        assert shown in turn
    for hidden in scenario.hides:
        assert hidden not in turn
    assert str(escape(scenario.sentence)) in turn
    for call in scenario.calls:
        if call.name != "TodoWrite":
            assert f'data-tool="{escape(call.name)}" data-status="{call.status}"' in turn
