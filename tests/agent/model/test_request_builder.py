"""Requests are valid for any history, and fit the endpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.agent.model.protocol import Delta, ToolCallDelta
from chat.agent.model.request_builder import NO_RESULT, RequestBuilder, plain_schema
from chat.agent.model.traits import Traits

HERE, ELSEWHERE = "https://here.example/v1", "https://elsewhere.example/v1"
NAMES = ["bash", "read_file", "TodoWrite", "f<|channel|>commentary", "读", "", "x" * 80]
IDS = ["call_1", "call_2", "functions.bash:0", "search:0", "", "a" * 60, "Ab3dE6gH9", "ид"]
PRIVATE = {"provider", "reasoning_content", "extra"}

providers = st.sampled_from([HERE, ELSEWHERE, None])
texts = st.sampled_from(["", " ", "hello", "好", None])
arguments = st.sampled_from(["{}", "", '{"a": 1}', "[1]", '{"a": ', '"{\\"a\\": 1}"', "null", "{'a': 1}"])


@st.composite
def assistants(draw: Any) -> dict[str, Any]:
    """Assistant messages with calls and provider-specific fields."""
    message: dict[str, Any] = {"role": "assistant", "content": draw(texts)}
    calls = draw(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(NAMES), arguments), max_size=3))
    if calls:
        message["tool_calls"] = [
            {
                "id": identity,
                "type": "function",
                "function": {"name": name, "arguments": given},
                **draw(st.sampled_from([{}, {"extra_content": {"google": {"thought_signature": "s"}}}])),
            }
            for identity, name, given in calls
        ]
    own = {
        "provider": draw(providers),
        "reasoning_content": draw(st.sampled_from(["", "hm"])),
        "extra": draw(st.sampled_from([{}, {"reasoning_details": [{"text": "hm"}], "odd": 1}])),
    }
    return {**message, **{name: value for name, value in own.items() if value}}


pictures = st.just([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}])
users = st.builds(lambda content: {"role": "user", "content": content}, st.one_of(st.just("go on"), pictures))
results = st.builds(
    lambda identity, content: {"role": "tool", "tool_call_id": identity, "content": content},
    st.sampled_from(IDS),
    st.sampled_from(["", "done"]),
)
systems = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["system", "developer"]),
    st.sampled_from(["Be good.", ""]),
)
histories = st.lists(st.one_of(assistants(), users, results, systems), max_size=14)

all_traits = st.builds(
    Traits,
    echo_reasoning=st.sampled_from(["never", "calls", "always"]),
    forbid_reasoning=st.booleans(),
    content_with_reasoning=st.booleans(),
    thought_signature=st.booleans(),
    id_style=st.sampled_from(["native", "alnum9", "functions"]),
    system_role=st.sampled_from(["system", "user"]),
    user_after_tool=st.booleans(),
    alternate=st.booleans(),
    tools=st.booleans(),
    images=st.booleans(),
)


def faults(messages: Sequence[dict[str, Any]], traits: Traits) -> list[str]:
    """The errors that an endpoint with these traits would report about the messages."""
    return [*_of_form(messages), *_of_calls(messages), *_of_traits(messages, traits)]


def _of_form(messages: Sequence[dict[str, Any]]) -> list[str]:
    found = []
    for place, message in enumerate(messages):
        if PRIVATE & message.keys() - {"reasoning_content"} or "odd" in message:
            found.append(f"{place} carries what is nobody's business")
        if message["role"] not in ("system", "user", "assistant", "tool"):
            found.append(f"{place} is by {message['role']}")
        if message["role"] == "system" and place:
            found.append(f"{place} is a system message that does not lead")
        if message["role"] == "assistant" and not (message.get("content") or message.get("tool_calls")):
            found.append(f"{place} says nothing")
    return found


def _of_calls(messages: Sequence[dict[str, Any]]) -> list[str]:
    found, open_ids = [], []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                found.append(f"{place} answers no call")
            else:
                open_ids.remove(message["tool_call_id"])
            if not message["content"]:
                found.append(f"{place} is an empty result")
            continue
        if open_ids:
            found.append(f"{place} comes before {open_ids} are answered")
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
        found += [f"{place} has {each}" for call in message.get("tool_calls", ()) for each in _of_call(call)]
        if len(set(open_ids)) < len(open_ids):
            found.append(f"{place} uses an id twice")
    return [*found, *(["unanswered at the end"] if open_ids else [])]


def _of_call(call: dict[str, Any]) -> list[str]:
    found = []
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["function"]["name"]):
        found.append("a name that no endpoint takes")
    if not isinstance(json.loads(call["function"]["arguments"]), dict):
        found.append("arguments that are no object")
    return found if call["id"] else [*found, "no id"]


def _of_traits(messages: Sequence[dict[str, Any]], traits: Traits) -> list[str]:
    found = []
    pairs = list(pairwise(messages))
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    if not traits.tools and (calls or any(message["role"] == "tool" for message in messages)):
        found.append("tools, where there are none")
    if traits.id_style == "alnum9" and not all(re.fullmatch("[A-Za-z0-9]{9}", call["id"]) for call in calls):
        found.append("an id that is not of 9 letters and digits")
    if not traits.user_after_tool and any((a["role"], b["role"]) == ("tool", "user") for a, b in pairs):
        found.append("a user right after a result")
    if traits.alternate and any(
        a["role"] == b["role"] != "tool" and not b.get("tool_calls") for a, b in pairs
    ):
        found.append("a role twice in a row")
    if traits.system_role == "user" and any(message["role"] == "system" for message in messages):
        found.append("a system message")
    if not traits.images and "image_url" in json.dumps(messages):
        found.append("an image")
    if traits.forbid_reasoning and re.search("reasoning_content|reasoning_details", json.dumps(messages)):
        found.append("reasoning")
    return [*found, *_of_echo(messages, traits)]


def _of_echo(messages: Sequence[dict[str, Any]], traits: Traits) -> list[str]:
    asked = {"never": (), "calls": ("tool_calls",), "always": ("role",)}[traits.echo_reasoning]
    found = []
    for message in messages:
        wanted = message["role"] == "assistant" and any(name in message for name in asked)
        lets = not traits.forbid_reasoning
        if "reasoning_content" in message and not (wanted and lets):
            found.append("reasoning that nobody asked for")
        both = bool(message.get("content")) and not traits.content_with_reasoning
        if wanted and lets and not both and "reasoning_content" not in message:
            found.append("no reasoning where it is demanded")
    return found


SYSTEM = {"role": "system", "content": "Be good."}
USER = {"role": "user", "content": "hello"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
TOOL = {"type": "function", "function": {"name": "bash", "strict": True, "parameters": {"type": "object"}}}


def called(identity: str = "call_1", name: str = "bash", **own: Any) -> dict[str, Any]:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **own}


def answered(identity: str = "call_1", content: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def sent(*messages: dict[str, Any], **traits: Any) -> list[dict[str, Any]]:
    return RequestBuilder("m", HERE, Traits(**traits)).messages(messages)


def body(*tools: dict[str, Any], traits: Traits | None = None, **options: Any) -> dict[str, Any]:
    return RequestBuilder("m", HERE, traits or Traits()).body([USER], tools, options)


@settings(max_examples=400, deadline=None)
@given(history=histories, traits=all_traits)
def test_any_history_becomes_a_request_that_is_valid(history: list[dict[str, Any]], traits: Traits) -> None:
    assert faults(RequestBuilder("m", HERE, traits).messages(history), traits) == []


@settings(max_examples=150, deadline=None)
@given(history=histories, traits=all_traits)
def test_what_was_sent_does_not_change_when_the_person_says_more(
    history: list[dict[str, Any]], traits: Traits
) -> None:
    """Keeps the endpoint's prompt cache valid."""
    builder = RequestBuilder("m", HERE, traits)
    before = builder.messages([SYSTEM, USER, *(each for each in history if each["role"] != "system")])
    longer = builder.messages([SYSTEM, USER, *(each for each in history if each["role"] != "system"), USER])
    assert longer[: len(before) - 1] == before[:-1]


