"""Goes on with an unfinished list: after an answer to a question, "continue", or a note during the work."""

from __future__ import annotations

import re

from chat.demo import steps
from chat.demo.demo_request import DemoRequest, Dialect, Item, Script
from chat.demo.heuristics import Heuristics
from chat.demo.scenarios import program, refactor
from chat.demo.words import doing, is_question, one_line
from chat.demo.work import Work

_LONGEST = 100  # characters; who writes more has new work in mind
_GO_ON = re.compile(
    r"\b(?:continue|go on|go ahead|carry on|proceed|resume|finish (?:it|the)"
    r"|keep (?:the|it|going|new|old|both)|(?:new|old) version)\b"
    r"|继续|接着做|保留|新版|旧版|用新|用旧",
    re.IGNORECASE,
)
_YES = re.compile(
    r"\W*(?:yes|ok|okay|sure|fine|(?:use |take )?the (?:new|old|first|second)(?: one)?"
    r"|好的?|可以|行|没问题|新的|旧的)"
    r"(?:,? (?:please|thanks))?\W*",
    re.IGNORECASE,
)
_GREETING = re.compile(r"\W*(?:hello|hi|hey|thanks|thank you|你好|您好|谢谢)\b", re.IGNORECASE)


def fits(desk: DemoRequest) -> bool:
    """Whether there is something unfinished and the message goes on with it."""
    if all(item.state == "done" for item in _left(desk)):
        return False
    if desk.history.joined and not is_question(desk.text) and not _GREETING.match(desk.text):
        return True
    return _goes_on(desk.text) and not steps.numbered(desk.text)


def script(desk: DemoRequest) -> Script[str]:
    """The list again, with what a note adds, and the rest of it done."""
    items = [*_left(desk), *_added(desk)]
    left = sum(item.state != "done" for item in items)
    opening = desk.say(f"Continuing with the list: {left} to go.", f"继续处理任务列表：还剩 {left} 项。")
    work = Work(desk, items)
    if refactor.is_ours(items) and desk.has("read_file", "edit_file"):
        return (yield from refactor.resumed(desk, work, opening))
    if program.is_ours(items) and desk.has("write_file"):
        return (yield from program.resumed(desk, work, opening))
    yield from work.start(opening) if desk.history.joined else work.restart(opening)
    return (yield from work.through(Heuristics(desk).do))


def _left(desk: DemoRequest) -> list[Item]:
    arguments = desk.history.last_list()
    dialect = desk.dialect or Dialect()
    return dialect.items(arguments) if arguments else []


def _goes_on(text: str) -> bool:
    return bool(_YES.fullmatch(text)) or (len(text) <= _LONGEST and bool(_GO_ON.search(text)))


def _added(desk: DemoRequest) -> list[Item]:
    """The items of a note that joined the work; a plain "go on" adds none."""
    if not desk.history.joined or _goes_on(desk.text):
        return []
    texts = steps.numbered(desk.text) or steps.listed(desk.text) or [one_line(desk.text)]
    return [Item(text, doing(text)) for text in texts]
