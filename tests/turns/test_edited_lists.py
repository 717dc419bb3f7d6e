"""The user edits the list while the agent works: the model is told once, tabs at once, nothing is lost."""

from __future__ import annotations

import re
import threading
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.agent.todo import Edit
from chat.demo.reply import Reply
from chat.models import Conversation, Profile, Step, TodoRevision, Turn
from chat.turns.editing import Edited, edit
from tests.live.site import Site, Tab, panel, until
from tests.model_server import ScriptedModel
from tests.turns.test_taken_up import left_behind

LOOK = [("read_file", {"path": "."})]
ANOTHER = [("TodoWrite", {"items": [{"content": "Other", "status": "pending", "activeForm": "Doing"}]})]
SKIPPED = 'took out "Item 2", which is not to be done'


def written(*states: str) -> list[tuple[str, dict[str, Any]]]:
    """A call that writes items in these states; a dash stands for one that is left out."""
    items = [
        {"content": f"Item {n}", "status": state, "activeForm": f"Doing {n}"}
        for n, state in enumerate(states, 1)
        if state != "-"
    ]
    return [("TodoWrite", {"items": items})]


@sync_to_async
def change(conversation: Conversation, *edits: tuple[str, str, str]) -> Edited:
    """Edits by the user, each as an action, the text of its item, and a new text."""
    revision = conversation.revision()
    ids = {item["content"]: item["id"] for item in revision.items} if revision else {}
    made = [Edit(action, ids.get(item, ""), text) for action, item, text in edits]  # type: ignore[arg-type]
    return edit(conversation, revision.pk if revision else 0, made)


def notes(model: ScriptedModel) -> list[str]:
    """What the latest request says of changes, message by message."""
    sent = [str(message["content"]) for message in model.requests[-1]["messages"][1:]]
    return [text.split("</todo-change>")[0] for text in sent if "<todo-change>" in text]


@sync_to_async
def lists(conversation: Conversation) -> list[tuple[str, list[str]]]:
    """Every revision: whose it is, and its items with the first letter of their states."""
    return [
        (row.author + (" kept" if row.kept else ""), [f"{i['content']} {i['status'][0]}" for i in row.items])
        for row in conversation.revisions.order_by("pk")
    ]


class Working:
    """A turn that has written a list and looks around, while its next reply waits for `go`."""

    def __init__(self, site: Site, model: ScriptedModel, *then: Reply, items: int = 3) -> None:
        self.site, self.model, self.go = site, model, threading.Event()
        model.script(
            Reply(tool_calls=written("in_progress", *["pending"] * (items - 1))),
            Reply(text="I look.", tool_calls=LOOK, stall_after=1, gate=self.go),
            *then,
        )

    async def begin(self) -> Conversation:
        conversation = await self.site.conversation()
        self.tab = await self.site.open(conversation)
        await self.tab.send("do it")

        async def asked() -> bool:
            return len(self.model.requests) == 2

        await until(asked)
        return conversation

    async def end(self) -> None:
        self.go.set()
        await self.tab.until_idle()


async def test_the_next_request_tells_of_it_once(site: Site, model_server: ScriptedModel) -> None:
    work = Working(site, model_server, Reply(tool_calls=LOOK), Reply(text="Done."))
    conversation = await work.begin()
    await change(conversation, ("skip", "Item 2", ""))
    await change(conversation, ("add", "", "Mine"), ("tick", "Item 3", ""))
    await work.end()
    [note] = notes(model_server)
    assert SKIPPED in note
    assert 'added "Mine"' in note
    assert 'ticked "Item 3"' in note
    first = [str(message["content"]) for message in model_server.requests[2]["messages"]]
    last = [str(message["content"]) for message in model_server.requests[3]["messages"]]
    assert last[1 : len(first)] == first[1:], "it stands where it stood"
    step = await Step.objects.aget(number=3)
    assert note == f"<todo-change>{step.edit_note}"
    told = [row.delivered_in_step_id async for row in TodoRevision.objects.filter(author="person")]
    assert told == [step.pk, step.pk]