@settings(max_examples=100, deadline=None)
@given(history=histories)
def test_fitting_what_fits_changes_nothing(history: list[dict[str, Any]]) -> None:
    once = sent(*sent(*history))
    assert sent(*once) == once


def test_a_call_without_a_result_is_closed_and_a_result_without_a_call_is_left_out() -> None:
    assert sent(USER, called(), USER, answered("other")) == [
        USER,
        called(),
        {"role": "tool", "tool_call_id": "call_1", "content": NO_RESULT},
        USER,
    ]


def test_an_id_that_is_used_in_two_turns_is_answered_in_both() -> None:
    history = [called("search:0"), answered("search:0", "a"), called("search:0"), answered("search:0", "b")]
    assert sent(*history) == history


def test_all_that_the_program_says_leads_in_one_message() -> None:
    later = {"role": "developer", "content": "Be brief."}
    assert sent(USER, SYSTEM, later)[0] == {"role": "system", "content": "Be good.\n\nBe brief."}


def test_where_no_system_message_is_taken_the_persons_first_carries_it() -> None:
    assert sent(SYSTEM, USER, system_role="user") == [{"role": "user", "content": "Be good.\n\nhello"}]
    assert sent(SYSTEM, system_role="user") == [{"role": "user", "content": "Be good."}]


