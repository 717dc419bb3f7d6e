"""Works on and forgets its list, until a reminder comes with a result; then updates the list at once."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Script, ask, files_listed
from chat.demo.reply import Call
from chat.demo.work import Work, signature

_ASKED = re.compile(r"\bforg[eo]t\w*|忘", re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:list|todos?|plan|tasks?|remind\w*)\b|提醒|列表|清单|任务|计划", re.IGNORECASE)

_MOST_ROUNDS = 25  # without a reminder; then it gives in and says so


def fits(desk: DemoRequest) -> bool:
    """Whether forgetting is asked for, with a list to forget and something to be busy with."""
    asked = bool(_ASKED.search(desk.text) and _ABOUT.search(desk.text))
    return asked and desk.dialect is not None and desk.has("read_file")


def script(desk: DemoRequest) -> Script[str]:
    """A list, many rounds of reading without a word about it, a reminder, the list brought up to date."""
    say = desk.say
    texts = say("Look around,Read everything line by line,Sum up", "看看工作区,逐行阅读所有文件,总结").split(
        ","
    )
    work = Work.planned(desk, texts)
    yield from work.start(
        say("First I'll make a plan. Then I'll forget about it.", "先列计划，然后我会忘记更新它。")
    )
    listing = yield from desk.look()
    rounds, reminded = yield from _read_on(desk, listing)
    if reminded:
        told = say("I got a reminder, so I'll update the list now.", "收到提醒，我马上更新列表。")
    else:
        told = say("No reminder came, so I'll update the list myself.", "没有收到提醒，我自己更新列表。")
    yield from work.tick(0, 1, text=told)
    yield from work.tick(2)
    return _closing(desk, rounds, reminded)


def _read_on(desk: DemoRequest, listing: str) -> Script[tuple[int, bool]]:
    """Read line after line, each a different call; how many there were, and whether a reminder came."""
    paths = files_listed(listing)[:3] or ["."]
    for count in range(_MOST_ROUNDS):
        place = {
            "path": paths[count % len(paths)],
            "offset": count // len(paths) + 1,
            "limit": 1 + count // 50,
        }
        results = yield from ask(Call("read_file", place))
        if any(result.reminded for result in results):
            return count + 1, True
    return _MOST_ROUNDS, False


def _closing(desk: DemoRequest, rounds: int, reminded: bool) -> str:
    came = (
        desk.say("then the reminder came", "然后收到了提醒")
        if reminded
        else desk.say("no reminder", "没有提醒")
    )
    return (
        desk.say(
            f"**Done: 3 of 3.**\n\n- {rounds} lines read without updating the list\n- {came}\n"
            "- the next call updated the list",
            f"**完成：3/3。**\n\n- 读了 {rounds} 行，一直没有更新列表\n- {came}\n- 下一次调用更新了列表",
        )
        + f"\n\n{signature(desk)}"
    )
