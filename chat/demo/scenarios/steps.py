"""The person's own steps, numbered or in a sentence, become the list."""

from __future__ import annotations

from chat.demo import steps
from chat.demo.demo_request import DemoRequest, Script
from chat.demo.heuristics import Heuristics
from chat.demo.work import Work


class Numbered:
    """A numbered or bulleted list; it goes before every other reading of the message."""

    @staticmethod
    def fits(desk: DemoRequest) -> bool:
        return bool(steps.numbered(desk.text))

    @staticmethod
    def script(desk: DemoRequest) -> Script[str]:
        return worked(desk, steps.numbered(desk.text))


class Listed:
    """Steps after commas and "then"."""

    @staticmethod
    def fits(desk: DemoRequest) -> bool:
        return bool(steps.listed(desk.text))

    @staticmethod
    def script(desk: DemoRequest) -> Script[str]:
        return worked(desk, steps.listed(desk.text))


def worked(desk: DemoRequest, texts: list[str]) -> Script[str]:
    """The steps as a list, done one after the other."""
    opening = desk.say(
        f"That's {len(texts)} steps, so I'll start with a plan.",
        f"一共 {len(texts)} 个步骤，我先列出计划。",
    )
    work = Work.planned(desk, texts)
    yield from work.start(opening)
    return (yield from work.through(Heuristics(desk).do))
