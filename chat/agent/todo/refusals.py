"""Why a list was refused, read back from what the model was told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import get_args

from chat.agent.prompts import Language, phrase
from chat.agent.todo.policy import POLICIES

OTHER = "other"
BY_READER = (
    "not_a_list",
    "not_an_object",
    "required",
    "not_text",
    "unknown_status",
    "too_many",
    "two_in_progress",
    "repeated_id",
    "second_write",
)
BY_CALL = ("not_json", "not_an_object", "cut", "not_run")
# As earlier versions said it, and old records still have it, behind the same prefixes.
_FORMERLY: dict[Language, dict[str, str]] = {
    "en": {},
    "zh": {
        "not_an_object": "第 {index} 项: 必须是一个对象",
        "required": "第 {index} 项: 缺少 {field}",
        "not_text": "第 {index} 项: {field} 必须是文本",
        "unknown_status": "第 {index} 项: 无效的任务状态 '{status}'",
        "too_many": "最多只能有 {maximum} 项任务",
        "two_in_progress": "同一时间只能有一项任务处于 in_progress",
        "repeated_id": "第 {index} 项: id '{id}' 重复",
    },
}
_FILLED = ("argument", "index", "field", "status", "states", "maximum", "id", "reason")
_END = 2000  # characters looked at of each end: what fills a gap may be long, and says nothing
_GAP = "\x00"  # stands for what a phrase is filled with; no text that is stored has one


def reason_of(told: str) -> str:
    """The reason in the text of a refusal, in any language and under any policy.

    One of BY_READER, or of BY_CALL as "call.cut"; "required" with the field that was missing, as in
    "required.activeForm"; OTHER for a text that is none of them.
    """
    told = told.strip()
    told = told if len(told) <= 2 * _END else told[:_END] + told[-_END:]
    for reason, pattern in _patterns():
        if found := pattern.fullmatch(told):
            return f"{reason}.{found['gap2']}" if reason == "required" else reason
    return OTHER


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    languages: tuple[Language, ...] = get_args(Language)
    told = [
        (key, phrase(language, "todo.refused", policy, reason=reason))
        for language in languages
        for policy in POLICIES
        for key, reason in _reasons(language, policy)
    ]
    told += [(f"call.{key}", _told(language, f"call.{key}")) for language in languages for key in BY_CALL]
    return [(key, _pattern(text)) for key, text in dict.fromkeys(told)]


def _reasons(language: Language, policy: str) -> Iterator[tuple[str, str]]:
    for key in BY_READER:
        yield key, _told(language, f"todo.{key}", policy)
    for key, words in _FORMERLY[language].items():
        yield key, words.format(**dict.fromkeys(_FILLED, _GAP))


def _told(language: Language, key: str, policy: str = "") -> str:
    return phrase(language, key, policy, **dict.fromkeys(_FILLED, _GAP))


def _pattern(text: str) -> re.Pattern[str]:
    """What the phrase may have become; its gaps are the groups gap1, gap2 ..."""
    first, *rest = map(re.escape, text.split(_GAP))
    gaps = (f"(?P<gap{number}>.*?){part}" for number, part in enumerate(rest, 1))
    return re.compile(first + "".join(gaps), re.DOTALL)
