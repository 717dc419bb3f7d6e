"""The demo's scenarios; the first that fits the message is played."""

from __future__ import annotations

from chat.demo.demo_request import DemoRequest, Script
from chat.demo.scenarios import errand, mistakes, program, refactor, resume, talk

_IN_ORDER = (
    (resume.fits, resume.script),
    (errand.has_numbered_steps, errand.run_numbered_steps),
    (refactor.fits, refactor.script),
    (mistakes.asks_to_forget, mistakes.forget),
    (mistakes.asks_for_wrong_status, mistakes.write_wrong_status),
    (mistakes.asks_for_failure, mistakes.fail),
    (program.fits, program.script),
    (errand.has_listed_steps, errand.run_listed_steps),
    (errand.fits, errand.script),
)


def script(request: DemoRequest) -> Script[str]:
    for fits, play in _IN_ORDER if request.tools else ():
        if fits(request):
            return play(request)
    return talk.script(request)
