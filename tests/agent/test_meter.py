"""Token estimates compared with the tokenizer of GPT-4o."""

from __future__ import annotations

import json
import time

import pytest

from chat.agent.meter import (
    MESSAGE_OVERHEAD,
    PICTURE,
    PICTURE_LOW,
    message_tokens,
    request_tokens,
    text_tokens,
    tools_tokens,
)

ENGLISH = (
    "The agent plans in the open, works with tools, and the plan stays as a record. A user may stop it at "
    "any time; what it did until then is kept, and the next message goes on from there."
)
PYTHON = '''def spent_by(turn: Turn) -> Spent:
    """What the turn has used of its limits so far; nothing for a new one."""
    steps = _finished_steps(turn)
    if not steps:
        return Spent()
    for step in steps:
        if step.reminder:
            rounds, reminders = 0, reminders + 1
    return Spent(len(steps), rounds=rounds)
'''
LISTING = '{"path":"src/app.py","size":18234,"lines":["import os","import sys"],"ok":true}'
CHINESE = "请先规划，再执行。这个项目的测试需要一个真实的数据库，而不是模拟的对象。完成以后告诉我结果。"
JAPANESE = "まず計画を立ててから実行してください。テストには本物のデータベースが必要です。"
KOREAN = "먼저 계획을 세우고 실행하세요. 테스트에는 실제 데이터베이스가 필요합니다."
RUSSIAN = "Сначала составьте план, затем выполняйте. Для тестов нужна настоящая база данных."

COUNTED = [
    (ENGLISH, 45),
    (PYTHON, 86),
    (LISTING, 25),
    (CHINESE, 27),
    (JAPANESE, 26),
    (KOREAN, 20),
    (RUSSIAN, 19),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED, ids=[text[:12] for text, _tokens in COUNTED])
def test_a_text_is_guessed_within_a_third(text: str, tokens: int) -> None:
    assert 0.75 * tokens <= text_tokens(text) <= 1.33 * tokens


def test_an_empty_text_has_none() -> None:
    assert text_tokens("") == 0


def test_a_long_text_of_any_kind_takes_no_long_time() -> None:
    began = time.process_time()
    for character in (" ", "\n", " \n", "a", "é", "中", "\U0001f600", "-"):
        text_tokens(character * 100_000)
    assert time.process_time() - began < 2


def test_a_message_counts_its_text_and_its_calls() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls -la"}'}}
    plain = message_tokens({"role": "assistant", "content": ENGLISH})
    assert plain == MESSAGE_OVERHEAD + text_tokens(ENGLISH)
    assert message_tokens({"role": "assistant", "content": None, "tool_calls": [call]}) > MESSAGE_OVERHEAD + 8
    assert message_tokens({"role": "assistant", "content": ENGLISH, "tool_calls": [call]}) > plain + 8


def test_arguments_count_also_where_they_are_an_object() -> None:
    def calling(arguments: object) -> dict[str, object]:
        return {"role": "assistant", "tool_calls": [{"function": {"name": "bash", "arguments": arguments}}]}

    assert message_tokens(calling({"command": "ls"})) == message_tokens(calling('{"command":"ls"}'))


def test_an_image_counts_as_one_and_not_by_the_length_of_its_data() -> None:
    image = {"url": "data:image/png;base64," + "iVBORw0K" * 10_000}
    parts = [{"type": "text", "text": ENGLISH}, {"type": "image_url", "image_url": image}]
    without = MESSAGE_OVERHEAD + text_tokens(ENGLISH)
    assert message_tokens({"role": "user", "content": parts}) == without + PICTURE
    parts[1] = {"type": "image_url", "image_url": {**image, "detail": "low"}}
    assert message_tokens({"role": "user", "content": parts}) == without + PICTURE_LOW


def test_fields_of_our_own_count_nothing() -> None:
    message = {"role": "assistant", "content": ENGLISH}
    assert message_tokens({**message, "reasoning_content": ENGLISH}) == message_tokens(message)


def test_a_request_counts_messages_and_tools() -> None:
    messages = [{"role": "system", "content": ENGLISH}, {"role": "user", "content": CHINESE}]
    tool = {"type": "function", "function": {"name": "bash", "description": ENGLISH, "parameters": {}}}
    assert tools_tokens([tool]) > text_tokens(ENGLISH)
    assert request_tokens(messages, [tool]) == sum(map(message_tokens, messages)) + tools_tokens([tool])
    assert request_tokens(messages) == request_tokens(messages, []) > 0
    assert text_tokens(json.dumps(tool)) * 0.7 < tools_tokens([tool]) < text_tokens(json.dumps(tool)) * 1.3
