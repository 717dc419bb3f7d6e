"""What an endpoint rejects by name is left out at once, and from then on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chat.agent.events import Text
from chat.agent.model import ModelError, Traits
from chat.agent.model.chat_model import ChatModel
from chat.demo.reply import Reply, Request, sse
from tests.model_server import ScriptedModel

USER = {"role": "user", "content": "hello"}
SYSTEM = {"role": "system", "content": "Be good."}
SEEN = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}
TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "strict": True,
        "parameters": {"type": "object", "additionalProperties": False},
    },
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
HISTORY = [
    USER,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "done"},
]


def openai_error(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def extra(*loc: str | int) -> dict[str, Any]:
    """A FastAPI or Mistral error, which echoes the request."""
    fault = {"type": "extra_forbidden", "loc": ["body", *loc], "msg": "Extra inputs are not permitted"}
    return {"detail": [{**fault, "input": "top_p temperature max_tokens"}]}


# Status, body, options and messages of the request, and what is learned, in the endpoints' own words;
# tests/conformance/test_requests.py has more.
REFUSALS: dict[str, tuple[int, Any, dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    "Kimi on temperature": (
        400,
        openai_error("invalid temperature: only 1 is allowed for this model"),
        {"temperature": 0.2},
        [USER],
        {"drop_params": ["temperature"]},
    ),
    "Azure, long ago": (
        400,
        openai_error("Unrecognized request argument supplied: stream_options"),
        {},
        [USER],
        {"drop_params": ["stream_options"]},
    ),
    "Mistral on stream_options": (
        422,
        extra("stream_options"),
        {},
        [USER],
        {"drop_params": ["stream_options"]},
    ),
    "vLLM in one text": (
        400,
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'parallel_tool_calls'), "
            "'msg': 'Extra inputs are not permitted', 'input': True}]",
        },
        {"parallel_tool_calls": True},
        [USER],
        {"drop_params": ["parallel_tool_calls"]},
    ),
    "Gemini in a list": (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "parallel_tool_calls": '
                    "Cannot find field.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        {"parallel_tool_calls": True},
        [USER],
        {"drop_params": ["parallel_tool_calls"]},
    ),
    "tool_choice": (
        400,
        openai_error("tool_choice is not supported for this model"),
        {"tool_choice": "auto"},
        [USER],
        {"drop_params": ["tool_choice"]},
    ),
    "OpenRouter on tool_choice": (
        404,
        {"error": {"message": "No endpoints found that support the provided 'tool_choice' value."}},
        {"tool_choice": "auto"},
        [USER],
        {"drop_params": ["tool_choice"]},
    ),
    "strict": (
        422,
        extra("tools", 0, "function", "strict"),
        {},
        [USER],
        {"drop_params": ["strict"]},
    ),
    "a template that refuses the system role": (
        500,
        {
            "error": {
                "code": 500,
                "message": "Jinja Exception: System role not supported",
                "type": "server_error",
            }
        },
        {},
        [SYSTEM, USER],
        {"system_role": "user"},
    ),
    "o1-mini": (
        400,
        openai_error(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "messages[0].role",
        ),
        {},
        [SYSTEM, USER],
        {"system_role": "user"},
    ),
    "Mistral on the user after a result": (
        400,
        {"object": "error", "message": "Unexpected role 'user' after role 'tool'"},
        {},
        [*HISTORY, USER],
        {"user_after_tool": False},
    ),
    "DeepSeek": (
        400,
        openai_error("The `reasoning_content` in the thinking mode must be passed back to the API."),
        {},
        HISTORY,
        {"echo_reasoning": "calls", "forbid_reasoning": False},
    ),
    "Kimi on reasoning": (
        400,
        openai_error(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"
        ),
        {},
        HISTORY,
        {"echo_reasoning": "calls", "forbid_reasoning": False},
    ),
    "Gemini 3": (
        400,
        [
            {
                "error": {
                    "message": "Function call is missing a thought_signature in functionCall parts. This is "
                    "required for tools to work correctly."
                }
            }
        ],
        {},
        HISTORY,
        {"thought_signature": True},
    ),
    "DeepSeek on images": (
        400,
        openai_error("Failed to deserialize: messages[0]: unknown variant `image_url`, expected `text`"),
        {},
        [SEEN],
        {"images": False},
    ),
    "OpenAI on images": (
        400,
        openai_error(
            "Invalid content type. image_url is only supported by certain models.", "messages.[0].content"
        ),
        {},
        [SEEN],
        {"images": False},
    ),
    "llama.cpp on images": (
        500,
        {"error": {"code": 500, "message": "image input is not supported - hint: you may need the mmproj"}},
        {},
        [SEEN],
        {"images": False},
    ),
    "Groq on images": (
        400,
        openai_error("'messages.0' : for 'role:user' ('messages.0.content' : value must be a string)"),
        {},
        [SEEN],
        {"images": False},
    ),
    "OpenRouter on images": (
        404,
        {"error": {"message": "No endpoints found that support image input", "code": 404}},
        {},
        [SEEN],
        {"images": False},
    ),
    "Gemini on schemas": (
        400,
        [
            {
                "error": {
                    "message": 'Invalid JSON payload received. Unknown name "additionalProperties" at '
                    "'tools[0].function_declarations[0].parameters': Cannot find field."
                }
            }
        ],
        {},
        [USER],
        {"simple_schemas": True},
    ),
}


@pytest.fixture
def learned() -> list[Mapping[str, Any]]:
    return []


@pytest.fixture
async def make(model_server: ScriptedModel, learned: list[Mapping[str, Any]]) -> Any:
    made: list[ChatModel] = []

    def make(**traits: Any) -> ChatModel:
        model = ChatModel(
            "m", model_server.base_url, "sk-secret", traits=Traits(**traits), on_learn=learned.append
        )
        made.append(model)
        return model

    yield make
    for model in made:
        await model.close()


async def said(model: ChatModel, *messages: Mapping[str, Any], tools: Any = (), **options: Any) -> str:
    deltas = [delta async for delta in model.stream(messages or (USER,), tools, options)]
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


@pytest.mark.parametrize("name", REFUSALS)
async def test_what_is_refused_by_name_is_done_without(
    make: Callable[..., ChatModel], model_server: ScriptedModel, learned: list[Any], name: str
) -> None:
    status, body, options, messages, changes = REFUSALS[name]
    model = make()
    model_server.script(Reply(status=status, body=body), Reply("There."), Reply("Again."))
    assert await said(model, *messages, tools=[TOOL], **options) == "There."
    assert learned == [changes]
    assert model.traits == Traits().but(changes)
    assert await said(model, *messages, tools=[TOOL], **options) == "Again."
    assert len(model_server.requests) == 3, "it is remembered"
    assert model_server.requests[1] == model_server.requests[2] != model_server.requests[0]


async def test_a_refusal_may_also_come_in_the_stream(
    make: Callable[..., ChatModel], model_server: ScriptedModel, learned: list[Any]
) -> None:
    refusal = openai_error("temperature is not supported")
    model_server.script(Reply(raw=sse(refusal)), Reply("There."))
    assert await said(make(), temperature=1) == "There."
    assert learned == [{"drop_params": ["temperature"]}]


async def test_reasoning_that_is_refused_does_not_go_again(
    make: Callable[..., ChatModel], model_server: ScriptedModel, learned: list[Any]
) -> None:
    model = make(echo_reasoning="calls")
    thought = {**HISTORY[1], "provider": model.endpoint, "reasoning_content": "hm"}
    refusal = openai_error("'messages.1' : property 'reasoning_content' is unsupported")
    model_server.script(Reply(status=400, body=refusal), Reply("There."))
    assert await said(model, USER, thought, HISTORY[2]) == "There."
    assert learned == [{"forbid_reasoning": True}]


async def test_several_things_are_learned_one_after_the_other(
    make: Callable[..., ChatModel], model_server: ScriptedModel, learned: list[Any]
) -> None:
    names = ["temperature", "top_p", "stream_options"]
    refusals = [
        Reply(status=400, body=openai_error(f"Unsupported parameter: '{name}'", name)) for name in names
    ]
    model_server.script(*refusals, Reply("There."))
    assert await said(make(), temperature=1, top_p=1) == "There."
    assert learned == [{"drop_params": names}]


async def test_an_endpoint_that_is_never_content_is_not_asked_for_ever(
    make: Callable[..., ChatModel], model_server: ScriptedModel, learned: list[Any]
) -> None:
    def moody(request: Request) -> Reply:
        name = "max_tokens" if "max_tokens" in request.body else "max_completion_tokens"
        return Reply(status=400, body=openai_error(f"'{name}' is not supported", name))

    model_server.answer = moody
    with pytest.raises(ModelError) as caught:
        await said(make(), max_tokens=10)
    assert caught.value.kind == "refused"
    assert [
        sorted(each.keys() & {"max_tokens", "max_completion_tokens"}) for each in model_server.requests
    ] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        [],
    ]
    assert learned == [], "what did not help is not remembered"


@pytest.mark.parametrize(
    "body",
    [
        openai_error("temperature must be between 0 and 1", "temperature"),
        openai_error("Your message about temperature was flagged"),
        openai_error(
            "Unsupported value: 'temperature' does not support 1.5. Supported values are: 0.5, 1.",
            "temperature",
        ),
        {
            "detail": [
                {"loc": ["body", "messages"], "msg": "Field required", "input": "temperature is unsupported"}
            ]
        },
        "<html>temperature is not supported</html>",
    ],
)
async def test_what_the_person_set_is_not_dropped_for_another_reason(
    make: Callable[..., ChatModel], model_server: ScriptedModel, learned: list[Any], body: Any
) -> None:
    model_server.script(Reply(status=400, body=body))
    with pytest.raises(ModelError) as caught:
        await said(make(), temperature=1.5)
    assert caught.value.kind == "refused"
    assert (len(model_server.requests), learned) == (1, [])


@pytest.mark.parametrize("status", [401, 403, 429])
async def test_a_refused_key_teaches_nothing(
    make: Callable[..., ChatModel], model_server: ScriptedModel, status: int
) -> None:
    model_server.script(
        Reply(status=status, body=openai_error("temperature is not supported", "temperature"))
    )
    with pytest.raises(ModelError):
        await said(make(), temperature=1)
    assert len(model_server.requests) == 1


NO_TOOLS = {
    "vLLM": (
        400,
        {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'},
    ),
    "OpenRouter": (
        404,
        {"error": {"message": "No endpoints found that support tool use. Try disabling it."}},
    ),
    "FastAPI": (422, extra("tools")),
    "Gemma at Google": (
        400,
        [{"error": {"message": "Function calling is not enabled for models/gemma-3-27b-it"}}],
    ),
}


@pytest.mark.parametrize("name", NO_TOOLS)
async def test_a_model_without_tools_is_named_as_such_and_known_from_then_on(
    make: Callable[..., ChatModel], model_server: ScriptedModel, learned: list[Any], name: str
) -> None:
    status, body = NO_TOOLS[name]
    model = make()
    model_server.script(Reply(status=status, body=body), Reply("There."))
    with pytest.raises(ModelError) as caught:
        await said(model, tools=[TOOL])
    assert (caught.value.kind, caught.value.retryable) == ("no_tools", False)
    assert learned == [{"tools": False}]
    assert await said(model, tools=[TOOL]) == "There."
    assert "tools" not in model_server.requests[1]
