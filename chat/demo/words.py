"""The words and phrases in English and Chinese that the demo recognises."""

from __future__ import annotations

import re

_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")

# Verbs that can be requested, with their gerunds.
GERUNDS = {
    "add": "adding", "analyse": "analysing", "analyze": "analyzing", "append": "appending",
    "build": "building", "change": "changing", "check": "checking", "clean": "cleaning",
    "collect": "collecting",
    "compare": "comparing", "convert": "converting", "copy": "copying", "count": "counting",
    "create": "creating", "delete": "deleting", "describe": "describing", "document": "documenting",
    "draft": "drafting", "edit": "editing", "examine": "examining", "execute": "executing",
    "explore": "exploring", "explain": "explaining", "find": "finding", "fix": "fixing",
    "format": "formatting", "generate": "generating", "implement": "implementing", "improve": "improving",
    "inspect": "inspecting", "list": "listing", "look": "looking", "make": "making", "move": "moving",
    "note": "noting", "open": "opening", "organise": "organising", "organize": "organizing",
    "plan": "planning", "prepare": "preparing", "print": "printing", "read": "reading",
    "refactor": "refactoring", "remove": "removing", "rename": "renaming", "repair": "repairing",
    "report": "reporting", "review": "reviewing", "run": "running", "save": "saving", "scan": "scanning",
    "search": "searching", "send": "sending", "set": "setting", "show": "showing", "sort": "sorting",
    "study": "studying", "sum": "summing", "summarise": "summarising", "summarize": "summarizing",
    "test": "testing", "tidy": "tidying", "translate": "translating", "try": "trying",
    "update": "updating", "use": "using", "verify": "verifying", "work": "working", "write": "writing",
}  # fmt: skip

_WORK = re.compile(rf"\b(?:{'|'.join(GERUNDS)})\b", re.IGNORECASE)
_WORK_ZH = re.compile(
    r"看看|查看|浏览|阅读|读取?|写|创建|新建|生成|修复|修改|改|编辑|更新|运行|执行|测试|检查|分析|整理|总结|汇总|列出"
    r"|统计|重构|实现|制作|做|添加|增加|删除|搜索|查找|翻译|计划|规划|准备|比较|报告"
)
_POLITE = re.compile(
    r"\s*(?:please|(?:can|could|would|will) you)\b|.*(?:吗|好吗|行吗)[?？]\s*\Z", re.I | re.S
)
_FILE = re.compile(r"(?<![\w./-])(?!e\.g\b|i\.e\b)(?:[\w-]+/)*[\w-]+\.[A-Za-z]\w{0,4}(?![\w/])", re.ASCII)


def is_chinese(text: str) -> bool:
    """Whether to answer in Chinese: one CJK character is enough."""
    return bool(_CJK.search(text))


def asks_for_work(text: str) -> bool:
    return bool(_WORK.search(text) or _WORK_ZH.search(text))


def begins_with_work(text: str) -> bool:
    return bool(_WORK.match(text.lstrip()) or _WORK_ZH.match(text.lstrip()))


def is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？")) and not _POLITE.match(text)


def files_in(text: str) -> list[str]:
    return list(dict.fromkeys(_FILE.findall(text)))


def doing(text: str) -> str:
    if is_chinese(text):
        return f"正在{text}"
    first, _, rest = text.partition(" ")
    gerund = GERUNDS.get(first.lower())
    return f"{gerund.capitalize()} {rest}".rstrip() if gerund else f"Working on {text}"


def one_line(text: str, max_length: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_length else line[: max_length - 1].rstrip() + "…"