def test_reasoning_goes_back_to_whom_it_came_from_and_only_where_it_is_demanded() -> None:
    own = called(provider=HERE, reasoning_content="hm")
    said = {"role": "assistant", "content": "a", "provider": HERE, "reasoning_content": "hm"}
    history = (own, answered(), said)
    assert [each.get("reasoning_content") for each in sent(*history)] == [None, None, None]
    assert [each.get("reasoning_content") for each in sent(*history, echo_reasoning="calls")] == [
        "hm",
        None,
        None,
    ]
    assert sent(*history, echo_reasoning="always")[2]["reasoning_content"] == "hm"


def test_reasoning_that_is_demanded_is_there_though_empty_and_nobody_elses() -> None:
    history = (called(), answered(), called(provider=ELSEWHERE, reasoning_content="hm"), answered())
    fitted = sent(*history, echo_reasoning="calls")
    assert [each["reasoning_content"] for each in fitted if "tool_calls" in each] == ["", ""]


def test_reasoning_may_have_a_field_of_another_name() -> None:
    fitted = sent(
        called(provider=HERE, reasoning_content="hm"), echo_reasoning="calls", reasoning_field="reasoning"
    )
    assert fitted[0]["reasoning"] == "hm"


def test_where_text_and_thought_exclude_each_other_the_text_stays() -> None:
    own = {**called(provider=HERE, reasoning_content="hm"), "content": "I look."}
    fitted = sent(own, echo_reasoning="calls", content_with_reasoning=False)
    assert (fitted[0]["content"], "reasoning_content" in fitted[0]) == ("I look.", False)


