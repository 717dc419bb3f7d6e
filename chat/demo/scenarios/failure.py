"""Runs a command that fails and reads a file that is missing, and says so."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Item, Result, Script
from chat.demo.work import Outcome, Work, quoted

_ASKED = re.compile(
    r"\b(?:fail\w*|broken|erroneous)\b.*\b(?:command|tool|call|step)s?\b|\b(?:command|tool|call)s?\b.*\bfail"
    r"|\bmissing\b.*\bfile\b|不存在的文件"
    r"|\b(?:show|demonstrate)\b.*\b(?:error|failure|fail)\b|失败的?.{0,4}(?:命令|工具|调用|操作)"
    r"|(?:命令|工具|调用).{0,4}失败|演示.{0,4}(?:失败|出错|报错)",
    re.IGNORECASE | re.DOTALL,
)
_COMMAND = "echo 'this is going to fail' >&2; exit 3"
_MISSING = "no-such-file.txt"


def fits(desk: DemoRequest) -> bool:
    """Whether a failure is asked for, and a tool is there that can fail."""
    return bool(_ASKED.search(desk.text)) and bool(desk.tools & {"bash", "read_file"})


def script(desk: DemoRequest) -> Script[str]:
    """Each failure is an item; the report says what went wrong, with the tool's own words."""
    say = desk.say
    runs, reads = (
        say("Run a command that fails", "运行一个会失败的命令"),
        say("Read a missing file", "读取一个不存在的文件"),
    )
    reports = say("Report what happened", "报告发生了什么")
    texts = [runs] * desk.has("bash") + [reads] * desk.has("read_file") + [reports]
    work = Work.planned(desk, texts)
    yield from work.start(say("Let me show you what failures look like.", "我来演示一下失败的情况。"))

    def do(item: Item) -> Script[Outcome]:
        if item.text == runs:
            return _report(desk, (yield from desk.run(_COMMAND)))
        if item.text == reads:
            return _report(desk, (yield from desk.read_files(_MISSING))[0])
        return Outcome(say("see above", "见上文"))

    return (yield from work.through(do))


def _report(desk: DemoRequest, result: Result) -> Outcome:
    if not result.failed:
        return Outcome(desk.say("it worked unexpectedly", "意外成功了"), quote=quoted(result.text))
    code = (
        desk.say(f" with exit code {result.exit_code}", f"，退出码 {result.exit_code}")
        if result.exit_code
        else ""
    )
    # The item was to fail, so it is done; what the tool said is shown as it came.
    return Outcome(desk.say(f"it failed{code}", f"失败了{code}"), quote=quoted(result.text))
