"""Runs a failing command and reads a missing file, and reports the errors."""

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


def fits(request: DemoRequest) -> bool:
    return bool(_ASKED.search(request.text)) and bool(request.tools & {"bash", "read_file"})


def script(request: DemoRequest) -> Script[str]:
    say = request.say
    run_item, read_item = (
        say("Run a command that fails", "运行一个会失败的命令"),
        say("Read a missing file", "读取一个不存在的文件"),
    )
    report_item = say("Report what happened", "报告发生了什么")
    texts = [run_item] * request.has("bash") + [read_item] * request.has("read_file") + [report_item]
    work = Work.planned(request, texts)
    yield from work.start(say("Let me show you what failures look like.", "我来演示一下失败的情况。"))

    def do(item: Item) -> Script[Outcome]:
        if item.text == run_item:
            return _report(request, (yield from request.run(_COMMAND)))
        if item.text == read_item:
            return _report(request, (yield from request.read_files(_MISSING))[0])
        return Outcome(say("see above", "见上文"))

    return (yield from work.run(do))


def _report(request: DemoRequest, result: Result) -> Outcome:
    if not result.failed:
        return Outcome(request.say("it worked unexpectedly", "意外成功了"), quote=quoted(result.text))
    code = (
        request.say(f" with exit code {result.exit_code}", f"，退出码 {result.exit_code}")
        if result.exit_code
        else ""
    )
    # The failure was the goal, so the item is done.
    return Outcome(request.say(f"it failed{code}", f"失败了{code}"), quote=quoted(result.text))
