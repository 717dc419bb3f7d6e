"""Continues an unfinished list after an answer, "continue", or a message during the work."""

from __future__ import annotations

import re

from chat.demo import steps
from chat.demo.demo_request import DemoRequest, Dialect, Item, Script, advanced
from chat.demo.heuristics import Heuristics
from chat.demo.scenarios import program, refactor
from chat.demo.words import doing, is_question, one_line
from chat.demo.work import Work

_MAX_LENGTH = 100  # characters; a longer message is a new request
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


def fits(request: DemoRequest) -> bool:
    if all(item.state == "done" for item in _last_items(request)):
        return False
    if request.history.joined and not is_question(request.text) and not _GREETING.match(request.text):
        return True
    return _is_continuation(request.text) and not steps.numbered(request.text)


def script(request: DemoRequest) -> Script[str]:
    items = [*_last_items(request), *_new_items(request)]
    remaining = sum(item.state != "done" for item in items)
    opening = request.say(
        f"Continuing with the list: {remaining} to go.", f"继续处理任务列表：还剩 {remaining} 项。"
    )
    work = Work(request, items)
    if refactor.is_ours(items) and request.has("read_file", "edit_file"):
        return (yield from refactor.resumed(request, work, opening))
    if request.history.joined and _has_just_worked(request):
        done = next(index for index, item in enumerate(items) if item.state != "done")
        work.items = advanced(items, [done])
    if program.is_ours(items) and request.has("write_file"):
        return (yield from program.resumed(request, work, opening))
    yield from work.start(opening) if request.history.joined else work.restart(opening)
    return (yield from work.run(Heuristics(request, request.history.latest_uploads()).do))


def _last_items(request: DemoRequest) -> list[Item]:
    arguments = request.history.last_list()
    dialect = request.dialect or Dialect()
    return dialect.items(arguments) if arguments else []


def _has_just_worked(request: DemoRequest) -> bool:
    """Whether the message came between the last call of an item and the list that ticks it off."""
    last = request.history.past[-1]
    return last.name in ("write_file", "edit_file", "bash") and not last.failed


def _is_continuation(text: str) -> bool:
    return bool(_YES.fullmatch(text)) or (len(text) <= _MAX_LENGTH and bool(_GO_ON.search(text)))


def _new_items(request: DemoRequest) -> list[Item]:
    if not request.history.joined or _is_continuation(request.text):
        return []
    told = one_line(request.text) or request.say("Read the attached files", "阅读附件")
    texts = steps.numbered(request.text) or steps.listed(request.text) or [told]
    return [Item(text, doing(text)) for text in texts]
