"""What planning took of a turn's tokens: of each call of the model its part, by what the endpoint counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import cast

from chat.agent.prompts import Language, text
from chat.agent.todo import TodoList, as_policy, todo_tool
from chat.agent.tokens import text_tokens, tools_tokens
from chat.models import Message, Step, ToolCall, Turn


def written_tokens(step: Step, calls: Iterable[ToolCall], said: Message | None) -> int:
    """The output tokens with which the step wrote its lists.

    Of its output without the reasoning that the endpoint counts apart, the part that names and arguments of
    its TodoWrite calls have of the bytes that came: text, names and arguments of all calls, and reasoning
    that was sent and not counted apart.
    """
    sizes = [(call.is_todo_write, _bytes(call.name, call.arguments)) for call in calls]
    lists = sum(size for is_list, size in sizes if is_list)
    rest = sum(size for is_list, size in sizes if not is_list)
    if said:
        rest += _bytes(said.text, "" if step.reasoning_tokens else said.reasoning)
    told = max(0, step.output_tokens - step.reasoning_tokens)
    return round(told * lists / (lists + rest)) if lists else 0


def offering_tokens(turn: Turn) -> int:
    """About how many tokens of every request of the turn offer planning: the tool, and how to go about it."""
    then = turn.profile_then
    language = cast(Language, then.get("language") or "en")
    return _offering_tokens(then.get("todo_policy") or "focused", language, then.get("max_todos") or 20)


@cache
def _offering_tokens(policy: str, language: Language, most: int) -> int:
    rules = dataclasses.replace(as_policy(policy), max_items=most)
    tool = todo_tool(TodoList(rules, language=language))
    return tools_tokens([tool.definition()]) + text_tokens(text(f"planning.{policy}", language).template)


def _bytes(*texts: str) -> int:
    return sum(len(each.encode()) for each in texts)
