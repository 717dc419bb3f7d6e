"""Mistakes on request: a forgotten list, a wrong status, a failing command."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Dialect, Item, Result, Script, ask, files_listed
from chat.demo.heuristics import Heuristics
from chat.demo.reply import Call
from chat.demo.work import ItemOutcome, Work, quoted, signature

_FORGET = re.compile(r"\bforg[eo]t\w*|忘", re.IGNORECASE)
_A_LIST = re.compile(r"\b(?:list|todos?|plan|tasks?|remind\w*)\b|提醒|列表|清单|任务|计划", re.IGNORECASE)

_MAX_ROUNDS = 25  # without a reminder


def asks_to_forget(request: DemoRequest) -> bool:
    asked = bool(_FORGET.search(request.text) and _A_LIST.search(request.text))
    return asked and request.dialect is not None and request.has("read_file")


def forget(request: DemoRequest) -> Script[str]:
    say = request.say
    texts = say("Look around,Read everything line by line,Sum up", "看看工作区,逐行阅读所有文件,总结").split(
        ","
    )
    work = Work.planned(request, texts)
    yield from work.start(
        say("First I'll make a plan. Then I'll forget about it.", "先列计划，然后我会忘记更新它。")
    )
    listing = yield from request.look()
    rounds, reminded = yield from _read_on(request, listing)
    if reminded:
        text = say("I got a reminder, so I'll update the list now.", "收到提醒，我马上更新列表。")
    else:
        text = say("No reminder came, so I'll update the list myself.", "没有收到提醒，我自己更新列表。")
    yield from work.tick(0, 1, text=text)
    yield from work.tick(2)
    return _forgotten_summary(request, rounds, reminded)


def _read_on(request: DemoRequest, listing: str) -> Script[tuple[int, bool]]:
    paths = files_listed(listing)[:3] or ["."]
    for count in range(_MAX_ROUNDS):
        arguments = {
            "path": paths[count % len(paths)],
            "offset": count // len(paths) + 1,
            "limit": 1 + count // 50,
        }
        results = yield from ask(Call("read_file", arguments))
        if any(result.reminded for result in results):
            return count + 1, True
    return _MAX_ROUNDS, False


def _forgotten_summary(request: DemoRequest, rounds: int, reminded: bool) -> str:
    ending = (
        request.say("then the reminder came", "然后收到了提醒")
        if reminded
        else request.say("no reminder", "没有提醒")
    )
    return (
        request.say(
            f"**Done: 3 of 3.**\n\n- {rounds} lines read without updating the list\n- {ending}\n"
            "- the next call updated the list",
            f"**完成：3/3。**\n\n- 读了 {rounds} 行，一直没有更新列表\n- {ending}\n- 下一次调用更新了列表",
        )
        + f"\n\n{signature(request)}"
    )


_WRONG_STATUS = re.compile(
    r"\b(?:wrong|invalid|bad|unknown)\b.*\bstatus\b|\bstatus\b.*\b(?:wrong|invalid)\b"
    r"|(?:错误|错|无效|不对|未知).{0,4}状态|状态.{0,4}(?:错|无效|不对)",
    re.IGNORECASE | re.DOTALL,
)


def asks_for_wrong_status(request: DemoRequest) -> bool:
    return bool(_WRONG_STATUS.search(request.text)) and request.dialect is not None


def write_wrong_status(request: DemoRequest) -> Script[str]:
    say = request.say
    texts = say("Look around the workspace,Read README.md,Sum up", "看看工作区,阅读 README.md,总结").split(
        ","
    )
    work = Work.planned(request, texts)
    text = say("I'll write the list with a status that doesn't exist.", "我先用一个不存在的状态来写列表。")
    (refused,) = yield from ask((request.dialect or Dialect()).call(work.items, {0: "doing"}), text=text)
    yield from work.start(say("That was rejected, so I'll correct it.", "列表被拒绝了，我来改正。"))
    closing = yield from work.run(Heuristics(request).do)
    heading = say("The first list got this error:", "第一份列表收到的错误是：")
    return f"{heading}\n\n{quoted(refused.text)}\n\n{closing}"


_FAILURE = re.compile(
    r"\b(?:fail\w*|broken|erroneous)\b.*\b(?:command|tool|call|step)s?\b|\b(?:command|tool|call)s?\b.*\bfail"
    r"|\bmissing\b.*\bfile\b|不存在的文件"
    r"|\b(?:show|demonstrate)\b.*\b(?:error|failure|fail)\b|失败的?.{0,4}(?:命令|工具|调用|操作)"
    r"|(?:命令|工具|调用).{0,4}失败|演示.{0,4}(?:失败|出错|报错)",
    re.IGNORECASE | re.DOTALL,
)
_COMMAND = "echo 'this is going to fail' >&2; exit 3"
_MISSING = "no-such-file.txt"


def asks_for_failure(request: DemoRequest) -> bool:
    return bool(_FAILURE.search(request.text)) and bool(request.tools & {"bash", "read_file"})


def fail(request: DemoRequest) -> Script[str]:
    say = request.say
    run_item, read_item = (
        say("Run a command that fails", "运行一个会失败的命令"),
        say("Read a missing file", "读取一个不存在的文件"),
    )
    report_item = say("Report what happened", "报告发生了什么")
    texts = [run_item] * request.has("bash") + [read_item] * request.has("read_file") + [report_item]
    work = Work.planned(request, texts)
    yield from work.start(say("Let me show you what failures look like.", "我来演示一下失败的情况。"))

    def do(item: Item) -> Script[ItemOutcome]:
        if item.text == run_item:
            return _failure_outcome(request, (yield from request.run(_COMMAND)))
        if item.text == read_item:
            return _failure_outcome(request, (yield from request.read_files(_MISSING))[0])
        return ItemOutcome(
            say("the errors are below; your files were not changed", "错误信息见下文；你的文件没有改动")
        )

    return (yield from work.run(do))


def _failure_outcome(request: DemoRequest, result: Result) -> ItemOutcome:
    if not result.failed:
        return ItemOutcome(request.say("it worked unexpectedly", "意外成功了"), quote=quoted(result.text))
    code = (
        request.say(f" with exit code {result.exit_code}", f"，退出码 {result.exit_code}")
        if result.exit_code
        else ""
    )
    # The failure was the goal, so the item is done.
    return ItemOutcome(request.say(f"it failed{code}", f"失败了{code}"), quote=quoted(result.text))