@pytest.mark.parametrize("in_its_place", [[], ["pending"]], ids=["nothing in its place", "another"])
async def test_the_agent_does_not_drop_what_the_user_added(
    site: Site, model_server: ScriptedModel, in_its_place: list[str]
) -> None:
    """Nor in a list that it writes after it was told, or in a later turn, or as it begins another plan."""
    lists_without = [
        Reply(tool_calls=written(*states))
        for states in (["completed", "in_progress"], ["completed", "completed", *in_its_place])
    ]
    work = Working(site, model_server, *lists_without, Reply(text="Done."))
    conversation = await work.begin()
    await change(conversation, ("add", "", "Mine"))
    await work.end()
    others = ["Item 3 p"] if in_its_place else []
    author, items = (await lists(conversation))[-1]
    assert (author, sorted(items)) == ("agent", ["Item 1 c", "Item 2 c", *others, "Mine p"])
    assert 'added "Mine"' in notes(model_server)[-1]
    for drawn in (work.tab.last_turn(), await site.page(conversation)):
        assert re.search(rf"#revision-\d+\D*To-dos 2/{len(items)}", drawn)
    for again, kept_then in (
        (written("completed"), ["Item 1 c", "Mine p"]),
        (ANOTHER, ["Mine p", "Other p"]),
    ):
        model_server.script(Reply(tool_calls=again), Reply(text="Done."))
        await work.tab.send("go on")
        await work.tab.said("accepted")
        await work.tab.until_idle()
        author, items = (await lists(conversation))[-1]
        assert (author, sorted(items)) == ("agent", kept_then)


@pytest.mark.parametrize("end", ["tick", "skip", "dismiss"])
async def test_what_the_user_added_makes_room_for_another_plan(
    site: Site, model_server: ScriptedModel, end: str
) -> None:
    """Once it is done, skipped, or left undone."""
    work = Working(site, model_server, Reply(text="Done."))
    conversation = await work.begin()
    await change(conversation, ("add", "", "Mine"))
    await work.end()
    if end == "dismiss":
        assert await site.post(conversation, "dismiss") == 302
    else:
        await change(conversation, (end, "Mine", ""))
    model_server.script(Reply(tool_calls=ANOTHER, piece=4), Reply(text="Done."))
    since = len(work.tab.partials())
    await work.tab.send("something else")
    await work.tab.said("accepted")
    await work.tab.until_idle()
    assert (await lists(conversation))[-1] == ("agent", ["Other p"])
    drawn = [html for _target, _swap, html in work.tab.partials()[since:] if "Other" in html]
    assert drawn
    assert not any("Mine" in html for html in drawn)


async def test_the_agent_does_not_drop_what_the_user_added_and_ticked(
    site: Site, model_server: ScriptedModel
) -> None:
    """But where it goes on to another plan."""
    go, last = threading.Event(), threading.Event()
    work = Working(
        site, model_server,
        Reply(tool_calls=written("completed", "in_progress", "pending")),
        Reply(text="I look.", tool_calls=LOOK, stall_after=1, gate=go),
        Reply(tool_calls=written("completed", "completed", "completed")),
        Reply(text="I look.", tool_calls=LOOK, stall_after=1, gate=last),
        Reply(tool_calls=ANOTHER), Reply(text="Done."),
    )  # fmt: skip
    conversation = await work.begin()
    await change(conversation, ("add", "", "Mine"))
    work.go.set()
    await requests(model_server, 4)
    await change(conversation, ("tick", "Mine", ""))
    go.set()
    await requests(model_server, 6)
    assert (await lists(conversation))[-1] == ("agent", ["Item 1 c", "Item 2 c", "Item 3 c", "Mine c"])
    last.set()
    await work.tab.until_idle()
    assert (await lists(conversation))[-1] == ("agent", ["Other p"])


async def test_what_the_user_added_after_an_earlier_turn_is_no_item_of_the_agents(
    site: Site, model_server: ScriptedModel
) -> None:
    """Though an earlier turn was told of it, the user has changed it since, and another is in its place."""
    work = Working(site, model_server, Reply(tool_calls=LOOK), Reply(text="And?"))
    conversation = await work.begin()
    await change(conversation, ("add", "", "Mine"), ("add", "", "Also mine"))
    await work.end()
    await change(conversation, ("reword", "Mine", "Mine, in other words"), ("tick", "Also mine", ""))
    model_server.script(
        Reply(tool_calls=written("completed", "in_progress", "pending", "pending")), Reply(text="Done.")
    )
    assert await site.post(conversation, "continue") == 302
    await requests(model_server, 6)
    await work.tab.until_idle()
    kept, items = (await lists(conversation))[-1]
    own = ["Mine, in other words p", "Also mine c"]
    assert (kept, items) == ("agent", ["Item 1 c", "Item 2 i", "Item 3 p", *own, "Item 4 p"])


