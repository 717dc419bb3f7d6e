"""What a process counts while turns run."""

from __future__ import annotations

from prometheus_client import REGISTRY

from chat.demo.reply import Reply
from tests.live.site import Site, until
from tests.model_server import ScriptedModel


def read(name: str) -> float:
    return REGISTRY.get_sample_value(f"agentsite_{name}") or 0.0


async def test_a_turn_is_measured(site: Site, model_server: ScriptedModel) -> None:
    counts = ["queue_wait", "first_token", "step", "tool"]
    before = {name: read(f"{name}_seconds_count") for name in counts}
    frames, sockets = read("frames_total"), read("open_sockets")
    model_server.script(Reply(text="I look.", tool_calls=[("read_file", {"path": "."})]), Reply(text="Done."))
    tab = await site.open(await site.conversation())
    assert read("open_sockets") == sockets + 1
    await tab.send("Look")
    await tab.until_idle()
    grown = {name: read(f"{name}_seconds_count") - before[name] for name in counts}
    assert grown == {"queue_wait": 1, "first_token": 2, "step": 2, "tool": 1}
    assert read("frames_total") > frames
    await tab.socket.disconnect()
    await until(lambda: _is(sockets))


async def _is(sockets: float) -> bool:
    return read("open_sockets") == sockets
