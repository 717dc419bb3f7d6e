"""What is wrong with an MCP server or its tool, in Chinese."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils.translation import override

from chat.agent.mcp.connection import fault_of
from chat.agent.mcp.definition import MAX_DEPTH, MAX_SCHEMA, Definition
from chat.agent.mcp.server import ServerError
from chat.connections.mcp_sentence import TEMPLATES, mcp_sentence


def nested(depth: int) -> dict[str, Any]:
    return {"properties": {"a": nested(depth - 1)}} if depth else {}


@pytest.mark.parametrize(
    "error",
    [
        OSError("refused"),
        TimeoutError(),
        ValueError("?"),
        RuntimeError("?"),
        ServerError("The connection ended."),
    ],
)
def test_problems_of_servers(error: Exception) -> None:
    sentence = fault_of(error).sentence
    assert mcp_sentence(sentence) == sentence
    with override("zh-hans"):
        assert re.fullmatch(r"[^a-z]+。", mcp_sentence(sentence).replace("MCP", ""))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"$ref": "#/x"},
        {"properties": {"a": {"$ref": "https://example.org"}}},
        {"properties": {"a": 1}},
        {"description": "x" * MAX_SCHEMA},
        nested(2 * MAX_DEPTH),
    ],
)
def test_definitions_that_are_refused(schema: dict[str, Any]) -> None:
    problem = Definition.read("tool", "", schema).problem
    assert problem
    assert mcp_sentence(problem) == problem
    with override("zh-hans"):
        assert mcp_sentence(problem).startswith("参数 schema")


@pytest.mark.parametrize("template", TEMPLATES)
def test_values_are_kept(template: str) -> None:
    sentence = re.sub(r"%\(\w+\)s", "x (1%)", template)
    assert mcp_sentence(sentence) == sentence
    with override("zh-hans"):
        assert mcp_sentence(sentence).count("x (1%)") == sentence.count("x (1%)")
        assert re.search(r"[\u4e00-\u9fff]", mcp_sentence(sentence))


def test_other_sentences_stay_as_they_are() -> None:
    with override("zh-hans"):
        assert mcp_sentence("Something else.") == "Something else."