def test_a_providers_own_fields_go_back_to_it_alone() -> None:
    def history(provider: str) -> dict[str, Any]:
        message = called(provider=provider, extra={"reasoning_details": [{"data": "x"}], "odd": 1})
        message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "s"}}
        return message

    here, elsewhere = sent(history(HERE))[0], sent(history(ELSEWHERE))[0]
    assert here["reasoning_details"] == [{"data": "x"}]
    assert here["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}
    assert here.keys() == {"role", "content", "tool_calls", "reasoning_details"}
    assert elsewhere == called()


def test_nothing_of_the_reasoning_goes_where_it_is_refused() -> None:
    own = called(provider=HERE, reasoning_content="hm", extra={"reasoning_details": [{"data": "x"}]})
    assert sent(own, echo_reasoning="always", forbid_reasoning=True)[0] == called()


def test_a_call_without_its_signature_has_the_one_that_stands_for_none() -> None:
    signed = called(provider=HERE)
    signed["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "own"}}
    fitted = sent(called(), answered(), signed, answered(), thought_signature=True)
    signatures = [
        message["tool_calls"][0]["extra_content"]["google"]["thought_signature"]
        for message in fitted
        if "tool_calls" in message
    ]
    assert signatures == ["skip_thought_signature_validator", "own"]


def test_ids_go_back_as_the_endpoint_made_them() -> None:
    fitted = sent(called("functions.bash:0", provider=HERE), answered("functions.bash:0"))
    assert (fitted[0]["tool_calls"][0]["id"], fitted[1]["tool_call_id"]) == ("functions.bash:0",) * 2


@pytest.mark.parametrize(
    ("style", "form"),
    [("native", r"call_[0-9a-f]{24}"), ("alnum9", r"[A-Za-z0-9]{9}"), ("functions", r"functions\.bash:0")],
)
def test_ids_of_others_are_made_to_fit_in_call_and_result(style: str, form: str) -> None:
    fitted = sent(called("toolu.1/ä", provider=ELSEWHERE), answered("toolu.1/ä"), id_style=style)
    identity = fitted[0]["tool_calls"][0]["id"]
    assert re.fullmatch(form, identity)
    assert fitted[1]["tool_call_id"] == identity


def test_a_person_never_follows_a_result_where_that_is_refused() -> None:
    roles = [each["role"] for each in sent(called(), answered(), USER, user_after_tool=False)]
    assert roles == ["assistant", "tool", "assistant", "user"]


def test_what_stands_between_has_reasoning_where_that_is_demanded() -> None:
    fitted = sent(called(), answered(), USER, user_after_tool=False, echo_reasoning="always")
    assert [each.get("reasoning_content") for each in fitted] == ["", None, "", None]


def test_roles_take_turns_where_they_must() -> None:
    said = {"role": "assistant", "content": "a"}
    fitted = sent(USER, USER, said, said, alternate=True)
    assert [(each["role"], each["content"]) for each in fitted] == [
        ("user", "hello\n\nhello"),
        ("assistant", "a\n\na"),
    ]


def test_images_are_named_as_left_out_for_a_model_that_cannot_see() -> None:
    seen = {"role": "user", "content": [{"type": "text", "text": "look"}, PICTURE]}
    assert sent(seen) == [seen]
    assert sent(seen, images=False) == [
        {"role": "user", "content": "look\n[An image was left out here: this model cannot see images.]"}
    ]


def test_without_tools_what_was_done_with_them_is_told_in_words() -> None:
    fitted = sent(USER, {**called(), "content": "I look."}, answered(content="two files"), tools=False)
    assert fitted == [
        USER,
        {"role": "assistant", "content": "I look.\n[Used bash with {}]"},
        {"role": "user", "content": "[Result of bash]\ntwo files"},
    ]


def test_without_tools_the_request_speaks_of_none() -> None:
    asked = body(TOOL, traits=Traits(tools=False), tool_choice="auto", parallel_tool_calls=False)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & asked.keys()


def test_parameters_that_are_not_taken_are_left_out_also_within_tools() -> None:
    traits = Traits(drop_params=("temperature", "stream_options", "strict"))
    asked = body(TOOL, traits=traits, temperature=0.2, top_p=0.9)
    assert not {"temperature", "stream_options"} & asked.keys()
    assert asked["top_p"] == 0.9
    assert "strict" not in asked["tools"][0]["function"]


@pytest.mark.parametrize("given", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("wanted", ["max_tokens", "max_completion_tokens", ""])
def test_the_longest_reply_has_the_name_that_is_known_there(given: str, wanted: Any) -> None:
    asked = body(traits=Traits(max_tokens_param=wanted), **{given: 100})
    assert {name: asked[name] for name in asked if "max" in name} == ({wanted: 100} if wanted else {})


def test_no_longest_reply_is_asked_for_by_itself() -> None:
    assert not {"max_tokens", "max_completion_tokens"} & body().keys()


def test_names_of_tools_are_made_to_fit_and_taken_back() -> None:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {}}}
        for name in ("файл.читать", "файл.писать", "x" * 70, "plain")
    ]
    builder = RequestBuilder("m", HERE, Traits())
    names = [each["function"]["name"] for each in builder.body([USER], tools, {})["tools"]]
    assert names == ["_" * 11, "_" * 11 + "_2", "x" * 64, "plain"]
    back: list[Delta] = [builder.read(ToolCallDelta(0, "1", name)) for name in names]
    assert [each.name for each in back if isinstance(each, ToolCallDelta)] == [
        "файл.читать",
        "файл.писать",
        "x" * 70,
        "plain",
    ]


def test_no_more_tools_are_sent_than_are_taken() -> None:
    tools = [{"type": "function", "function": {"name": f"t{number}"}} for number in range(200)]
    assert len(body(*tools)["tools"]) == 128


def test_a_tool_always_has_an_object_with_properties() -> None:
    asked = body({"type": "function", "function": {"name": "f"}})
    assert asked["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_references_choices_and_constraints_are_put_in_place_or_left_out() -> None:
    schema = {
        "$schema": "x",
        "type": "object",
        "additionalProperties": False,
        "$defs": {"Size": {"type": "integer", "minimum": 1, "description": "How large"}},
        "properties": {
            "size": {"$ref": "#/$defs/Size"},
            "maybe": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "default": None},
            "both": {"type": ["string", "null"]},
            "list": {"type": "array"},
            "fixed": {"const": "a"},
            "number": {"enum": [1, 2]},
        },
        "required": ["size", "gone"],
    }
    integer = {"type": "integer", "description": "How large"}
    assert plain_schema(schema) == {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": integer,
            "maybe": {**integer, "nullable": True},
            "both": {"type": "string", "nullable": True},
            "list": {"type": "array", "items": {"type": "string"}},
            "fixed": {"enum": ["a"]},
            "number": {},
        },
    }


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    schema = {
        "type": "object",
        "$defs": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}},
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
    }
    assert plain_schema(schema)["properties"]["tree"]["type"] == "object"


def test_an_empty_schema_has_properties() -> None:
    assert plain_schema({}) == {"type": "object", "properties": {}}
