"""A turn that takes its worker with it again and again is not given to another for ever."""

from __future__ import annotations

import uuid
from pathlib import Path

from chat.demo.reply import Reply
from chat.models.turn_recovery import MAX_CRASHES
from tests.faults import promises
from tests.faults.person import Person
from tests.faults.records import Records
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.serving import Served, until


def test_after_three_crashes_it_is_interrupted_and_can_be_continued(
    tmp_path: Path, model: ScriptedModel, person: Person
) -> None:
    model.answer = lambda request: Reply(text="It has begun, and goes on.", piece=6, stall_after=3)
    served = Served(tmp_path / "data", OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted")
    served.start()
    records = Records(f"sqlite:///{served.data / 'db.sqlite3'}")
    person.sign_in(served.link)
    conversation = person.begin(served.address, "Begin", uuid.uuid4())
    assert conversation
    tab = person.open(served.address, conversation)
    for crashes in range(1, MAX_CRASHES + 1):
        until(lambda crashes=crashes: len(model.requests) == crashes)  # type: ignore[misc]
        served.kill()
        served.start()
    until(lambda: not records.active(), served.written)
    turns = records.turns(conversation)
    assert (turns[0].status, turns[0].crash_count) == ("interrupted", MAX_CRASHES)
    page = person.get(f"{served.address}/conversations/{conversation}/")
    promises.check_page(page, turns)
    assert "Continue" in article(page, turns[0])
    until(lambda: tab.shown(turns[0].pk) == article(page, turns[0]))
    model.answer = lambda request: Reply(text="Now it ends.")
    person.post(f"{served.address}/conversations/{conversation}/turns/{turns[0].pk}/retry/")
    until(lambda: len(records.turns(conversation)) == 2 and not records.active(), served.written)
    assert records.turns(conversation)[1].status == "completed"
    for request in model.requests:
        promises.check_history(request["messages"])
    served.stop()
    records.close()
