"""Parses the steps in a message: numbered, bulleted, or in a sentence."""

from __future__ import annotations

import re

from chat.demo.words import asks_for_work, begins_with_work, files_in, is_chinese, is_question, one_line

_NUMERAL = r"[一二三四五六七八九十]{1,3}"
_LINE = re.compile(
    rf"^[ \t]*(?:[-*•·+](?=\s)|\(?\d{{1,2}}[.)、．）:：]|[①-⑳]|第{_NUMERAL}步?[，,：:、]?|{_NUMERAL}、"
    r"|step \d+\s*[:.)-])[ \t]*(.+)$",
    re.MULTILINE | re.IGNORECASE,
)
_INLINE = re.compile(
    rf"(?:^|(?<=[\s，,。；;：:]))\(?(?P<n>\d{{1,2}})[.)、．）](?!\d)\s*|第{_NUMERAL}步[，,：:、]?|[①-⑳]"
)
_THEN = re.compile(
    r"[,;.]?\s*\b(?:and then|and finally|then|after that|afterwards|next|finally|lastly)\b[,:]?\s*"
    r"|[，,；;。]?\s*(?:然后|接着|随后|之后|最后)(?:再)?[，,]?",
    re.IGNORECASE,
)
_COMMA = re.compile(r"\s*[;；，、]\s*|,\s+|。\s*(?=\S)|[.!]\s+(?=[A-Z])|\s*\n\s*")
_AND = re.compile(
    r"^(?:and|&|和|并且?|以及|再)\s*(?=\S)|(?<=\S)(?:\s+and\s+|以及|和(?!平|谐)|(?<!合|一)并且?(?!发|行))",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"`[^`\n]+`")
_PLACEHOLDERS = 0xE000  # private-use characters
_LEAD = re.compile(
    r"^(?:please|now|first|firstly|also|and|do|can you|could you|would you|i want you to|i'd like you to"
    r"|let's|the following|请你?|麻烦你?|帮我|给我|首先|现在|先|再|并|去|来|做(?=[A-Za-z0-9\s]))"
    r"[,:，：]?(?:\s+|(?<=[^a-z]))",
    re.IGNORECASE,
)
# Making the plan is not a step of it. A plan for something ("a travel plan") is work like any other.
_PLANNING = re.compile(
    r"^(?:(?:make|write|draw up|create|prepare|draft|give me|start with|begin with)\s+)?"
    r"(?:an?\s+|the\s+|your\s+)?"
    r"(?:(?:short|small|brief|detailed|clear)\s+)?(?:(?:task|work|step-by-step)\s+)?"
    r"(?:plan|(?:task|todo|to-do)\s+list|checklist)"
    r"(?:\s+of\s+(?:the\s+)?(?:tasks|steps|work))?(?:\s+it)?(?:\s+first)?$"
    r"|^plan\s+(?:it|everything|the\s+(?:work|tasks?|steps))(?:\s+out)?(?:\s+first)?$"
    r"|^(?:制定|创建|建立|新建|拟定|准备|生成|做|列|写|给)?(?:出|好|一)?(?:一?[个份张])?(?:一下)?"
    r"(?:(?:详细|简单|完整|清晰)的?)?(?:任务|工作|执行|行动|待办)?(?:事项)?(?:计划|规划|清单|(?:任务|待办)列表)(?:一下)?$"
    r"|^(?:计划|规划)(?:好|一下)?(?:任务|工作|步骤)$",
    re.IGNORECASE,
)


def numbered(text: str) -> list[str]:
    """The steps of a numbered or bulleted list, in lines or in a sentence; empty if there is only one."""
    lines = [_clean(step) for step in _LINE.findall(text)]
    return _steps(lines) or _steps(_inline(text))


def listed(text: str) -> list[str]:
    """The steps of a sentence, split at commas and "then"; empty if no part names work."""
    if not asks_for_work(text) or is_question(text):
        return []
    text, commands = _hide_commands(text)
    parts = [part for sentence in _THEN.split(_after_colon(text)) for part in _COMMA.split(sentence)]
    parts = [
        cleaned for part in _split_last_and(parts) if (cleaned := _restore_commands(_clean(part), commands))
    ]
    return _steps(parts) if _THEN.search(text) or any(map(_is_step, parts)) else []


def _hide_commands(text: str) -> tuple[str, list[str]]:
    commands = _COMMAND.findall(text)
    for index, command in enumerate(commands):
        text = text.replace(command, chr(_PLACEHOLDERS + index), 1)
    return text, commands


def _restore_commands(text: str, commands: list[str]) -> str:
    for index, command in enumerate(commands):
        text = text.replace(chr(_PLACEHOLDERS + index), command)
    return text


def _inline(text: str) -> list[str]:
    marks = list(_INLINE.finditer(text))
    numbers = [int(mark["n"]) for mark in marks if mark["n"]]
    if numbers and numbers != list(range(1, len(numbers) + 1)):
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [_clean(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)] if marks else []


def _split_last_and(parts: list[str]) -> list[str]:
    """Split an "and" where it joins the last two steps rather than two words of one."""
    non_empty = [part for part in parts if part.strip()]
    result: list[str] = []
    for index, part in enumerate(non_empty):
        halves = [half for half in _AND.split(part) if half and half.strip()]
        result += halves if _are_steps(halves, last=0 < index == len(non_empty) - 1) else [part]
    return result


def _are_steps(halves: list[str], last: bool) -> bool:
    """Whether an "and" joins two steps: the second is an instruction, or ends a list of short ones."""
    if len(halves) != 2:
        return False
    return begins_with_work(halves[1]) or (last and len(halves[1].split()) <= 3)


def _after_colon(text: str) -> str:
    head, colon, rest = text.partition("：" if "：" in text else ": ")
    return rest if colon and len(_COMMA.split(rest)) > 1 and len(head) < 60 else text


def _clean(part: str) -> str:
    step = one_line(part).strip(" \t,;，；。、?？!！").removesuffix(".")
    while (shorter := _LEAD.sub("", step, count=1)) != step:
        step = shorter
    step = _AND.sub("", step, count=1) if _AND.match(step) else step
    if _PLANNING.match(step):
        return ""
    files = files_in(step)
    return step if files and step.startswith(files[0]) else step[:1].upper() + step[1:]


def _steps(parts: list[str]) -> list[str]:
    steps = list(dict.fromkeys(part for part in parts if part))
    return steps if len(steps) > 1 else []


def _is_step(part: str) -> bool:
    return begins_with_work(part) or bool(files_in(part)) or (is_chinese(part) and asks_for_work(part))
