"""The panel beside a chat: it opens with the list, follows it, folds with the turn, and stays as a record.

What only a browser shows (a fold of the user's own, the list filling letter by letter) is in
tests/browser/test_panel.py, and the same scenario with clicks in tests/browser/test_demo.py.
"""

from __future__ import annotations

import re
import threading

from chat.demo.reply import Reply
from chat.models import TodoRevision
from tests.live.conftest import site  # noqa: F401  a fixture
from tests.live.site import Site, Tab, panel
from tests.model_server import ScriptedModel

FILES = ("a.py", "b.py", "c.py", "d.py", "e.py")
ASKED = ("completed", "completed", "in_progress", "pending", "pending")


def planned(*statuses: str) -> Reply:
    items = [
        {"content": f"Refactor {path}", "status": status, "activeForm": f"Refactoring {path}"}
        for path, status in zip(FILES, statuses, strict=False)
    ]
    return Reply(tool_calls=[("TodoWrite", {"items": items})])


def working(gate: threading.Event) -> Reply:
    """A reply that is on its way until the gate is opened, and asks for a tool."""
    return Reply(text="I go on and on and on", piece=4, stall_after=4, gate=gate, tool_calls=[("bash", {})])


def is_open(html: str) -> bool:
    return bool(re.match(r'<details id="todo-panel"[^>]* open>', html))


def counts(html: str) -> tuple[int, int]:
    found = re.search(r'data-done="(\d+)" data-total="(\d+)"', html)
    assert found
    return int(found[1]), int(found[2])


def panels(tab: Tab) -> list[str]:
    """Every drawing of the panel that the tab was sent."""
    parts = re.findall(r'<details id="todo-panel".*?</details>', "".join(tab.received), re.DOTALL)
    return [str(part) for part in parts]


async def shows(tab: Tab, done: int, total: int) -> None:
    """Wait until the tab is shown an open panel with these counts."""
    while not any(is_open(html) and counts(html) == (done, total) for html in panels(tab)[-1:]):
        await tab.until(lambda frame: 'id="todo-panel"' in frame)


async def test_the_typical_scenario(site: Site, model_server: ScriptedModel) -> None:  # noqa: F811
    conversation = await site.conversation()
    tab = await site.open(conversation)
    model_server.script(Reply(text="Hello!"))
    await tab.send("Hi")
    await tab.until_idle()
    assert panels(tab) == [], "without a list there is no panel"

    first, second, third = (threading.Event() for _ in range(3))
    model_server.script(
        planned("in_progress", *["pending"] * 4), working(first), planned(*ASKED), working(second)
    )
    model_server.script(Reply("Which version?"))
    await tab.send("Refactor these five files")
    await shows(tab, 0, 5)  # the list of five appears, and is open while tools are called
    first.set()
    await shows(tab, 2, 5)  # each list replaces what is shown
    second.set()
    await tab.until_idle()
    page = panel(await site.page(conversation))
    assert not is_open(page), "it folds when the turn ends"
    assert counts(page) == (2, 5), "whatever is unfinished"
    assert "2/5" in page.partition("</summary>")[0], "to a line with the count"
    assert "Refactor c.py" in page.partition("</summary>")[0], "and the current item"
    assert tab.last_panel().strip() == page, "a reload shows the same"

    model_server.script(planned(*["completed"] * 5), working(third), Reply("All done."))
    await tab.send("keep the new version")
    await shows(tab, 5, 5)  # it opens again with fresh data
    third.set()
    await tab.until_idle()
    page = panel(await site.page(conversation))
    assert (is_open(page), counts(page)) == (False, (5, 5))
    said = next(
        request["messages"]
        for request in model_server.requests
        if request["messages"][-1]["content"] == "keep the new version"
    )
    assert "(2/5 completed)" in str(said), "the agent sees its list in the conversation"
    policies = [revision.policy async for revision in TodoRevision.objects.order_by("pk")]
    assert policies == ["focused"] * 3, "every accepted list is kept"
    assert "<span>5/5</span>" in await site.page_at("/conversations/"), "and shown in the history"


async def test_a_refused_list_leaves_the_one_that_is_shown(
    site: Site,  # noqa: F811
    model_server: ScriptedModel,
) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)
    gate = threading.Event()
    model_server.script(planned(*ASKED), planned(*["in_progress"] * 2), working(gate), Reply("Sorry."))
    await tab.send("Plan")
    await tab.has("I go on")
    await shows(tab, 2, 5)
    gate.set()
    await tab.until_idle()
    assert counts(panel(await site.page(conversation))) == (2, 5)


async def test_an_empty_list_says_so_until_the_turn_ends(
    site: Site,  # noqa: F811
    model_server: ScriptedModel,
) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)
    gate = threading.Event()
    model_server.script(planned("pending"), planned(), working(gate), Reply("Nothing to do."))
    await tab.send("Plan")
    await shows(tab, 0, 0)
    assert "No to-dos" in panels(tab)[-1]
    gate.set()
    await tab.until_idle()
    assert panel(await site.page(conversation)) == ""