async def test_a_plan_of_the_users_own_goes_on_as_one_with_what_was_skipped(
    site: Site, model_server: ScriptedModel
) -> None:
    """Though the agent lists none of its items: each list that it writes is one revision."""
    model_server.script(Reply(text="Yes?"))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("hello")
    await tab.until_idle()
    await change(conversation, ("add", "", "Mine"), ("add", "", "Mine, too"), ("add", "", "Not now"))
    await change(conversation, ("skip", "Not now", ""))
    model_server.script(Reply(tool_calls=written("in_progress")), Reply(tool_calls=written("completed")))
    model_server.script(Reply(text="Done."))
    await tab.send("go on")
    await tab.until_idle()
    assert (await lists(conversation))[2:] == [
        ("agent", ["Mine p", "Mine, too p", "Item 1 i"]),
        ("agent", ["Mine p", "Mine, too p", "Item 1 c"]),
    ]
    for drawn in (tab.last_panel(), panel(await site.page(conversation))):
        skipped = re.findall(r'data-status="skipped".*?</li>', drawn, re.DOTALL)
        assert ["Not now" in line for line in skipped] == [True]


async def test_another_version_of_a_turn_has_what_the_user_added(
    site: Site, model_server: ScriptedModel
) -> None:
    work = Working(site, model_server, Reply(text="Done."))
    conversation = await work.begin()
    await change(conversation, ("add", "", "Mine"), ("skip", "Item 2", ""))
    await work.end()
    await change(conversation, ("add", "", "Also mine"), ("tick", "Mine", ""))
    turn = await conversation.turns.alast()
    assert turn
    for states in (["in_progress", "pending"], ["completed", "completed"]):
        model_server.script(Reply(tool_calls=written(*states)))
    model_server.script(Reply(text="Done."))
    assert await site.post(conversation, f"turns/{turn.pk}/again") == 302
    await requests(model_server, 6)
    await work.tab.until_idle()
    path = conversation.revisions.filter(turn__on_path=True).order_by("pk")
    lists_now = [[f"{i['content']} {i['status'][0]}" for i in row.items] async for row in path]
    assert lists_now[0] == ["Mine c", "Also mine p"]
    assert lists_now[-1] == ["Mine c", "Also mine p", "Item 1 c", "Item 2 c"]
    assert 'added "Mine", which is done; added "Also mine"' in notes(model_server)[0]


async def requests(model: ScriptedModel, count: int) -> None:
    """Return once the model has had so many."""

    async def have_come() -> bool:
        return len(model.requests) >= count

    await until(have_come)


async def test_later_turns_render_it_at_the_same_place(site: Site, model_server: ScriptedModel) -> None:
    work = Working(site, model_server, Reply(text="Done."), Reply(text="Yes."), Reply(text="And yes."))
    conversation = await work.begin()
    await change(conversation, ("skip", "Item 2", ""))
    await work.end()
    await change(conversation, ("reword", "Item 3", "The last one"))
    for text in ("go on", "and on"):
        await work.tab.send(text)
        await work.tab.said("accepted")
        await work.tab.until_idle()
    one, two, three = (request["messages"] for request in model_server.requests[2:])
    assert two[: len(one)] == one
    assert three[: len(two)] == two
    assert [SKIPPED in note for note in notes(model_server)] == [True, False]
    assert three[-3]["content"].startswith('<todo-change>The user changed the todo list: "Item 3" now reads')
    assert three[-3]["content"].endswith("\ngo on")


