"""How the demo reads a `TodoWrite` schema and writes its list by it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.translation import override

from chat.agent.prompts import Language, phrase
from chat.agent.todo import TodoList
from chat.agent.todo.tool import todo_tool
from chat.demo.demo_request import Dialect, History, Item, advanced
from chat.files.uploads import with_file_names

ITEMS = [Item("Read", "Reading", "done"), Item("Write", "Writing", "active"), Item("Run", "Running")]


def dialect(policy: str) -> Dialect:
    read = Dialect.read([todo_tool(TodoList(policy)).definition()])
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("policy", "argument", "row"),
    [
        ("focused", "items", {"content": "Write", "status": "in_progress", "activeForm": "Writing"}),
        ("lean", "todos", {"content": "Write", "status": "pending"}),
        ("checklist", "items", {"id": "2", "text": "Write", "status": "in_progress"}),
    ],
)
def test_a_list_is_written_as_its_schema_wants(policy: str, argument: str, row: dict[str, str]) -> None:
    arguments = dialect(policy).call(ITEMS).arguments
    assert isinstance(arguments, dict)
    assert arguments[argument][1] == row
    done = "done" if policy == "checklist" else "completed"
    assert [each["status"] for each in arguments[argument]] == [done, row["status"], "pending"]


@pytest.mark.parametrize("policy", ["focused", "lean", "checklist"])
def test_what_was_written_is_read_back(policy: str) -> None:
    read = dialect(policy)
    arguments = read.call(ITEMS).arguments
    assert isinstance(arguments, dict)
    again = read.items(arguments)
    assert [item.text for item in again] == ["Read", "Write", "Run"]
    assert [item.state for item in again] == ["done", "pending" if policy == "lean" else "active", "pending"]


def test_a_schema_with_references_and_a_smaller_list_is_understood() -> None:
    row = {"properties": {"text": {}, "status": {"$ref": "#/$defs/Status"}}}
    schema: dict[str, Any] = {
        "properties": {
            "note": {"type": "string"},
            "todos": {"type": "array", "items": {"$ref": "#/$defs/Row"}, "maxItems": 7},
        },
        "$defs": {"Row": row, "Status": {"enum": ["pending", "done"]}},
    }
    read = Dialect.read([{"type": "function", "function": {"name": "TodoWrite", "parameters": schema}}])
    assert read == Dialect("todos", "text", frozenset({"text", "status"}), "", "done", 7)


def test_no_todo_write_means_no_dialect() -> None:
    assert Dialect.read([{"type": "function", "function": {"name": "bash", "parameters": {}}}]) is None


def test_only_one_item_is_active() -> None:
    assert [item.state for item in advanced(ITEMS, done=[1], active=2)] == ["done", "done", "active"]


def test_history_reads_the_turn_in_hand_and_the_past() -> None:
    def call(name: str, arguments: str) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": function}],
        }

    def result(text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "a", "content": text}

    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "<reminder>Use TodoWrite.</reminder>\nfirst"},
        call("TodoWrite", '{"todos": [{"content": "x"}]}'),
        result("[ ] x"),
        call("TodoWrite", '{"todos": [{"content": "y", "status": "doing"}]}'),
        result("❌ refused"),
        {"role": "assistant", "content": "which one?"},
        {"role": "user", "content": [{"type": "text", "text": "second"}]},
        call("bash", "{broken"),
        result("<reminder>Update.</reminder>\nboom\n[exit code 3]"),
    ]
    history = History.read(messages)
    assert (history.text, history.joined, len(history.steps), len(history.past)) == ("second", False, 1, 2)
    assert history.last_list() == {"todos": [{"content": "x"}]}
    ((shell,),) = history.steps
    assert (shell.text, shell.reminded, shell.exit_code, shell.failed, shell.arguments) == (
        "boom\n[exit code 3]",
        True,
        3,
        True,
        {},
    )
    assert History.read(messages[:2]).text == "first"
    assert History.read([*messages[:4], messages[-3]]).joined
    assert History.read([]).text == ""


def test_a_file_that_speaks_of_an_exit_code_has_not_failed() -> None:
    function = {"name": "read_file", "arguments": "{}"}
    calls = [{"id": "a", "type": "function", "function": function}]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "read"},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "[exit code 3]"},
    ]
    assert not History.read(messages).steps[0][0].failed


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Summarise", ["uploads/a.txt"]),
        ("Summarise", ["uploads/a.txt", "uploads/two words.txt"]),
        ("", ["uploads/a.txt"]),
    ],
)
def test_uploaded_files_are_not_the_users_words(language: str, text: str, names: list[str]) -> None:
    with override(language):
        sent = with_file_names(text, names)
    history = History.read([{"role": "user", "content": sent}])
    assert (history.text, history.uploads) == (text, names)
    assert history.chinese == (language == "zh-hans" and not text), (
        "files alone are answered as the site speaks"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_pictures_of_results_are_not_the_users_words(language: Language) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    pictures = [{"type": "text", "text": phrase(language, "picture.results")}]
    history = History.read(
        [
            {"role": "user", "content": "What is in it?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "a.png"},
            {"role": "user", "content": pictures},
        ]
    )
    assert history.text == "What is in it?"
    assert not history.joined
    assert len(history.steps) == 1
