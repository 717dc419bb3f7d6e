"""Writes a list with an invalid status, reads the error and corrects it."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Dialect, Script, ask
from chat.demo.heuristics import Heuristics
from chat.demo.work import Work, quoted

_ASKED = re.compile(
    r"\b(?:wrong|invalid|bad|unknown)\b.*\bstatus\b|\bstatus\b.*\b(?:wrong|invalid)\b"
    r"|(?:错误|错|无效|不对|未知).{0,4}状态|状态.{0,4}(?:错|无效|不对)",
    re.IGNORECASE | re.DOTALL,
)


def fits(request: DemoRequest) -> bool:
    return bool(_ASKED.search(request.text)) and request.dialect is not None


def script(request: DemoRequest) -> Script[str]:
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
