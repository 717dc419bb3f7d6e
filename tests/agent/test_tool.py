"""Tools: made from typed functions, written out, or in the provider's format."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from chat.agent import Tool, ToolError, ToolResult, tool
from chat.agent.tool import as_tool
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import results, told
from tests.model_server import ScriptedModel


@tool
async def paint(
    what: str,
    colour: Literal["red", "blue"] = "red",
    coats: Annotated[int, Field(description="How many.", ge=1, le=3)] = 1,
) -> str:
    """Paint something.

    Dries within the hour.
    """
    return f"{what}: {coats} x {colour}"


def test_a_typed_function_becomes_a_tool_with_its_schema() -> None:
    assert paint.definition() == {
        "type": "function",
        "function": {
            "name": "paint",
            "description": "Paint something.\n\nDries within the hour.",
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "what": {"type": "string"},
                    "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                    "coats": {
                        "type": "integer",
                        "description": "How many.",
                        "minimum": 1,
                        "maximum": 3,
                        "default": 1,
                    },
                },
                "required": ["what"],
            },
        },
    }


async def test_defaults_and_conversions_apply() -> None:
    assert (await paint.call({"what": "door", "coats": "2"})).text == "door: 2 x red"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "Error: what: Field required"),
        ({"what": "door", "colour": "green"}, "Error: colour: Input should be 'red' or 'blue'"),
        ({"what": "door", "coats": 9}, "Error: coats: Input should be less than or equal to 3"),
        (
            {"coats": 0},
            "Error: what: Field required; coats: Input should be greater than or equal to 1",
        ),
    ],
)
async def test_arguments_that_do_not_fit_are_named(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ToolError) as caught:
        await paint.call(arguments)
    assert str(caught.value) == text


def test_name_and_description_may_be_given() -> None:
    @tool(name="now", description="The time.", repeatable=True)
    async def clock() -> str:
        return "noon"

    assert (clock.name, clock.description, clock.repeatable) == ("now", "The time.", True)
    assert clock.parameters["properties"] == {}


def test_a_function_that_is_not_async_is_no_tool() -> None:
    def add(a: int) -> int:
        return a

    with pytest.raises(TypeError, match="add must be an async function"):
        tool(add)  # type: ignore[arg-type]


def test_every_argument_needs_an_annotation() -> None:
    async def add(a) -> int:  # type: ignore[no-untyped-def]
        return int(a)

    with pytest.raises(TypeError, match="argument 'a' of tool add has no annotation"):
        tool(add)


def test_arguments_need_names_of_their_own() -> None:
    async def add(*numbers: int) -> int:
        return sum(numbers)

    with pytest.raises(TypeError, match=r"tool add takes \*numbers"):
        tool(add)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        ({"a": "ü"}, '{"a": "ü"}'),
        ([1, 2], "[1, 2]"),
        (None, "null"),
        (ToolResult("text", {"for": "the user"}), "text"),
    ],
)
async def test_what_a_tool_returns_becomes_text(value: Any, text: str) -> None:
    async def give() -> Any:
        return value

    assert (await Tool("give", "Give.", {"type": "object"}, give).call({})).text == text


async def test_a_written_out_tool_is_checked_against_its_schema() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    numbers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    added = Tool("add", "Add.", {"type": "object", "properties": numbers, "required": ["a", "b"]}, add)
    assert (await added.call({"a": 1, "b": 2})).text == "3"
    with pytest.raises(ToolError, match=r"^Error: a: 'x' is not of type 'integer'; arguments: 'b' is a req"):
        await added.call({"a": "x"})


PLAIN = {
    "type": "function",
    "function": {
        "name": "shout",
        "description": "Shout.",
        "strict": True,
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}


async def test_a_plain_dictionary_is_sent_as_it_is_and_runs_its_function(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    async def shout(text: str) -> str:
        return text.upper()

    model_server.script(Reply(tool_calls=[("shout", {"text": "hey"}), ("shout", {})]), Reply("ok"))
    await told(make_agent(tools=[{**PLAIN, "run": shout}]))
    assert model_server.requests[0]["tools"][1] == PLAIN
    assert results(model_server.requests[1]) == ["HEY", "Error: arguments: 'text' is a required property"]


async def test_a_plain_dictionary_without_code_can_be_offered_but_not_called(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("shout", {"text": "hey"})]), Reply("ok"))
    await told(make_agent(tools=[PLAIN]))
    assert results(model_server.requests[1]) == ["Error: this tool is declared without code to run it."]


def test_a_tool_of_the_providers_own_goes_by_its_type() -> None:
    assert as_tool({"type": "web_search"}).name == "web_search"
    assert as_tool({"type": "web_search"}).definition() == {"type": "web_search"}
