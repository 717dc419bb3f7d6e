"""Forgets its list while it works, and updates it when a reminder arrives."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Script, ask, files_listed
from chat.demo.reply import Call
from chat.demo.work import Work, signature

_ASKED = re.compile(r"\bforg[eo]t\w*|忘", re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:list|todos?|plan|tasks?|remind\w*)\b|提醒|列表|清单|任务|计划", re.IGNORECASE)

_MAX_ROUNDS = 25  # without a reminder


def fits(request: DemoRequest) -> bool:
    asked = bool(_ASKED.search(request.text) and _ABOUT.search(request.text))
    return asked and request.dialect is not None and request.has("read_file")


def script(request: DemoRequest) -> Script[str]:
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
    return _closing(request, rounds, reminded)


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


def _closing(request: DemoRequest, rounds: int, reminded: bool) -> str:
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
