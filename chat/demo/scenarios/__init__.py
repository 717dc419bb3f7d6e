"""The demo's scenarios; the first whose pattern matches the message is played."""

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


def script(request: DemoRequest) -> Script[str]:
    for scenario in _IN_ORDER if request.tools else ():
        if scenario.fits(request):
            return scenario.script(request)
    return talk.script(request)
