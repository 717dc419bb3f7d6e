"""What the demo can do, each with the words that ask for it. The first that fits is played."""

from __future__ import annotations

from chat.demo.demo_request import DemoRequest, Script
from chat.demo.scenarios import (
    errand,
    failure,
    forgetful,
    program,
    refactor,
    resume,
    steps,
    talk,
    wrong_status,
)

_IN_ORDER = (
    resume,
    steps.Numbered,
    refactor,
    forgetful,
    wrong_status,
    failure,
    program,
    steps.Listed,
    errand,
)


def script(desk: DemoRequest) -> Script[str]:
    """The script for what the desk has before it; without any tool there is only talk."""
    for scenario in _IN_ORDER if desk.tools else ():
        if scenario.fits(desk):
            return scenario.script(desk)
    return talk.script(desk)