async def rewriting(
    site: Site, model_server: ScriptedModel, *edits: tuple[str, str, str]
) -> tuple[Conversation, Tab]:
    """A turn that ended after the user made these edits while the agent was writing its list again."""
    go = threading.Event()
    rewrite = Reply(
        text="Now.", tool_calls=written("completed", "in_progress", "pending"), stall_after=1, gate=go
    )
    model_server.script(
        Reply(tool_calls=written("in_progress", "pending", "pending")), rewrite, Reply(text="Done.")
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")

    async def asked() -> bool:
        return len(model_server.requests) == 2

    await until(asked)
    await change(conversation, *edits)
    go.set()
    await tab.until_idle()
    return conversation, tab


async def test_a_list_that_was_written_unaware_of_it_undoes_nothing(
    site: Site, model_server: ScriptedModel
) -> None:
    edits = [("skip", "Item 2", ""), ("add", "", "Mine")]
    conversation, tab = await rewriting(site, model_server, *edits)
    assert await lists(conversation) == [
        ("agent", ["Item 1 i", "Item 2 p", "Item 3 p"]),
        ("person", ["Item 1 i", "Item 3 p", "Mine p"]),
        ("agent", ["Item 1 c", "Item 2 i", "Item 3 p"]),
        ("person kept", ["Item 1 c", "Item 3 p", "Mine p"]),
    ]
    [note] = notes(model_server)
    assert SKIPPED in note
    assert 'added "Mine"' in note
    await conversation.arefresh_from_db()
    assert conversation.todos_left == 2
    assert tab.last_panel().strip() == panel(await site.page(conversation)).strip()


async def test_a_model_that_repeats_its_list_undoes_nothing_either(
    site: Site, model_server: ScriptedModel
) -> None:
    """Though it was told of the changes, and however often it does."""
    again = [
        Reply(tool_calls=written("completed", "in_progress", "pending", "pending")),
        Reply(tool_calls=LOOK),
        Reply(tool_calls=written("completed", "completed", "in_progress", "pending")),
    ]
    work = Working(site, model_server, *again, Reply(text="Done."), items=4)
    conversation = await work.begin()
    await change(conversation, ("skip", "Item 2", ""), ("reword", "Item 3", "Better"), ("tick", "Item 4", ""))
    await work.end()
    assert [items for _author, items in await lists(conversation)][-2:] == [
        ["Item 1 c", "Better p", "Item 4 c"],
        ["Item 1 c", "Better i", "Item 4 c"],
    ]
    results = [
        str(message["content"])
        for message in model_server.requests[-1]["messages"]
        if message["role"] == "tool" and "Item 1" in str(message["content"])
    ]
    assert [SKIPPED in result for result in results[-2:]] == [True, True]


async def test_a_list_that_is_repeated_in_the_next_turn_undoes_nothing(
    site: Site, model_server: ScriptedModel
) -> None:
    repeated = Reply(tool_calls=written("completed", "pending", "pending", "pending"))
    model_server.script(repeated, Reply(text="Half."), repeated, Reply(text="Done."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    await change(conversation, ("skip", "Item 2", ""), ("reword", "Item 3", "Better"), ("tick", "Item 4", ""))
    await tab.send("go on")
    await tab.until_idle()
    assert (await lists(conversation))[-1] == ("agent", ["Item 1 c", "Better p", "Item 4 c"])
    assert "Only the user can put back what was taken out." in str(
        model_server.requests[-1]["messages"][-1]["content"]
    )


async def test_a_list_that_is_repeated_turn_after_turn_undoes_nothing(
    site: Site, model_server: ScriptedModel
) -> None:
    """Changes of which the model was told as it worked hold in the turns that continue, until all is done."""
    half = Reply(tool_calls=written("completed", "in_progress", "pending", "pending", "pending"))
    work = Working(site, model_server, half, Reply(text="Half."), items=5)
    conversation = await work.begin()
    await change(
        conversation,
        ("skip", "Item 2", ""),
        ("reword", "Item 3", "Better"),
        ("tick", "Item 4", ""),
        ("up", "Item 5", ""),
    )
    await work.end()
    kept = ["Item 1 c", "Better p", "Item 5 p", "Item 4 c"]
    assert (await lists(conversation))[-1] == ("agent", kept)
    for _turn in range(2):
        model_server.script(half, Reply(text="Half."))
        await work.tab.send("go on")
        await work.tab.until_idle()
        assert (await lists(conversation))[-1] == ("agent", kept)
        assert "Only the user can put back" in str(model_server.requests[-1]["messages"][-1]["content"])
    whole = Reply(tool_calls=written(*["completed"] * 5))
    model_server.script(whole, Reply(text="All of it."), half, Reply(text="Once more."))
    await work.tab.send("go on")
    await work.tab.until_idle()
    assert (await lists(conversation))[-1] == ("agent", ["Item 1 c", "Better c", "Item 5 c", "Item 4 c"])
    await work.tab.send("do it all once more")
    await work.tab.until_idle()
    assert "Item 2 i" in (await lists(conversation))[-1][1]


@pytest.mark.parametrize("action", ["skip", "remove"])
async def test_a_repeated_list_with_the_same_text_twice_undoes_nothing(
    site: Site, model_server: ScriptedModel, action: str
) -> None:
    """Turn after turn: the first of two with the same text is out, and the other keeps its own state."""

    def again(*states: str) -> Reply:
        [(name, arguments)] = written("pending", *states)
        arguments["items"][0]["content"] = arguments["items"][2]["content"] = "Write"
        return Reply(tool_calls=[(name, arguments)])

    model_server.script(again("pending", "pending"), Reply(text="Half."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    first = await sync_to_async(conversation.revision)()
    assert first is not None
    ids = [item["id"] for item in first.items]
    await sync_to_async(edit)(conversation, first.pk, [Edit(action, ids[0])])  # type: ignore[arg-type]
    for _turn in range(3):
        model_server.script(
            again("in_progress", "pending"), again("completed", "pending"), Reply(text="Half.")
        )
        await tab.send("go on")
        await tab.until_idle()
        latest = await sync_to_async(conversation.revision)()
        assert latest is not None
        assert [(item["id"], item["status"]) for item in latest.items] == [
            (ids[1], "completed"),
            (ids[2], "pending"),
        ]
        assert tab.last_panel().strip() == panel(await site.page(conversation)).strip()
        assert (f"restore {ids[0]}" in tab.last_panel()) == (action == "skip")


async def test_what_was_removed_stays_out_of_sight(site: Site, model_server: ScriptedModel) -> None:
    conversation, tab = await rewriting(site, model_server, ("remove", "Item 2", ""), ("skip", "Item 3", ""))
    assert await lists(conversation) == [
        ("agent", ["Item 1 i", "Item 2 p", "Item 3 p"]),
        ("person", ["Item 1 i"]),
        ("agent", ["Item 1 c", "Item 2 i", "Item 3 p"]),
        ("person kept", ["Item 1 c"]),
    ]
    assert "Item 2" not in tab.last_panel()
    assert "Item 3" in tab.last_panel(), "as skipped"
    assert tab.last_panel().strip() == panel(await site.page(conversation)).strip()


async def test_every_tab_sees_it_at_once_and_as_a_reload_does(
    site: Site, model_server: ScriptedModel
) -> None:
    work = Working(site, model_server, Reply(text="Done."))
    conversation = await work.begin()
    other = await site.open(conversation)
    await site.post(conversation, "todos", do="add", **{"text-new": "Mine <b>"})
    for tab in (work.tab, other):
        await tab.until(lambda frame: "Mine &lt;b&gt;" in frame)
    assert work.tab.last_panel().strip() == panel(await site.page(conversation)).strip()
    await work.end()
    assert work.tab.last_panel().strip() == panel(await site.page(conversation)).strip()


async def test_a_draft_does_not_hide_what_the_person_changed(site: Site, model_server: ScriptedModel) -> None:
    """While a list is being written, tabs that show a later change leave the draft alone."""
    go = threading.Event()
    slow = Reply(tool_calls=written("completed", "in_progress", "pending"), stall_after=2, gate=go)
    model_server.script(
        Reply(tool_calls=written("in_progress", "pending", "pending")), slow, Reply(text="Done.")
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")

    async def asked() -> bool:
        return len(model_server.requests) == 2

    await until(asked)
    await site.post(conversation, "todos", do="add", **{"text-new": "Mine"})
    await tab.until(lambda frame: "Mine" in frame)
    since = len(tab.partials())
    go.set()
    await tab.until_idle()
    drawn = [html for target, _swap, html in tab.partials()[since:] if "todo-panel" in html]
    assert drawn
    assert all("Mine" in html for html in drawn)


async def test_a_list_that_is_written_again_keeps_its_first_item_meanwhile(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(
        Reply(tool_calls=written("completed", "in_progress", "pending")),
        Reply(tool_calls=written("completed", "completed", "in_progress"), piece=2, delay=0.03),
        Reply(text="Done."),
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    panels = [html for _target, _swap, html in tab.partials() if "todo-panel" in html]
    whole = next(number for number, html in enumerate(panels) if "Item 3" in html)
    assert len(panels) > whole + 2
    for html in panels[whole:]:
        assert "Item 1" in html
        assert 'data-done="0"' not in html


async def test_a_list_that_is_written_again_in_a_later_turn_does_not_shrink_meanwhile(
    site: Site, model_server: ScriptedModel
) -> None:
    go = threading.Event()
    again = Reply(tool_calls=written("completed", "in_progress", "pending"), stall_after=9, gate=go)
    model_server.script(
        Reply(tool_calls=written("in_progress", "pending", "pending")), Reply(text="And?"),
        again, Reply(text="Done."),
    )  # fmt: skip
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    since = len(tab.partials())
    await tab.send("go on")

    await tab.until(lambda frame: 'data-phase="working"' in frame)
    go.set()
    await tab.until_idle()
    panels = [html for _target, _swap, html in tab.partials()[since:] if "todo-panel" in html]
    assert all("Item 3" in html for html in panels)


async def test_a_list_that_is_being_written_hides_nothing_that_the_user_planned(
    site: Site, model_server: ScriptedModel
) -> None:
    """The agent begins a list of its own, then goes on with it; the user's items are in all that is drawn."""
    model_server.script(Reply(text="Hello."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("hello")
    await tab.until_idle()
    await change(conversation, ("add", "", "Collect"), ("add", "", "Draw"))
    model_server.script(
        Reply(tool_calls=written("in_progress", "pending", "pending"), piece=8, delay=0.01),
        Reply(tool_calls=written("completed", "in_progress", "pending"), piece=8, delay=0.01),
        Reply(text="Done."),
    )
    since = len(tab.partials())
    await tab.send("do it")
    await tab.until_idle()
    drawn = [html for _target, _swap, html in tab.partials()[since:] if "todo-panel" in html]
    assert len(drawn) > 4
    missing = [html for html in drawn if "Collect" not in html or "Draw" not in html]
    assert not missing
    places = [html.index("Collect") < html.index("Draw") for html in drawn]
    assert all(places)


async def test_a_turn_that_is_taken_up_again_still_tells_of_it_once(
    site: Site, model_server: ScriptedModel
) -> None:
    """Its worker died after the request that told of it was written down, and before a reply came."""
    model_server.script(Reply(tool_calls=LOOK), Reply(text="Done."))
    conversation = await site.conversation()
    left = await left_behind(conversation)

    @sync_to_async
    def before() -> None:
        first = left.steps.create(number=1, ended_at="2026-01-01T00:00Z")
        call = left.tool_calls.create(
            step=first, index=0, call_id="c", name="TodoWrite", status="succeeded", output="Listed.",
            started_at="2026-01-01T00:00Z", arguments="{}",
        )  # fmt: skip
        items = [{"id": f"i{n}", "content": f"Item {n}", "status": "pending"} for n in (1, 2)]
        TodoRevision.write(left, call, "focused", items)
        told = TodoRevision.edit(left, "focused", items[:1], ["i2"])
        told.delivered_in_step = left.steps.create(number=2, edit_note="what was said")
        told.save()
        TodoRevision.edit(left, "focused", [items[0] | {"content": "Item one"}])

    await before()
    await site.open(conversation)
    await until(lambda: conversation.turns.filter(status="completed").aexists())
    assert len(model_server.requests) == 2
    [note] = notes(model_server)
    assert SKIPPED in note
    assert '"Item 1" now reads "Item one"' in note
    assert "what was said" not in note
    assert await Step.objects.filter(edit_note__contains=SKIPPED).acount() == 1


@pytest.mark.parametrize("in_its_place", [[], ["pending"]], ids=["nothing in its place", "another"])
async def test_a_turn_that_is_taken_up_again_does_not_drop_what_the_user_added(
    site: Site, model_server: ScriptedModel, in_its_place: list[str]
) -> None:
    """As after an answer to an approval, or a crash; the model had been told of it."""
    listed_again = written("completed", "completed", *in_its_place)
    model_server.script(Reply(tool_calls=listed_again), Reply(text="Done."))
    conversation = await site.conversation()
    left = await left_behind(conversation)

    @sync_to_async
    def before() -> None:
        ended = {"ended_at": "2026-01-01T00:00Z"}
        first, second = (left.steps.create(number=number, **ended) for number in (1, 2))
        listed, looked = (
            left.tool_calls.create(
                step=step, index=0, call_id=name, name=name, status="succeeded", output="Yes.",
                started_at="2026-01-01T00:00Z", arguments="{}",
            )
            for step, name in ((first, "TodoWrite"), (second, "read_file"))
        )  # fmt: skip
        items = [{"id": f"i{n}", "content": f"Item {n}", "status": "pending"} for n in (1, 2)]
        TodoRevision.write(left, listed, "focused", items)
        mine = {"id": "m", "content": "Mine", "status": "pending"}
        told = TodoRevision.edit(left, "focused", [*items, mine])
        told.delivered_in_step = looked.step
        told.save()

    await before()
    await site.open(conversation)
    await until(lambda: conversation.turns.filter(status="completed").aexists())
    others = ["Item 3 p"] if in_its_place else []
    author, items_now = (await lists(conversation))[-1]
    assert (author, sorted(items_now)) == ("agent", ["Item 1 c", "Item 2 c", *others, "Mine p"])


async def test_it_is_told_after_a_turn_that_came_to_nothing(site: Site, model_server: ScriptedModel) -> None:
    """The user's change of the plan is kept, so a retry continues, and the model reads of the change."""
    conversation = await site.conversation()

    @sync_to_async
    def failed() -> Turn:
        turn = conversation.start_turn("do it", uuid.uuid4())
        claimed = Turn.claim("worker", turn.pk)
        assert claimed is not None
        told = TodoRevision.edit(claimed, "focused", [{"id": "a", "content": "Mine", "status": "pending"}])
        told.delivered_in_step = claimed.steps.create(number=1, edit_note='The user added "Mine".')
        told.save()
        claimed.end(Turn.Status.FAILED, "No.")
        return claimed

    turn = await failed()
    model_server.script(Reply(text="Done."))
    await site.open(conversation)
    assert await site.post(conversation, f"turns/{turn.pk}/retry") == 302
    await until(lambda: conversation.turns.filter(status="completed").aexists())
    [note] = notes(model_server)
    assert 'added "Mine"' in note


async def test_what_a_stopped_request_told_is_not_told_again(site: Site, model_server: ScriptedModel) -> None:
    """The request that carried the note was on its way; the next turn finds it in the transcript."""
    go = threading.Event()
    work = Working(site, model_server, Reply(text="I go on", stall_after=1, gate=go), Reply(text="Yes."))
    conversation = await work.begin()
    await change(conversation, ("skip", "Item 2", ""))
    work.go.set()

    async def asked() -> bool:
        return len(model_server.requests) == 3

    await until(asked)
    await site.post(conversation, "stop")
    await work.tab.until_idle()
    go.set()
    stopped = model_server.requests[2]["messages"]
    await work.tab.send("go on")
    await work.tab.said("accepted")
    await work.tab.until_idle()
    assert model_server.requests[3]["messages"][: len(stopped)] == stopped
    [note] = notes(model_server)
    assert SKIPPED in note


async def test_lean_has_nothing_in_progress(site: Site, model_server: ScriptedModel) -> None:
    conversation = await site.conversation()

    @sync_to_async
    def lean() -> None:
        conversation.choose(Profile.objects.get(todo_policy="lean", owner=None))

    await lean()
    items = [{"content": f"Item {n}", "status": "pending"} for n in (1, 2)]
    go = threading.Event()
    model_server.script(
        Reply(tool_calls=[("TodoWrite", {"todos": items})]),
        Reply(text="I look.", tool_calls=LOOK, stall_after=1, gate=go),
        Reply(text="Done."),
    )
    tab = await site.open(conversation)
    await tab.send("do it")

    async def asked() -> bool:
        return len(model_server.requests) == 2

    await until(asked)
    await change(conversation, ("tick", "Item 1", ""), ("add", "", "Mine"))
    go.set()
    await tab.until_idle()
    [note] = notes(model_server)
    assert note.endswith("[x] Item 1\n[ ] Item 2\n[ ] Mine\n\n(1/3 completed)")
    assert (await lists(conversation))[-1] == ("person", ["Item 1 c", "Item 2 p", "Mine p"])
