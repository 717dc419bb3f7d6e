"""Work in steps: the user's own become the list; without any, a single action is done, or a plan is made."""

from __future__ import annotations

import re

from chat.demo import steps
from chat.demo.demo_request import DemoRequest, Item, Script
from chat.demo.heuristics import Heuristics
from chat.demo.words import asks_for_work, files_in, is_question, one_line
from chat.demo.work import ItemOutcome, Work, signature

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


def fits(request: DemoRequest) -> bool:
    files = files_in(request.text)
    talk = is_question(request.text) or _TALK.search(request.text)
    return bool(files or request.history.uploads) or (asks_for_work(request.text) and not talk)


def script(request: DemoRequest) -> Script[str]:
    changes = _FIX.search(request.text) or _WRITE.search(request.text)
    if request.history.uploads and not changes:
        return _result(request, (yield from Heuristics(request).sum_up()))
    if _is_one_thing(request):
        return _result(request, (yield from Heuristics(request).do(Item(_as_command(request)))))
    return (yield from run_steps(request, _plan(request)))


def _is_one_thing(request: DemoRequest) -> bool:
    is_question = request.text.rstrip().endswith(("?", "？"))
    has_target = bool(files_in(request.text)) or "`" in request.text
    return has_target and not _FIX.search(request.text) and (is_question or bool(_ONE.match(request.text)))


def _result(request: DemoRequest, outcome: ItemOutcome) -> str:
    heading = request.say("Here is the result", "结果如下")
    parts = [f"{heading}{request.colon}{outcome.text}", outcome.quote, signature(request)]
    return "\n\n".join(part for part in parts if part)


def _as_command(request: DemoRequest) -> str:
    files = files_in(request.text)
    return request.text if "`" in request.text or not files else f"read {' '.join(files)}"


def _plan(request: DemoRequest) -> list[str]:
    say, files, uploads = request.say, files_in(request.text), request.history.uploads
    if _FIX.search(request.text):
        path = next(iter([*files, *uploads]), "shop.py")
        plan = [say(f"Read {path}", f"阅读 {path}"), say(f"Fix the bug in {path}", f"修复 {path} 里的错误")]
        if request.has("bash") and path.endswith(".py"):
            plan.append(say(f"Run `python3 {path}`", f"运行 `python3 {path}`"))
        return [*plan, say("Sum up", "总结")]
    if uploads and not files:
        return [say("Read the attached files", "阅读附件"), one_line(request.text)]
    if files and _WRITE.search(request.text) and request.has("write_file"):
        writes = [say(f"Write {path}", f"写 {path}") for path in files]
        return [say("Look around the workspace", "看看工作区"), *writes, say("Sum up", "总结")]
    read = (
        say(f"Read {', '.join(files)}", f"阅读 {'、'.join(files)}")
        if files
        else say("Read the files", "阅读文件")
    )
    plan = [say("Look around the workspace", "看看工作区"), read]
    if request.has("write_file"):
        plan.append(say("Write a note about the files", "写一份关于文件的笔记"))
    return [*plan, say("Sum up", "总结")]


def has_numbered_steps(request: DemoRequest) -> bool:
    """A numbered or bulleted list, which takes precedence over all other scenarios but `resume`."""
    return bool(steps.numbered(request.text))


def run_numbered_steps(request: DemoRequest) -> Script[str]:
    return run_steps(request, steps.numbered(request.text))


def has_listed_steps(request: DemoRequest) -> bool:
    """Steps separated by commas and "then"."""
    return bool(steps.listed(request.text))


def run_listed_steps(request: DemoRequest) -> Script[str]:
    return run_steps(request, steps.listed(request.text))


def run_steps(request: DemoRequest, texts: list[str]) -> Script[str]:
    """Plan the steps and do them one after the other."""
    opening = request.say(
        f"That's {len(texts)} steps, so I'll start with a plan.",
        f"一共 {len(texts)} 个步骤，我先列出计划。",
    )
    work = Work.planned(request, texts)
    yield from work.start(opening)
    return (yield from work.run(Heuristics(request).do))
