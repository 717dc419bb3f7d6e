"""The user's own steps, numbered or in a sentence, become the list."""

from __future__ import annotations

from chat.demo import steps
from chat.demo.demo_request import DemoRequest, Script
from chat.demo.heuristics import Heuristics
from chat.demo.work import Work


class Numbered:
    """A numbered or bulleted list, which takes precedence over all other scenarios but `resume`."""

    @staticmethod
    def fits(request: DemoRequest) -> bool:
        return bool(steps.numbered(request.text))

    @staticmethod
    def script(request: DemoRequest) -> Script[str]:
        return run_steps(request, steps.numbered(request.text))


class Listed:
    """Steps separated by commas and "then"."""

    @staticmethod
    def fits(request: DemoRequest) -> bool:
        return bool(steps.listed(request.text))

    @staticmethod
    def script(request: DemoRequest) -> Script[str]:
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
