"""Work without steps in it: one thing is just done, anything larger gets a small plan."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Item, Script
from chat.demo.heuristics import Heuristics
from chat.demo.scenarios.steps import worked
from chat.demo.words import asks_for_work, files_in, is_question
from chat.demo.work import signature

_FIX = re.compile(r"\b(fix|repair|bug)\b|修复|修正|错误", re.IGNORECASE)
_WRITE = re.compile(r"\b(write|create|draft|make|generate)\b|写|创建|新建|生成", re.IGNORECASE)
_ONE = re.compile(
    r"^\W*(?:please |can you |could you |请|帮我)?\s*"
    r"(?:read|open|show(?: me)?|run|list|阅?读取?|打开|查看|运行|列出)",
    re.I,
)
_TALK = re.compile(
    r"^\W*(?:what|who|how|why|when|where)\b.*\b(?:you|this site|this)\b"
    r"|(?:你|您)(?:是谁|能做什么|会做什么|会什么|可以做什么|好)",
    re.IGNORECASE,
)


def fits(desk: DemoRequest) -> bool:
    """Whether the message names work, or a file, rather than being talk."""
    named = files_in(desk.text)
    talk = is_question(desk.text) or _TALK.search(desk.text)
    return bool(named) or (asks_for_work(desk.text) and not talk)


def script(desk: DemoRequest) -> Script[str]:
    """The one thing, or a plan that suits it."""
    if _is_one_thing(desk):
        return (yield from _just_done(desk))
    return (yield from worked(desk, _plan(desk)))


def _is_one_thing(desk: DemoRequest) -> bool:
    asked = desk.text.rstrip().endswith(("?", "？"))
    named = bool(files_in(desk.text)) or "`" in desk.text
    return named and not _FIX.search(desk.text) and (asked or bool(_ONE.match(desk.text)))


def _just_done(desk: DemoRequest) -> Script[str]:
    outcome = yield from Heuristics(desk).do(Item(_as_command(desk)))
    said = desk.say("Here is the result", "结果如下")
    parts = [f"{said}: {outcome.text}", outcome.quote, signature(desk)]
    return "\n\n".join(part for part in parts if part)


def _as_command(desk: DemoRequest) -> str:
    """A question about a file is answered by reading it."""
    named = files_in(desk.text)
    return desk.text if "`" in desk.text or not named else f"read {' '.join(named)}"


def _plan(desk: DemoRequest) -> list[str]:
    say, named = desk.say, files_in(desk.text)
    if _FIX.search(desk.text):
        path = named[0] if named else "shop.py"
        plan = [say(f"Read {path}", f"阅读 {path}"), say(f"Fix the bug in {path}", f"修复 {path} 里的错误")]
        if desk.has("bash") and path.endswith(".py"):
            plan.append(say(f"Run `python3 {path}`", f"运行 `python3 {path}`"))
        return [*plan, say("Sum up", "总结")]
    if named and _WRITE.search(desk.text) and desk.has("write_file"):
        writes = [say(f"Write {path}", f"写 {path}") for path in named]
        return [say("Look around the workspace", "看看工作区"), *writes, say("Sum up", "总结")]
    read = (
        say(f"Read {', '.join(named)}", f"阅读 {'、'.join(named)}")
        if named
        else say("Read the files", "阅读文件")
    )
    plan = [say("Look around the workspace", "看看工作区"), read]
    if desk.has("write_file"):
        plan.append(say("Write a note about the files", "写一份关于文件的笔记"))
    return [*plan, say("Sum up", "总结")]
