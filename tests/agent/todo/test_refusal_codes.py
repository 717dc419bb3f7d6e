"""A refused call is stored with the code of its reason."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from chat.agent import Limits, ToolCallEnded
from chat.agent.prompts import Language
from chat.agent.todo import POLICIES, TodoError, TodoList
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import PLAN, of, told
from tests.model_server import ScriptedModel

LANGUAGES = get_args(Language)
GOOD = {"content": "Look", "text": "Look", "status": "pending", "activeForm": "Looking", "id": "1"}


def code(policy: str, language: Language, arguments: Any) -> Any:
    """The code that is stored for invalid arguments."""
    with pytest.raises(TodoError) as refused:
        TodoList(policy, language=language).write(arguments)
    return refused.value.detail["refusal"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_reason_for_which_a_list_is_refused(policy: str, language: Language) -> None:
    field = POLICIES[policy].text_field
    refused = {
        "not_a_list": {"items": "Look"},
        "not_an_object": {"items": ["Look"]},
        f"required.{field}": {"items": [GOOD | {field: " "}]},
        "not_text": {"items": [GOOD | {field: [1]}]},
        "unknown_status": {"items": [GOOD | {"status": "it is required"}]},
        "too_many": {"items": [GOOD | {"id": str(number)} for number in range(21)]},
    }
    assert {reason: code(policy, language, arguments) for reason, arguments in refused.items()} == {
        reason: reason for reason in refused
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_only_some_policies_refuse(language: Language) -> None:
    assert code("focused", language, {"items": [GOOD | {"activeForm": ""}]}) == "required.activeForm"
    assert code("checklist", language, {"items": [GOOD | {"id": ""}]}) == "required.id"
    assert code("checklist", language, {"items": [GOOD, GOOD]}) == "repeated_id"
    busy = GOOD | {"status": "in_progress"}
    assert code("focused", language, {"items": [busy, busy]}) == "two_in_progress"
    assert code("lean", language, {"todos": [busy]}) == "unknown_status"


async def test_calls_that_are_refused_before_the_list_is_read(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    plan = ("TodoWrite", PLAN)
    model_server.script(
        Reply(tool_calls=[("TodoWrite", '{"items": [}'), ("TodoWrite", "[1]"), plan]),
        Reply(tool_calls=[plan, plan]),
        Reply(tool_calls=[("TodoWrite", '{"items": '), plan], finish_reason="length"),
    )
    events = await told(make_agent(limits=Limits(tool_calls=6)))
    refused = [event.result.detail.get("refusal") for event in of(ToolCallEnded, events)]
    assert refused[:2] == ["call.not_json", "second_write"]
    assert refused[3:] == [None, "second_write", "call.cut", "call.not_run"]
