"""A user changes the list in its panel: in two tabs, on a phone, with keys, while the agent works."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    PASTE,
    at_rest,
    begin,
    growing,
    is_folded,
    is_open,
    panel,
    record,
    send,
    todo,
    until,
)
from tests.browser.test_approvals import begin as begin_asking_first

LOOK = [("bash", {"command": "true"})]
THREE = ["in_progress", "pending", "pending"]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def items(page: Page) -> Locator:
    """The items, without those that were skipped."""
    return page.locator("#todo-panel .todo:not([data-status='skipped'])")


def skipped_items(page: Page) -> Locator:
    """What stays of those that were skipped."""
    return page.locator("#todo-panel .todo[data-status='skipped'] .todo__line")


def reads(page: Page, *texts: str) -> None:
    """Wait until the list has these items, each with that in its words."""
    expect(items(page).locator(".todo__text")).to_contain_text(list(texts))
    expect(items(page)).to_have_count(len(texts))


def editor(page: Page, place: int) -> Locator:
    """The open editor of the item in that place."""
    items(page).nth(place).locator("button.todo__line").click()
    box = items(page).nth(place).locator(".todo__editor textarea")
    expect(box).to_be_focused()
    return box


def working(scripted: Site, page: Page, *then: Reply) -> threading.Event:
    """A turn with three items, at work until the event is set; then come the replies."""
    gate = threading.Event()
    scripted.model.script(todo(*THREE), Reply(text="I work", stall_after=1, gate=gate), *then)
    begin(page, "Work")
    is_open(page)
    expect(items(page)).to_have_count(3)
    return gate


def test_every_control_and_a_fresh_page_shows_the_same(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    editor(page, 1).fill("Another")
    page.keyboard.press("Enter")
    reads(page, "Doing 1", "Another", "Item 3")
    line = items(page).nth(1).locator("button.todo__line")
    expect(line).to_be_focused()
    ringed = line.locator(".todo__text")
    expect(ringed).to_have_css("outline-style", "solid")
    ring, tools = ringed.bounding_box(), items(page).nth(1).locator(".todo__tools").bounding_box()
    assert ring
    assert tools
    assert ring["x"] + ring["width"] < tools["x"], "it keeps off the buttons"
    page.keyboard.press("Alt+ArrowDown")
    reads(page, "Doing 1", "Item 3", "Another")
    items(page).nth(1).hover()
    items(page).nth(1).get_by_role("button", name="Skip").click()
    reads(page, "Doing 1", "Another")
    expect(page.locator("#todo-status")).to_have_text("Item skipped")
    restore = page.get_by_role("button", name="Restore Skipped: Item 3")
    expect(restore).to_be_focused()
    page.keyboard.press("Enter")
    reads(page, "Doing 1", "Item 3", "Another")
    expect(items(page).nth(1).locator("button.todo__line")).to_be_focused()
    before = items(page).nth(2).bounding_box()
    items(page).nth(1).hover()
    items(page).nth(1).get_by_role("button", name="Skip").dblclick()
    reads(page, "Doing 1", "Another")
    assert items(page).nth(1).bounding_box() == before, "nothing moved under the pointer"
    page.fill("#todo-add", "Mine")
    page.press("#todo-add", "Enter")
    reads(page, "Doing 1", "Another", "Mine")
    expect(restore).to_be_visible()
    expect(page.locator("#todo-add")).to_have_value("")
    items(page).nth(2).get_by_role("button", name="Check off").click()
    expect(items(page).nth(2)).to_have_attribute("data-status", "completed")
    fresh = visitors.enter(scripted)
    fresh.goto(page.url)
    fresh.wait_for_selector(LIVE)
    until(page, lambda: record(page) == record(fresh))
    reads(fresh, "Doing 1", "Another", "Mine")
    gate.set()
    at_rest(page)
    is_folded(page)
    assert panel(page).get_attribute("data-done") == "1"


def test_a_skipped_item_stays_struck_through(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    rewritten = todo("completed", "in_progress")
    [(_name, arguments)] = rewritten.tool_calls
    arguments["items"][1] = {"content": "Item 3", "status": "in_progress", "activeForm": "Doing 3"}
    gate = threading.Event()
    work = [("bash", {"command": "true"})]
    scripted.model.script(
        todo(*THREE),
        Reply(text="I work", stall_after=1, gate=gate, tool_calls=work),
        rewritten,
        Reply("Done."),
    )
    begin(page, "Work")
    expect(items(page)).to_have_count(3)
    items(page).nth(1).hover()
    items(page).nth(1).get_by_role("button", name="Skip").click()

    def is_kept(count: str) -> None:
        expect(skipped_items(page)).to_have_text("Skipped: Item 2 Skipped")
        assert page.locator("#todo-panel .todo").nth(1).get_attribute("data-status") == "skipped"
        text = skipped_items(page).locator(".todo__text")
        assert text.evaluate("text => getComputedStyle(text).textDecorationLine") == "line-through"
        expect(page.locator(".todo-panel__count")).to_have_text(count)

    reads(page, "Doing 1", "Item 3")
    is_kept("0/2")
    expect(page.get_by_role("button", name="Restore Skipped: Item 2")).to_be_focused()
    page.reload()
    is_kept("0/2")
    gate.set()
    at_rest(page)
    panel(page).locator("summary").click()
    reads(page, "Item 1", "Item 3")
    is_kept("1/2")
    live = record(page)
    page.reload()
    at_rest(page)
    panel(page).locator("summary").click()
    is_kept("1/2")
    assert record(page) == live
    exported = page.request.get(f"{page.url}export.md").text()
    assert "\n- ~~Item 2~~ _(skipped)_\n" in exported
    page.goto(f"{page.url}replay/")
    page.keyboard.press("End")
    expect(skipped_items(page)).to_have_text("Skipped: Item 2 Skipped")


def test_the_field_takes_the_place_of_the_text_with_the_caret_at_its_end(
    scripted: Site, visitors: Visitors
) -> None:
    """With keys, with the pointer, and where a change was refused; the icons of an item are all different."""
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    editor(page, 1)
    expect(items(page).nth(1).locator("button.todo__line")).to_be_hidden()
    page.keyboard.type(" and more")
    page.keyboard.press("Enter")
    reads(page, "Doing 1", "Item 2 and more", "Item 3")
    expect(items(page).nth(1).locator("button.todo__line")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("!")
    items(page).nth(1).get_by_role("button", name="Save").click()
    reads(page, "Doing 1", "Item 2 and more!", "Item 3")
    line = items(page).nth(1).locator("button.todo__line")
    expect(line).to_be_focused()
    box = editor(page, 1)
    page.keyboard.type("?")
    items(page).nth(1).get_by_role("button", name="Cancel").click()
    expect(box).to_be_hidden()
    expect(line).to_be_focused()
    reads(page, "Doing 1", "Item 2 and more!", "Item 3")

    gate.set()
    at_rest(page)
    panel(page).locator("summary").click()
    drawn = items(page).nth(0).locator("svg").evaluate_all("all => all.map(each => each.innerHTML)")
    assert len(drawn) == 4
    assert len(set(drawn)) == 4
    begun = items(page).nth(0).get_by_role("link", name="Go to where this started: Item 1")
    expect(begun).to_have_attribute("title", "Go to where this started")


def test_what_is_being_typed_outlives_redraws(scripted: Site, visitors: Visitors) -> None:
    """The other tab changes the list, the agent writes it anew, and the turn ends."""
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    gate = working(scripted, page)
    box = editor(page, 1)
    page.keyboard.press("End")
    page.keyboard.type(" and mo")
    other.goto(page.url)
    other.wait_for_selector(LIVE)
    other.fill("#todo-add", "Theirs")
    other.press("#todo-add", "Enter")
    reads(page, "Doing 1", "Item 2", "Item 3", "Theirs")
    expect(box).to_be_focused()
    page.keyboard.type("re")
    gate.set()
    at_rest(page)
    is_open(page)
    expect(box).to_have_value("Item 2 and more")
    expect(box).to_be_focused()
    page.keyboard.press("Enter")
    reads(page, "Item 1", "Item 2 and more", "Item 3", "Theirs")


def test_the_caret_of_an_editor_that_was_just_opened_outlives_the_turn(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    box = editor(page, 1)
    gate.set()
    at_rest(page)
    is_open(page)
    expect(box).to_be_focused()
    page.keyboard.type("!")
    expect(box).to_have_value("Item 2!")


@pytest.mark.parametrize("then", ["the turn ends", "a question comes"])
def test_an_item_is_written_to_its_end_whatever_happens(
    scripted: Site, visitors: Visitors, then: str
) -> None:
    gate = threading.Event()
    calls = [("bash", {"command": "true"})] if then == "a question comes" else []
    replies = [todo(*THREE), Reply(text="I work", stall_after=1, gate=gate, tool_calls=calls), Reply("Done.")]
    scripted.model.script(*replies[: 3 if calls else 2])
    page = visitors.enter(scripted)
    begin_asking_first(page)
    expect(items(page)).to_have_count(3)
    add = page.locator("#todo-add")
    add.click()
    page.keyboard.type("Also write ")
    gate.set()
    page.wait_for_selector(f"#conversation[data-status={'waiting' if calls else 'idle'}]")
    page.keyboard.type("a changelog", delay=80)  # what takes the focus away does it a moment later
    expect(add).to_be_focused()
    expect(add).to_have_value("Also write a changelog")
    page.keyboard.press("Enter")
    expect(items(page).last).to_contain_text("Also write a changelog")
    expect(page.locator("#composer-text")).to_have_value("")
    if calls:
        page.get_by_role("button", name="Allow once").click()
        at_rest(page)


@pytest.mark.parametrize("begun", ["", " and more"])
def test_what_is_typed_into_an_item_that_goes_is_no_message(
    scripted: Site, visitors: Visitors, begun: str
) -> None:
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    gate = working(scripted, page)
    other.goto(page.url)
    editor(page, 1)
    page.keyboard.press("End")
    page.keyboard.type(begun)
    editor(other, 1)
    items(other).nth(1).get_by_role("button", name="Remove").click()
    expect(items(page)).to_have_count(2)
    expect(page.locator("#todo-add")).to_be_focused()
    page.keyboard.type(" of it")
    page.keyboard.press("Enter")
    reads(page, "Doing 1", "Item 3", f"Item 2{begun} of it" if begun else "of it")
    expect(page.locator("#composer-text")).to_have_value("")
    gate.set()
    at_rest(page)


@pytest.mark.parametrize("place", ["a new item", "an item"])
def test_an_input_methods_composition_outlives_the_end_of_a_turn(
    scripted: Site, visitors: Visitors, place: str
) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    field = page.locator("#todo-add")
    if place == "an item":
        field = editor(page, 1)
    else:
        field.click()
    page.keyboard.type("Buy ")
    session = page.context.new_cdp_session(page)
    session.send("Input.imeSetComposition", {"text": "hua", "selectionStart": 3, "selectionEnd": 3})
    gate.set()
    at_rest(page)
    expect(panel(page)).to_have_attribute("data-phase", "ended")
    session.send("Input.imeSetComposition", {"text": "huazhong", "selectionStart": 8, "selectionEnd": 8})
    session.send("Input.insertText", {"text": "花种"})
    page.keyboard.type(" soon")
    before = "Item 2" if place == "an item" else ""
    expect(field).to_have_value(f"{before}Buy 花种 soon")


def test_what_is_being_written_is_there_after_a_look_elsewhere(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    page.fill("#todo-add", "Also write")
    editor(page, 1).fill("Item 2 and mo")
    page.get_by_role("link", name="Plan history").click()
    expect(page.locator("#plan")).to_be_visible()
    page.go_back()
    box = items(page).nth(1).locator(".todo__editor textarea")
    expect(box).to_have_value("Item 2 and mo")
    expect(page.locator("#todo-add")).to_have_value("Also write")
    page.reload()
    expect(box).to_have_value("Item 2 and mo")
    expect(page.locator("#todo-add")).to_have_value("Also write")
    box.press("Enter")
    page.press("#todo-add", "Enter")
    reads(page, "Doing 1", "Item 2 and mo", "Item 3", "Also write")
    page.reload()
    reads(page, "Doing 1", "Item 2 and mo", "Item 3", "Also write")
    expect(page.locator("#todo-add")).to_have_value("")
    expect(page.locator(".todo[data-editing]")).to_have_count(0)
    page.fill("#todo-add", "  ")
    page.reload()
    page.wait_for_selector(LIVE)
    expect(page.locator("#todo-add")).to_have_value("")
    gate.set()
    at_rest(page)


def test_the_later_of_two_tabs_sees_the_conflict(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("409")
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    gate = working(scripted, page)
    box = editor(page, 1)
    box.fill("Mine")
    other.goto(page.url)
    other.wait_for_selector(LIVE)
    editor(other, 1).fill("Theirs")
    other.keyboard.press("Enter")
    reads(page, "Doing 1", "Theirs", "Item 3")
    expect(box).to_have_value("Mine")
    box.press("Enter")
    refused = page.locator("#todo-refused")
    expect(refused).to_contain_text("This item has changed in the meantime. Current text: Theirs")
    page.keyboard.type("!")
    expect(refused.get_by_label("Your text:")).to_have_value("Mine!")
    refused.get_by_role("button", name="Save mine").click()
    reads(page, "Doing 1", "Mine!", "Item 3")
    reads(other, "Doing 1", "Mine!", "Item 3")
    expect(refused).to_be_empty()
    gate.set()
    at_rest(page)


def test_an_editor_outlives_other_words_of_the_agents_as_they_are_written(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    reworded = [{"content": "Other words", "status": "in_progress", "activeForm": "Doing it"}]
    reworded += [{"content": f"Item {n}", "status": "pending", "activeForm": f"Doing {n}"} for n in (2, 3)]
    look, go, last = threading.Event(), threading.Event(), threading.Event()
    again = growing(Reply(tool_calls=[("TodoWrite", {"items": reworded})]), "Othe", go)
    looks = Reply("I look", tool_calls=LOOK, stall_after=2, gate=look)
    scripted.model.script(todo(*THREE), looks, again, Reply(text="Done", stall_after=1, gate=last))
    begin(page, "Work")
    expect(items(page)).to_have_count(3)
    editor(page, 0).press_sequentially(" with care")
    look.set()
    expect(page.locator("#todo-panel .todo__text").first).to_contain_text("Othe")
    expect(page.locator("#todo-add")).to_have_value("")
    go.set()
    field = items(page).first.locator(".todo__editor textarea")
    expect(field).to_have_value("Item 1 with care")
    expect(page.locator("#todo-add")).to_have_value("")
    last.set()
    at_rest(page)


def test_what_was_written_of_a_skipped_item_is_back_with_it(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, **PHONE)
    gate = working(scripted, page)
    editor(page, 1).fill("Half a thought")
    items(page).nth(1).get_by_role("button", name="Skip").tap()
    expect(skipped_items(page)).to_contain_text(["Item 2"])
    expect(page.locator("#todo-add")).to_have_value("")
    page.get_by_role("button", name="Restore").tap()
    box = items(page).nth(1).locator(".todo__editor textarea")
    expect(box).to_be_visible()
    expect(box).to_have_value("Half a thought")
    items(page).nth(1).get_by_role("button", name="Save").tap()
    reads(page, "Doing 1", "Half a thought", "Item 3")
    gate.set()
    at_rest(page)


def test_a_field_keeps_a_phones_keyboard_as_add_is_pressed(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("completed", "pending"), Reply(text="Half of it."))
    page = visitors.enter(scripted, **PHONE)
    begin(page, "Plan")
    at_rest(page)
    panel(page).locator("summary").tap()
    add = page.locator("#todo-add")
    add.tap()
    for count, words in enumerate(("Buy milk", "Buy bread"), 3):
        add.press_sequentially(words)
        panel(page).get_by_role("button", name="Add", exact=True).tap()
        expect(items(page)).to_have_count(count)
        expect(add).to_be_focused()
        expect(add).to_be_in_viewport(ratio=1)


def test_above_a_phones_keyboard_a_full_list_says_so(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("409 (Conflict)")
    scripted.model.script(todo(*["completed"] * 3, *["pending"] * 16), Reply(text="Half of it."))
    page = visitors.enter(scripted, **PHONE)
    begin(page, "Plan")
    at_rest(page)
    panel(page).locator("summary").tap()
    page.set_viewport_size({"width": 390, "height": 480})
    page.locator("#todo-add").tap()
    page.locator("#todo-add").press_sequentially("One more")
    page.keyboard.press("Enter")
    expect(items(page)).to_have_count(20)
    page.locator("#todo-add").press_sequentially("And another")
    page.keyboard.press("Enter")
    refused = page.locator("#todo-refused")
    expect(refused).to_contain_text("The list is full: at most 20 items.")
    expect(refused.locator("p")).to_be_in_viewport(ratio=1)
    words = refused.get_by_label("Your text:")
    expect(words).to_have_value("And another")
    expect(words).to_be_focused()
    expect(words).to_be_in_viewport(ratio=1)
    expect(page.locator(".dock[data-writing]")).to_have_count(1)
    expect(refused.get_by_text("Discard")).to_be_in_viewport(ratio=1)
    refused.get_by_text("Discard").tap()
    expect(refused).to_be_empty()


def test_a_text_that_is_too_long_is_refused_and_not_cut(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("409 (Conflict)")
    scripted.model.script(todo("pending", "pending"), Reply(text="Begun."))
    page = visitors.enter(scripted)
    begin(page, "Plan")
    at_rest(page)
    panel(page).locator("summary").click()
    text = "Ask all of them. " * 30 + "And the last."
    page.locator("#todo-add").click()
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")
    refused = page.locator("#todo-refused")
    expect(refused).to_contain_text("An item can have at most 500 characters.")
    expect(refused.get_by_label("Your text:")).to_have_value(text)
    expect(items(page)).to_have_count(2)


IN_SIGHT = """() => {
    const { top, bottom } = document.querySelector(".dock__above").getBoundingClientRect();
    const all = document.querySelectorAll("#todo-panel .todo");
    const rects = [...all].map((item) => item.getBoundingClientRect());
    return rects.filter((rect) => rect.top >= top - 1 && rect.bottom <= bottom + 1).length;
}"""


def test_on_a_phone_a_full_list_stays_in_view_above_what_was_refused(
    scripted: Site, visitors: Visitors
) -> None:
    visitors.expected.append("409 (Conflict)")
    scripted.model.script(todo(*["completed"] * 3, *["pending"] * 2), Reply(text="Half of it."))
    page = visitors.enter(scripted, **PHONE)
    begin(page, "Plan")
    at_rest(page)
    panel(page).locator("summary").tap()
    page.locator("#todo-add").evaluate(PASTE, "\n".join(f"- Line {n}" for n in range(1, 25)))
    expect(items(page)).to_have_count(20)
    expect(page.locator("#todo-refused").get_by_label("Your text:")).to_have_value(re.compile("Line 24$"))
    expect(page.locator("#undo").get_by_role("status")).to_have_text("15 items added")
    until(page, lambda: page.evaluate(IN_SIGHT) >= 3)


@pytest.mark.parametrize("height", [720, 900])
def test_the_end_of_a_full_list_is_in_view_beside_what_was_refused(
    scripted: Site, visitors: Visitors, height: int
) -> None:
    visitors.expected.append("409 (Conflict)")
    scripted.model.script(todo(*["completed"] * 3, *["pending"] * 17), Reply(text="Half of it."))
    page = visitors.enter(scripted, viewport={"width": 1440, "height": height})
    begin(page, "Plan")
    at_rest(page)
    panel(page).locator("summary").click()
    for number in (1, 2):
        page.locator("#todo-add").fill("One more")
        page.keyboard.press("Enter")
        expect(page.locator("#todo-refused").get_by_label("Your text:")).to_have_count(number)
        expect(panel(page).locator(".todo-panel__foot")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("is_phone", [False, True])
def test_a_long_item_is_edited_in_several_lines(scripted: Site, visitors: Visitors, is_phone: bool) -> None:
    page = visitors.enter(scripted, **(PHONE if is_phone else {}))
    gate = working(scripted, page)
    box = editor(page, 1)
    low = box.bounding_box()
    box.fill(
        "Ask every supplier for prices, times of delivery and the smallest order " * (2 if is_phone else 4)
    )
    high = box.bounding_box()
    assert low
    assert high
    assert high["height"] > low["height"] + 30
    assert box.evaluate("place => place.scrollHeight <= place.clientHeight")
    box.press("ControlOrMeta+A")
    box.evaluate("place => place.setRangeText('Ask\\nthem', 0, place.value.length, 'end')")
    box.dispatch_event("input")
    box.press("Shift+Enter")  # a to-do has one line
    reads(page, "Doing 1", "Ask them", "Item 3")
    gate.set()
    at_rest(page)


@pytest.mark.parametrize("is_phone", [False, True])
def test_an_item_is_removed(scripted: Site, visitors: Visitors, is_phone: bool) -> None:
    page = visitors.enter(scripted, **(PHONE if is_phone else {}))
    gate = working(scripted, page)
    editor(page, 1).fill("Half a thought")
    remove = items(page).nth(1).get_by_role("button", name="Remove")
    box, end = remove.bounding_box(), items(page).nth(1).locator(".todo__end").bounding_box()
    assert box
    assert end
    assert box["x"] + box["width"] <= end["x"] or not is_phone
    remove.click()
    reads(page, "Doing 1", "Item 3")
    expect(page.locator("#todo-panel .todo")).to_have_count(2)
    expect(page.locator("#todo-add")).to_have_value("")
    expect(page.locator("#undo").get_by_role("status")).to_have_text("Item removed")
    expect(items(page).nth(1).locator(".todo__tick")).to_be_focused()
    page.locator("#undo").get_by_role("button", name="Undo").click()
    reads(page, "Doing 1", "Item 2", "Item 3")
    expect(page.locator("#undo")).to_be_empty()
    editor(page, 1)
    items(page).nth(1).get_by_role("button", name="Remove").click()
    reads(page, "Doing 1", "Item 3")
    page.locator("#undo").get_by_role("button", name="Close").click()
    expect(page.locator("#undo")).to_be_empty()
    gate.set()
    at_rest(page)
    page.reload()
    at_rest(page)
    panel(page).locator("summary").click()
    reads(page, "Item 1", "Item 3")
    expect(page.locator("#todo-panel .todo")).to_have_count(2)
    page.get_by_role("link", name="Plan history").click()
    expect(page.locator("#plan-stage")).to_contain_text("Item 2")


def test_items_with_the_same_text_are_skipped_and_removed_each_for_itself(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply(text="Yes?"))
    begin(page, "Hello")
    at_rest(page)
    page.get_by_text("Write your own plan").click()
    for count, text in enumerate(("Buy food", "Call", "Buy food"), 1):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        expect(items(page)).to_have_count(count)
    items(page).nth(0).hover()
    items(page).nth(0).get_by_role("button", name="Skip").click()
    reads(page, "Call", "Buy food")
    expect(skipped_items(page)).to_have_text("Skipped: Buy food Skipped")
    page.get_by_role("button", name="Restore Skipped: Buy food").click()
    reads(page, "Buy food", "Call", "Buy food")
    editor(page, 0)
    items(page).nth(0).get_by_role("button", name="Remove").click()
    reads(page, "Call", "Buy food")
    page.locator("#undo").get_by_role("button", name="Undo").click()
    reads(page, "Buy food", "Call", "Buy food")


def test_words_for_an_item_that_somebody_skips_are_kept(scripted: Site, visitors: Visitors) -> None:
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    gate = working(scripted, page)
    editor(page, 1).fill("Mine")
    other.goto(page.url)
    other.wait_for_selector(LIVE)
    items(other).nth(1).hover()
    items(other).nth(1).get_by_role("button", name="Skip").click()
    reads(page, "Doing 1", "Item 3")
    expect(page.locator("#todo-add")).to_have_value("Mine")
    expect(page.locator("#todo-status")).to_contain_text("Your text is in the field for a new item")
    gate.set()
    at_rest(page)


def test_escape_gives_up_and_an_input_methods_enter_saves_nothing(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    box = editor(page, 1)
    box.fill("Other")
    box.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True, "cancelable": True})
    box.dispatch_event("keydown", {"key": "Enter", "keyCode": 229, "bubbles": True, "cancelable": True})
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(editor(page, 1)).to_have_value("Item 2")
    box.fill(" ")
    box.press("Enter")
    expect(box).to_be_hidden()
    expect(page.locator("#todo-refused")).to_be_empty()
    page.fill("#todo-add", "Half")
    page.press("#todo-add", "Escape")
    expect(page.locator("#todo-add")).to_have_value("")
    expect(page.locator("#todo-add")).to_be_focused()
    page.press("#todo-add", "Escape")
    expect(page.locator("#composer-text")).to_be_focused()
    expect(page.locator("#stop-hint")).to_be_empty()
    gate.set()
    at_rest(page)
    reads(page, "Item 1", "Item 2", "Item 3")


def test_a_plan_of_ones_own_is_told_with_the_next_message(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply(text="Yes?"), Reply(text="I see."))
    begin(page, "Hello")
    at_rest(page)
    page.get_by_text("Write your own plan").click()
    page.keyboard.press("Escape")
    expect(page.locator("#todo-first")).to_be_hidden()
    expect(page.locator("#todo-begin summary")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("Buy milk")
    page.keyboard.press("Enter")
    is_open(page)
    expect(page.locator("#todo-add")).to_be_focused()
    page.keyboard.type("Drink it")
    page.keyboard.press("Enter")
    reads(page, "Buy milk", "Drink it")
    expect(page.locator("#todo-begin")).to_be_hidden()
    page.fill("#composer-text", "Go")
    page.press("#composer-text", "Enter")
    until(page, lambda: len(scripted.model.requests) == 2)
    said = scripted.model.requests[1]["messages"][-1]["content"]
    assert said.startswith('<todo-change>The user changed the todo list: added "Buy milk"; added "Drink it".')
    assert said.endswith("Go")
    expect(page.locator("#transcript")).to_contain_text("I see.")
    at_rest(page)
    is_open(page)
    items(page).first.get_by_role("button", name="Check off").click()
    expect(items(page).first).to_have_attribute("data-status", "completed")
    is_open(page)  # as the user left it, though a turn has ended since the list was written

    scripted.model.script(Reply(text="As you like."))
    page.locator("#unfinished").get_by_role("button", name="Dismiss").click()
    is_folded(page)
    page.locator("#undo").get_by_role("button", name="Undo").click()
    is_open(page)
    page.locator("#unfinished").get_by_role("button", name="Dismiss").click()
    is_folded(page)
    page.fill("#composer-text", "Something else")
    page.press("#composer-text", "Enter")
    expect(page.locator("#transcript")).to_contain_text("As you like.")
    at_rest(page)
    expect(page.locator("#todo-begin").get_by_text("To-dos")).to_be_visible()
    expect(page.locator("#todo-first")).to_be_hidden()


def test_pressed_again_in_the_same_place_the_same_item_moves(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    page.clock.set_fixed_time("2026-01-01T12:00:00Z")
    third = items(page).nth(2)
    third.hover()
    place = third.get_by_role("button", name="Move up").bounding_box()
    assert place
    spot = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.mouse.click(*spot)
    reads(page, "Doing 1", "Item 3", "Item 2")
    page.mouse.click(*spot)
    reads(page, "Item 3", "Doing 1", "Item 2")
    page.clock.set_fixed_time("2026-01-01T12:00:02Z")
    page.mouse.click(*spot)
    reads(page, "Item 3", "Item 2", "Doing 1")

    # At the end of the list a button does not pretend to move anything.
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    for place, name, key in ((0, "Move up", "Alt+ArrowUp"), (2, "Move down", "Alt+ArrowDown")):
        item = items(page).nth(place)
        item.hover()
        button = item.get_by_role("button", name=name)
        expect(button).to_have_attribute("aria-disabled", "true")
        button.click(force=True)
        item.locator("button.todo__line").press(key)
    reads(page, "Item 3", "Item 2", "Doing 1")
    assert sent == []
    expect(page.locator("#todo-panel [aria-disabled]")).to_have_count(2)
    gate.set()
    at_rest(page)


def test_pressed_again_before_the_answer_is_there(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    answers: list[Callable[[], None]] = []

    def hold(route: Route) -> None:
        response = route.fetch()
        answers.append(lambda: route.fulfill(response=response))

    page.route("**/todos/", hold, times=1)
    third = items(page).nth(2)
    third.hover()
    third.get_by_role("button", name="Move up").click()
    reads(page, "Doing 1", "Item 3", "Item 2")
    items(page).nth(1).get_by_role("button", name="Move up").click()
    answers[0]()
    reads(page, "Item 3", "Doing 1", "Item 2")
    gate.set()
    at_rest(page)


def test_on_a_phone(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, **PHONE)
    gate = working(scripted, page)
    third = items(page).nth(2)
    expect(third.get_by_role("button", name="Skip")).to_be_hidden()
    third.locator("button.todo__line").tap()
    skip = third.get_by_role("button", name="Skip")
    expect(skip).to_be_visible()
    box = skip.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    third.get_by_role("button", name="Move up").tap()
    reads(page, "Doing 1", "Item 3", "Item 2")
    items(page).nth(1).get_by_role("button", name="Skip").tap()
    reads(page, "Doing 1", "Item 2")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    gate.set()
    at_rest(page)


def test_without_script_the_forms_do_it(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    gate.set()
    at_rest(page)
    plain = visitors.enter(scripted, java_script_enabled=False)
    plain.goto(page.url)
    panel(plain).locator("summary").click()
    boxes = plain.locator("#todo-panel .todo__editor textarea")
    boxes.nth(1).fill("Another")
    items(plain).nth(1).get_by_role("button", name="Save").click()
    reads(plain, "Item 1", "Another", "Item 3")
    plain.fill("#todo-add", "Mine")
    items(plain).nth(0).get_by_role("button", name="Check off").click()
    reads(plain, "Item 1", "Another", "Item 3", "Mine")
    expect(items(plain).nth(0)).to_have_attribute("data-status", "completed")
    items(plain).nth(2).get_by_role("button", name="Skip").click()
    reads(plain, "Item 1", "Another", "Mine")


def test_what_the_agent_lists_again_is_not_offered_back(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    looks = Reply(text="I work", tool_calls=[("read_file", {"path": "."})], stall_after=1, gate=gate)
    again = [todo(*["completed"] * 3), Reply(text="Done.")]
    scripted.model.script(todo(*THREE), looks, *again, *again)
    page = visitors.enter(scripted)
    begin(page, "Work")
    is_open(page)
    expect(items(page)).to_have_count(3)
    items(page).nth(2).hover()
    items(page).nth(2).get_by_role("button", name="Skip").click()
    offer = page.get_by_role("button", name="Restore Skipped: Item 3")
    expect(offer).to_be_visible()
    expect(items(page)).to_have_count(2)
    gate.set()
    at_rest(page)
    expect(panel(page)).to_have_attribute("data-total", "2")
    send(page, "Do all three")
    at_rest(page)
    expect(panel(page)).to_have_attribute("data-total", "3")
    panel(page).locator("summary").click()
    expect(items(page)).to_have_count(3)
    expect(offer).to_have_count(0)
    expect(skipped_items(page)).to_have_count(0)


def test_a_plan_is_not_offered_once_no_turn_is_left(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."))
    page = visitors.enter(scripted)
    begin(page, "Hello")
    at_rest(page)
    expect(page.get_by_text("Write your own plan")).to_be_visible()
    page.locator(".turn").hover()
    page.get_by_role("link", name="Delete turn").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".turn")).to_have_count(0)
    expect(page.get_by_text("Write your own plan")).to_be_hidden()


def test_deleting_a_turn_takes_the_offer_to_undo_another_change_away(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(
        todo("completed", "pending", "pending"), Reply(text="So far."), Reply(text="Hello.")
    )
    page = visitors.enter(scripted)
    begin(page, "Plan it")
    at_rest(page)
    send(page, "Hello")
    at_rest(page)
    panel(page).locator("summary").click()
    editor(page, 1)
    items(page).nth(1).get_by_role("button", name="Remove").click()
    expect(page.locator("#undo").get_by_role("status")).to_have_text("Item removed")
    page.locator(".turn").last.hover()
    page.get_by_role("link", name="Delete turn").last.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator("#undo")).to_be_empty()


def test_whoever_goes_on_typing_loses_no_letter(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply(text="Yes?"))
    begin(page, "Hello")
    at_rest(page)
    waiting: list[Route] = []
    page.route("**/todos/", lambda route: waiting.append(route), times=1)
    page.get_by_text("Write your own plan").click()
    for text in ("Buy milk", "Drink it", "Wash up"):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
    page.keyboard.type("And re")
    until(page, lambda: waiting)
    waiting.pop().continue_()
    reads(page, "Buy milk", "Drink it", "Wash up")
    expect(page.locator("#todo-add")).to_be_focused()
    page.keyboard.type("st")
    expect(page.locator("#todo-add")).to_have_value("And rest")


def test_items_are_added_without_a_connection(scripted: Site, visitors: Visitors) -> None:
    page = without_connection(scripted, visitors)
    field = page.locator("#todo-add")
    for text, waiting in (("Buy milk", "Buy milk …"), ("Drink it", "Buy milk  Drink it …")):
        field.fill(text)
        field.press("Enter")
        expect(field).to_have_attribute("placeholder", waiting)
        expect(field).to_have_value("")
    expect(page.get_by_role("alert")).to_contain_text("saved once it is back")
    page.context.set_offline(False)
    reads(page, "Item 1", "Item 2", "Item 3", "Buy milk", "Drink it")
    expect(field).to_have_attribute("placeholder", "Add a to-do")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_could_not_be_added_is_in_its_field_again(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["status of 500"]
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    page.route("**/todos/", lambda route: route.fulfill(status=500), times=1)
    field = page.locator("#todo-add")
    field.fill("  ")
    field.press("Enter")
    expect(field).to_have_value("")
    field.fill("Buy milk")
    field.press("Enter")
    expect(page.locator(".warning")).to_contain_text("Could not save")
    expect(field).to_have_value("Buy milk")
    field.press("Enter")
    expect(items(page).last.locator(".todo__text")).to_contain_text("Buy milk")
    expect(field).to_have_value("")
    gate.set()
    at_rest(page)


@pytest.mark.parametrize("arrived", [True, False])
def test_an_item_whose_answer_is_lost_is_added_once(
    scripted: Site, visitors: Visitors, arrived: bool
) -> None:
    visitors.expected += ["ERR_FAILED", "Failed to fetch"]
    page = visitors.enter(scripted)
    gate = working(scripted, page)

    def lose(route: Route) -> None:
        if arrived:
            route.fetch()
        route.abort()

    page.route("**/todos/", lose, times=1)
    field = page.locator("#todo-add")
    with page.expect_response("**/todos/"):
        assert not field.evaluate(PASTE, "Buy milk\nDrink it")
    reads(page, "Doing 1", "Item 2", "Item 3", "Buy milk", "Drink it")
    gate.set()
    at_rest(page)


def test_a_change_shows_that_it_is_on_its_way(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    held: list[Route] = []
    page.route("**/todos/", lambda route: held.append(route))

    def let_go() -> None:
        until(page, lambda: held)
        held.pop().continue_()

    second = items(page).nth(1)
    second.get_by_role("button", name="Check off").click()
    expect(second).to_have_attribute("data-waits", "true")
    let_go()
    expect(second).to_have_attribute("data-status", "completed")
    expect(second).not_to_have_attribute("data-waits", "true")
    second.hover()
    second.get_by_role("button", name="Move down").click()
    expect(second).to_have_attribute("aria-busy", "true")
    other = visitors.enter(scripted)
    other.goto(page.url)
    items(other).nth(2).get_by_role("button", name="Check off").click()
    expect(items(page).nth(2)).to_have_attribute("data-status", "completed")  # the list is drawn again
    expect(second).to_have_attribute("aria-busy", "true")
    let_go()
    reads(page, "Doing 1", "Item 3", "Item 2")
    expect(page.locator("#todo-panel [aria-busy]")).to_have_count(0)
    field = page.locator("#todo-add")
    field.fill("Buy milk")
    field.press("Enter")
    expect(field).to_have_attribute("placeholder", "Buy milk …")
    let_go()
    reads(page, "Doing 1", "Item 3", "Item 2", "Buy milk")
    expect(field).to_have_attribute("placeholder", "Add a to-do")
    gate.set()
    at_rest(page)


def statuses(page: Page) -> list[str]:
    found: list[str] = items(page).evaluate_all("items => items.map((item) => item.dataset.status)")
    return found


def without_connection(scripted: Site, visitors: Visitors) -> Page:
    """A turn that has ended with three items, in a browser that has no connection any more."""
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch", "htmx:ws:error", "WebSocket"]
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    gate.set()
    at_rest(page)
    page.locator("#todo-panel > summary").click()
    page.context.set_offline(True)
    return page


def test_items_are_checked_off_without_a_connection(scripted: Site, visitors: Visitors) -> None:
    page = without_connection(scripted, visitors)
    last = items(page).nth(2)
    last.get_by_role("button", name="Check off").click(trial=True)  # once it stands still
    place = last.bounding_box()
    for number in (0, 1, 2):
        items(page).nth(number).get_by_role("button", name="Check off").click()
        expect(items(page).nth(number)).to_have_attribute("data-waits", "true")
    expect(page.get_by_role("alert")).to_contain_text("saved once it is back")
    assert last.bounding_box() == place, "nothing moves under the finger"
    items(page).nth(1).get_by_role("button", name="Check off").click()
    expect(items(page).nth(1)).not_to_have_attribute("data-waits", "true")
    assert statuses(page) == THREE, "as the server knows it"
    page.context.set_offline(False)
    expect(page.locator("[data-waits]")).to_have_count(0)
    until(page, lambda: statuses(page) == ["completed", "pending", "completed"])
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("act", ["reword", "skip", "remove", "move"])
@pytest.mark.parametrize("stays", [True, False], ids=["there", "from another page"])
def test_any_change_is_saved_once_the_connection_is_back(
    scripted: Site, visitors: Visitors, act: str, stays: bool
) -> None:
    page = without_connection(scripted, visitors)
    second = items(page).nth(1)
    if act in ("reword", "remove"):
        editor(page, 1).fill("Other words")
    if act == "reword":
        page.keyboard.press("Enter")
    elif act == "move":
        second.locator("button.todo__line").focus()
        page.keyboard.press("Alt+ArrowUp")
    else:
        second.get_by_role("button", name=act.capitalize(), exact=True).click()
    expect(page.locator(".warning")).to_contain_text("saved once it is back")
    expect(second).to_have_attribute("aria-busy", "true")
    if not stays:
        page.locator("#sidebar").get_by_role("link", name="Board").click()
        page.context.set_offline(False)
        page.get_by_role("link", name="Board").click()
        expect(page).to_have_title(re.compile("Board"))
        page.go_back()
    page.context.set_offline(False)
    saved = {"reword": ["Item 1", "Other words", "Item 3"], "move": ["Item 2", "Item 1", "Item 3"]}
    reads(page, *saved.get(act, ["Item 1", "Item 3"]))
    expect(page.locator(".todo[data-editing], .todo[aria-busy], .warning")).to_have_count(0)
    expect(page.locator("#todo-panel .todo[data-status=skipped]")).to_have_count(int(act == "skip"))


def test_what_is_written_on_while_the_change_waits_is_kept(scripted: Site, visitors: Visitors) -> None:
    page = without_connection(scripted, visitors)
    field = editor(page, 1)
    field.fill("Other words")
    field.press("Enter")
    expect(items(page).nth(1)).to_have_attribute("aria-busy", "true")
    field.press_sequentially(" and more")
    page.context.set_offline(False)
    expect(items(page).nth(1)).to_have_attribute("data-words", "Other words")
    expect(items(page).nth(1)).not_to_have_attribute("aria-busy", "true")
    expect(field).to_have_value("Other words and more")
    field.press("Enter")
    reads(page, "Item 1", "Other words and more", "Item 3")
    expect(page.locator(".todo[data-editing], .warning")).to_have_count(0)
    expect(page.locator("#todo-refused")).to_be_empty()


@pytest.mark.parametrize("how", ["reload", "reload before the line is back", "link"])
def test_what_was_checked_off_is_saved_from_another_page(
    scripted: Site, visitors: Visitors, how: str
) -> None:
    page = without_connection(scripted, visitors)
    address = page.url
    items(page).nth(1).get_by_role("button", name="Check off").click()
    expect(items(page).nth(1)).to_have_attribute("data-waits", "true")
    page.fill("#todo-add", "Buy milk")
    page.press("#todo-add", "Enter")
    expect(page.locator("#todo-add")).to_have_attribute("placeholder", "Buy milk …")
    page.context.set_offline(False)
    if how != "link":
        if how != "reload":
            page.route("**/todos/", lambda route: route.abort("internetdisconnected"), times=2)
        page.reload()
        page.locator("#todo-panel > summary").click()
    else:
        page.get_by_role("link", name="Board").click()
        expect(page).to_have_title(re.compile("Board"))
        page.go_back()
    expect(items(page).nth(1)).to_have_attribute("data-status", "completed")
    reads(page, "Item 1", "Item 2", "Item 3", "Buy milk")
    page.goto(address)
    reads(page, "Item 1", "Item 2", "Item 3", "Buy milk")
    expect(page.locator("#todo-add")).to_have_value("")


def test_a_pasted_list_is_an_item_for_each_line(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = working(scripted, page)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.fill("#todo-add", "Buy ")
    field = page.locator("#todo-add")
    assert field.evaluate(PASTE, "one line"), "the browser puts it in"
    assert not field.evaluate(PASTE, "milk\n- [ ] Drink it\n\n2. Wash up\n2. Wash up\n")
    reads(page, "Doing 1", "Item 2", "Item 3", "Buy milk", "Drink it", "Wash up", "Wash up")
    expect(field).to_have_value("")
    expect(page.locator("#todo-refused")).to_be_empty()
    assert len(sent) == 1, "one revision"
    undo = page.locator("#undo")
    expect(undo.get_by_role("status")).to_have_text("4 items added")
    undo.get_by_role("button", name="Undo").click()
    reads(page, "Doing 1", "Item 2", "Item 3")
    expect(undo).to_be_empty()
    assert len(sent) == 2

    # Not once one of them was changed.
    field.evaluate(PASTE, "Lay the table\nLight a candle")
    expect(undo.get_by_role("status")).to_have_text("2 items added")
    items(page).nth(1).get_by_role("button", name="Check off").click()
    expect(items(page).nth(1)).to_have_attribute("data-status", "completed")
    expect(undo.get_by_role("status")).to_have_text("2 items added")
    last = items(page).last
    place = last.bounding_box()
    last.get_by_role("button", name="Check off").click()
    expect(undo.get_by_role("button", name="Undo")).to_have_count(0)
    assert last.bounding_box() == place, "nothing moves under the finger"
    page.locator("#composer-text").click()
    expect(undo).to_be_empty()
    gate.set()
    at_rest(page)


def test_what_no_longer_fits_of_a_pasted_list_is_kept(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["409 (Conflict)"]
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    gate = working(scripted, page)
    other.goto(page.url)
    other.wait_for_selector(LIVE)
    page.locator("#todo-add").evaluate(PASTE, "\n".join(f"- Line {n}" for n in range(1, 21)))
    expect(items(page)).to_have_count(20)
    refused = page.locator("#todo-refused")
    text = refused.get_by_label("Your text:")
    expect(text).to_have_value("Line 18\nLine 19\nLine 20")
    expect(page.locator("#undo").get_by_role("status")).to_have_text("17 items added")
    expect(page.locator("#composer-text")).to_be_in_viewport(ratio=1)

    text.fill("Line 18\nLine 19\nLine 20, in other words")
    page.reload()
    page.wait_for_selector(LIVE)
    expect(text).to_have_value("Line 18\nLine 19\nLine 20, in other words")

    # What is refused next stands beneath it, and whoever writes on meanwhile is not interrupted.
    waiting: list[Route] = []
    page.route("**/todos/", lambda route: waiting.append(route), times=1)
    refused.get_by_role("button", name="Add").click()
    page.fill("#todo-add", "One m")
    until(page, lambda: waiting)
    old = text.element_handle()
    waiting.pop().continue_()
    until(page, lambda: not old.evaluate("field => field.isConnected"))
    page.keyboard.type("ore")
    page.keyboard.press("Enter")
    expect(text).to_have_count(2)
    expect(text.first).to_have_value("Line 18\nLine 19\nLine 20, in other words")
    expect(text.last).to_have_value("One more")
    for n in (4, 5, 6):
        items(other).nth(n).hover()
        items(other).nth(n).get_by_role("button", name="Skip").click()
        expect(skipped_items(other)).to_have_count(n - 3)
        other.keyboard.press("Escape")
    refused.get_by_role("button", name="Add").first.click()
    expect(items(page).last).to_contain_text("Line 20, in other words")
    expect(text).to_have_count(1)
    gate.set()
    at_rest(page)


@pytest.mark.parametrize("height", [700, 800, 1000])
def test_a_long_list_ends_at_its_last_item(scripted: Site, visitors: Visitors, height: int) -> None:
    page = visitors.enter(scripted, viewport={"width": 1280, "height": height})
    scripted.model.script(todo(*["pending"] * 20), Reply(text="A long list."))
    begin(page, "Plan")
    at_rest(page)
    panel(page).locator("summary").click()
    is_open(page)
    places = [panel(page).locator(".todo-panel__list"), page.locator(".dock__above")]
    for place in places:
        place.evaluate("place => { place.scrollTop = place.scrollHeight; }")
    expect(items(page).last).to_be_in_viewport(ratio=1)
    expect(panel(page).locator(".todo-panel__foot")).to_be_in_viewport(ratio=1)
    scrolled = [place.evaluate("place => place.scrollTop > 1") for place in places]
    assert scrolled == ([False, True] if height < 704 else [True, False]), "not one within the other"


def test_the_foot_of_an_open_list_is_in_view_beside_a_long_draft(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("completed", *["pending"] * 6), Reply(text="One is done."))
    page = visitors.enter(scripted, viewport={"width": 1280, "height": 800})
    begin(page, "Work")
    at_rest(page)
    panel(page).locator("summary").click()
    is_open(page)
    page.fill("#composer-text", "\n".join(f"Line {number}" for number in range(12)))
    foot, dismiss = panel(page).locator(".todo-panel__foot"), page.get_by_role("button", name="Dismiss")
    until(page, lambda: page.locator(".dock__above").evaluate("box => box.scrollHeight > box.clientHeight"))
    expect(foot).to_be_in_viewport(ratio=1)
    around, place = foot.bounding_box() or {}, dismiss.bounding_box() or {}
    assert around["y"] <= place["y"] <= place["y"] + place["height"] <= around["y"] + around["height"]


@pytest.mark.parametrize("size", [(360, 640), (834, 1112)])
def test_an_open_list_that_goes_on_behind_its_foot_fades_above_it(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    states = ["in_progress", *["pending"] * (19 if size[0] > 400 else 5)]
    scripted.model.script(todo(*states), Reply(text="I stop"))
    page = visitors.enter(scripted, viewport={"width": size[0], "height": size[1]})
    begin(page, "Work")
    at_rest(page)
    panel(page).locator("summary").click()
    is_open(page)
    foot = panel(page).locator(".todo-panel__foot")
    fade = "foot => Number(getComputedStyle(foot, '::before').opacity)"
    until(page, lambda: foot.evaluate(fade) == 1)
    add = panel(page).locator(".todo-add")
    add.evaluate("add => add.scrollIntoView({ block: 'end' })")
    until(page, lambda: foot.evaluate(fade) < 0.5)


# As a live region is, when its version changed.
DRAWN_ANEW = """async (region) => {
  const text = await (await fetch(location.href)).text();
  const selectOOB = `${region}:outerMorph`;
  await htmx.swap({ sourceElement: document.body, target: "#content", swap: "none", selectOOB, text });
}"""


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_no_item_stays_faded_once_all_have_room(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    gate = threading.Event()
    states = [*["completed"] * 7, "in_progress"]
    scripted.model.script(todo(*states), Reply(text="I work", stall_after=1, gate=gate))
    page = visitors.enter(scripted, viewport={"width": size[0], "height": size[1]})
    begin(page, "Work")
    is_open(page)
    place = panel(page).locator(".todo-panel__list")
    masked = "place => getComputedStyle(place).maskImage !== 'none'"
    until(page, lambda: place.evaluate("place => place.scrollTop > 0") and place.evaluate(masked))
    gate.set()
    at_rest(page)
    panel(page).locator("summary").click()
    is_open(page)
    until(page, lambda: place.evaluate("place => place.scrollHeight <= place.clientHeight"))
    until(page, lambda: not place.evaluate(masked))
    page.evaluate(DRAWN_ANEW, "#todo-slot")
    assert not place.evaluate(masked)


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_items_stay_where_they_are_as_the_last_one_is_checked_off(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    scripted.model.script(todo("completed", "in_progress"), Reply(text="Half of it."))
    page = visitors.enter(scripted, viewport={"width": size[0], "height": size[1]})
    begin(page, "Work")
    at_rest(page)
    panel(page).locator("summary").click()
    expect(page.locator("#unfinished").get_by_role("button", name="Continue")).to_be_visible()
    timed = (
        "document.getAnimations().filter((each) => each.timeline === document.timeline)"  # not by scrolling
    )
    moves = f"{timed}.some((each) => each.playState === 'running')"
    until(page, lambda: not page.evaluate(moves))
    before = items(page).nth(0).bounding_box()
    items(page).nth(1).locator(".todo__tick").click()
    expect(page.locator("#unfinished")).to_be_empty()
    assert items(page).nth(0).bounding_box() == before
    items(page).nth(1).locator(".todo__tick").click()
    expect(page.locator("#unfinished")).not_to_be_empty()
    assert items(page).nth(0).bounding_box() == before
    page.get_by_role("link", name="Plan history").click()
    expect(page.locator("#plan-stage")).to_be_visible()


def test_the_list_of_an_earlier_turn_is_shown_as_it_was(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("completed", "pending"), Reply(text="Half of it."), Reply(text="Hello."))
    page = visitors.enter(scripted)
    begin(page, "Work")
    at_rest(page)
    panel(page).locator("summary").click()
    items(page).nth(1).locator(".todo__tick").click()
    expect(page.locator(".todo-panel__count")).to_have_text("2/2")
    page.fill("#composer-text", "Hello?")
    page.press("#composer-text", "Enter")
    expect(page.locator("#transcript")).to_contain_text("Hello.")
    at_rest(page)
    link = page.locator(".turn__list")
    expect(link).to_contain_text("1/2")
    link.click()
    expect(page.locator(".plan__where")).to_contain_text("1/2")


def test_the_list_that_is_shown_is_unfolded_and_folded_from_its_turn(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(todo("completed", "completed"), Reply(text="Done."), Reply(text="Hello."))
    page = visitors.enter(scripted)
    begin(page, "Work")
    at_rest(page)
    page.fill("#composer-text", "Hello?")
    page.press("#composer-text", "Enter")
    expect(page.locator("#transcript")).to_contain_text("Hello.")
    at_rest(page)
    for _ in range(2):
        page.locator(".turn__list").click()
        is_open(page)
        page.locator(".turn__list").click()
        expect(panel(page)).to_be_hidden()  # as the list of an earlier turn


def test_a_dismissed_list_stays_open_as_it_is_changed(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("in_progress", "pending"), Reply(text="Which one?"))
    page = visitors.enter(scripted)
    begin(page, "Work")
    at_rest(page)
    page.locator("#unfinished").get_by_role("button", name="Dismiss").click()
    expect(page.locator("#undo")).to_contain_text("Plan of “Work” dismissed.")
    expect(panel(page).locator("summary").get_by_text("Dismissed")).to_be_visible()
    is_folded(page)
    panel(page).locator("summary").click()
    tick = items(page).nth(0).locator(".todo__tick")
    tick.click()
    expect(items(page).nth(0)).to_have_attribute("data-status", "completed")
    expect(page.locator("#unfinished")).not_to_be_empty()
    is_open(page)
    expect(tick).to_be_focused()
    expect(page.locator("#undo")).to_be_empty()  # there is nothing to undo any more
    page.reload()
    page.wait_for_selector(LIVE)
    is_open(page)
