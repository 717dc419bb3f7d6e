"""Any text from models, endpoints and tools can be stored, on each database."""

from __future__ import annotations

import pytest

from chat.agent import Reply, Retrying, StepStarted, ToolCallEnded, ToolCallStarted, ToolResult
from chat.agent import ToolCall as Request
from chat.models import Step, ToolCall, Turn
from chat.turns.recorder import Recorder

UNFIT = "a\x00b\ud800c"
FIT = "a\ufffdb\ufffdc"


@pytest.fixture
def recorder(running: Turn) -> Recorder:
    recorder = Recorder(running)
    recorder.record(StepStarted(1, ""))
    return recorder


def test_a_call_is_recorded_with_all_that_came_with_it(recorder: Recorder) -> None:
    request = Request(UNFIT, UNFIT, UNFIT, {UNFIT: [UNFIT, {"deep": UNFIT, "number": 1}]})
    recorder.record(Reply("", "", (request,), UNFIT))
    recorder.record(ToolCallStarted(request))
    recorder.record(
        ToolCallEnded(request, "succeeded", ToolResult(UNFIT, {"after": UNFIT, "before": None}), 0.1)
    )
    call = ToolCall.objects.get()
    assert {call.call_id, call.name, call.arguments, call.output} == {FIT}
    assert call.extra == {FIT: [FIT, {"deep": FIT, "number": 1}]}
    assert call.detail == {"after": FIT, "before": None}
    assert Step.objects.get().finish_reason == FIT


def test_names_are_cut_to_what_their_columns_hold(recorder: Recorder) -> None:
    recorder.record(Reply("", "", (Request("i" * 300, "n" * 300, "{}"),), "f" * 300))
    call = ToolCall.objects.get()
    assert (call.call_id, call.name) == ("i" * 200, "n" * 200)
    assert Step.objects.get().finish_reason == "f" * 40


def test_sentences_of_an_endpoint_are_recorded(recorder: Recorder) -> None:
    recorder.end(Turn.Status.FAILED, UNFIT)
    assert Turn.objects.get().status_message == FIT


def test_a_reason_to_try_again_is_recorded(recorder: Recorder) -> None:
    recorder.record(Retrying(1, 0.5, UNFIT))
    assert Turn.objects.get().status_message == f"{FIT} Retrying automatically."
