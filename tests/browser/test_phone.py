"""A telephone: what spans its width, what shows that it scrolls, and the site as an app."""

from __future__ import annotations

import struct
import threading
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Reply
from tests.browser.line import Line
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    TOPMOST,
    at_rest,
    begin,
    choose_profile,
    is_folded,
    is_open,
    last_turn,
    panel,
    send,
    todo,
    until,
)
from tests.browser.test_approvals import begin as begin_asking_first

WIDTH = 390
LONG_NAME = "an-organisation/a-very-long-name-of-a-large-model-with-a-quantisation-q4-k-m"
PAGES = ["/", "/conversations/", "/board/", "/settings/connections/", "/settings/connections/add/"]
PAGES += ["/settings/profiles/", "/settings/profiles/add/", "/settings/usage/", "/settings/plans/"]
PAGES += ["/settings/preferences/", "/settings/preferences/password/"]
# Whether the place has room for the first word of its text, which is too long for it.
FIRST_WORD_IS_SHOWN = """(place) => {
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  let text;
  do text = texts.nextNode(); while (!text.data.includes("تخطيط"));
  const range = document.createRange();
  range.setStart(text, text.data.indexOf("تخطيط"));
  range.setEnd(text, text.data.indexOf("تخطيط") + 5);
  const [word, room] = [range, place].map((each) => each.getBoundingClientRect());
  return place.scrollWidth > place.clientWidth && word.left >= room.left - 1 && word.right <= room.right + 1;
}"""
TABLE = "| " + " | ".join(f"column number {n}" for n in range(9)) + " |\n" + "|---" * 9 + "|\n"


def box(place: Locator) -> dict[str, float]:
    found = place.bounding_box()
    assert found
    return dict(found)


def fades(place: Locator) -> list[float]:
    """How far it fades at its start and its end, in pixels."""
    names = ["--fade-start", "--fade-end"]
    style = "(place, name) => parseFloat(getComputedStyle(place).getPropertyValue(name))"
    return [place.evaluate(style, name) for name in names]


def test_the_board_shows_whole_titles(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    scripted.model.script(todo("completed", "pending"), Reply(text="Half of it."))
    title = "Sort all of the notes of the last three years by year and by what they are about"
    begin(page, title)
    at_rest(page)
    page.goto("/board/")
    shown = page.locator(".board-row__title", has_text=title).first
    expect(shown).to_be_visible()
    width, needed = shown.evaluate("title => [title.clientWidth, title.scrollWidth]")  # the row is redrawn
    assert needed <= width
    assert width > 0.75 * WIDTH
    assert page.evaluate("document.documentElement.scrollWidth") == WIDTH


def test_the_beginning_of_an_arabic_title_is_shown(scripted: Site, visitors: Visitors) -> None:
    title = "تخطيط الحديقة والزهور في فصل الربيع القادم مع العائلة"
    items = [{"content": f"{title} كلها", "status": "in_progress", "activeForm": f"{title} كلها"}]
    scripted.model.script(Reply(tool_calls=[("TodoWrite", {"items": items})]), Reply(text="Which?"))
    page = visitors.enter(scripted, viewport={"width": 360, "height": 780}, has_touch=True, is_mobile=True)
    begin(page, title)
    at_rest(page)

    def begins_in_view(place: Locator) -> None:
        expect(place).to_contain_text(title[:20])
        # The palette's list comes anew with each letter.
        until(page, lambda: place.evaluate(FIRST_WORD_IS_SHOWN))

    begins_in_view(page.locator(".bar__name"))
    begins_in_view(page.locator(".todo-panel__current"))
    page.get_by_role("button", name="Conversations").tap()
    begins_in_view(page.locator("#sidebar .conversation-row__head").first)
    page.keyboard.press("Control+k")
    page.keyboard.type("الحديقة")
    begins_in_view(page.locator("#palette .option__title").first)
    here = page.url
    for name in ("plan", "share"):
        page.goto(f"{here}{name}/")
        begins_in_view(page.locator("h1 > bdi"))


def test_the_days_of_the_usage_scroll_in_their_place(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    scripted.model.script(Reply(text="Hello."))
    page.goto(f"/?model=:{LONG_NAME}")
    page.fill("#composer-text", "Hello")
    page.tap("#send")
    page.wait_for_selector(LIVE)
    at_rest(page)
    page.goto("/settings/usage/")
    page.get_by_text("By day").tap()
    days = page.locator(".usage-days .usage-table")
    expect(days).to_be_visible()
    assert days.evaluate("table => table.scrollWidth > table.clientWidth")
    assert page.locator("#content").evaluate("content => content.scrollWidth") == WIDTH


def test_a_tag_can_be_renamed_on_a_narrow_phone(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    begin(page, "Hello")
    page.get_by_role("button", name="Conversation menu").tap()
    page.locator("#conversation-menu").get_by_label("Tag", exact=True).fill("travel")
    page.locator("#conversation-menu").get_by_role("button", name="Add").tap()
    expect(page.locator("#conversation-menu .tag")).to_have_count(1)
    page.goto("/conversations/tags/")
    row = page.locator(".tag-rows > li").filter(has=page.locator("[value=travel]"))
    expect(row.get_by_role("button", name="Rename")).to_be_in_viewport(ratio=1)
    assert page.locator("#content").evaluate("content => content.scrollWidth") == 320


def test_a_dot_at_the_menu_tells_of_what_waits_elsewhere(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    other = visitors.enter(scripted)
    gate = threading.Event()
    scripted.model.script(Reply(text="Well.", gate=gate), Reply(tool_calls=[("bash", {"command": "pwd"})]))
    begin(page, "Hello")
    other.goto("/board/")
    for mark in other.get_by_role("button", name="Mark all as read").all():
        mark.click()
    count, dot = page.locator(".board-link > .count"), page.locator(".bar__menu")
    expect(count).to_have_count(0)
    has_dot = "menu => getComputedStyle(menu, '::after').content != 'none'"
    assert not dot.evaluate(has_dot)
    begin_asking_first(other)
    expect(count).to_have_count(1)
    assert dot.evaluate(has_dot)
    gate.set()
    at_rest(page)


def test_the_page_itself_never_scrolls(scripted: Site, visitors: Visitors) -> None:
    """The content scrolls in its own place; what only a screen reader reads makes no page longer."""
    page = visitors.enter(scripted)
    scripted.model.script(todo("completed", *["pending"] * 9), Reply(text="Done."))
    own = [begin(page, "Make a plan")]
    at_rest(page)
    scripted.model.script(Reply(tool_calls=[("bash", {"command": "pwd"})]))
    begin_asking_first(page)
    page.locator(".approval").wait_for()
    own.append(f"{own[0]}plan/")
    for address in (*PAGES, *own):
        page.goto(address)
        for size in ((WIDTH, 844), (320, 640), (640, 400), (1280, 800)):
            page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
            longer = page.evaluate("document.scrollingElement.scrollHeight - innerHeight")
            assert longer <= 0, f"{address} at {size} is {longer} pixels too long"


@pytest.mark.parametrize("size", [(390, 420), (320, 300)])
def test_send_is_in_view_above_a_keyboard(scripted: Site, visitors: Visitors, size: tuple[int, int]) -> None:
    scripted.model.script(todo("completed", "pending"), Reply(text="Half of it."))
    width, height = size
    viewport = {"width": width, "height": height}
    page = visitors.enter(scripted, viewport=viewport, has_touch=True, is_mobile=True)
    begin(page, "Make a plan")
    at_rest(page)
    files = [{"name": f"report {n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(3)]
    page.set_input_files("#composer-files", files)  # type: ignore[arg-type]
    expect(page.locator(".attached")).to_have_count(3)
    for text in ("Look at these", "one\ntwo\nthree\nfour\nfive\nsix"):
        page.fill("#composer-text", text)
        place = box(page.locator("#send"))
        assert place["y"] + place["height"] <= height
        expect(page.locator("#send")).to_be_in_viewport(ratio=1)
    page.tap("#send")
    expect(page.locator(".turn")).to_have_count(2)


@pytest.mark.parametrize("height", [420, 480, 540, 600])
def test_send_is_in_view_above_a_keyboard_on_the_first_page(
    scripted: Site, visitors: Visitors, height: int
) -> None:
    viewport = {"width": WIDTH, "height": height}
    page = visitors.enter(scripted, viewport=viewport, has_touch=True, is_mobile=True)
    page.goto("/")
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)
    page.fill("#composer-text", "one\ntwo\nthree\nfour\nfive")
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)


def test_the_list_of_models_has_all_the_room_above_a_keyboard(scripted: Site, visitors: Visitors) -> None:
    """Also on the first page, where its button is in the middle."""
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 667}, has_touch=True, is_mobile=True)
    page.goto("/")
    page.get_by_role("button", name="Model for the next turn").tap()
    page.get_by_role("combobox", name="Find a model").tap()
    page.set_viewport_size({"width": WIDTH, "height": 400})
    until(page, lambda: box(page.locator("#model-menu"))["y"] < 20)
    expect(page.locator("#model-menu [role=option]").last).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("size", [(640, 400), (844, 390)])
def test_a_low_window(scripted: Site, visitors: Visitors, size: tuple[int, int]) -> None:
    """At 200 % zoom, or a phone on its side: every menu can be read to its end, and an open plan too."""
    page = visitors.enter(scripted, viewport=dict(zip(("width", "height"), size, strict=True)))
    scripted.model.script(todo("completed", *["pending"] * 9), Reply(text="One is done."))
    begin(page, "A long plan")
    at_rest(page)
    openers = page.locator(".bar [popovertarget], .composer [popovertarget]")
    for opener in openers.all():
        menu = page.locator(f"#{opener.get_attribute('popovertarget')}")
        if not opener.is_visible() or menu.evaluate("menu => menu.matches('.sidebar')"):
            continue
        opener.click()
        place = box(menu)
        assert place["y"] >= 0, menu
        assert place["y"] + place["height"] <= size[1], menu
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Conversation menu").click()
    delete = page.locator("#conversation-menu").get_by_role("button", name="Delete").first
    delete.scroll_into_view_if_needed()
    expect(delete).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")

    panel(page).locator("summary").click()
    above = box(page.locator(".dock__above"))["height"] + box(page.locator("#unfinished"))["height"]
    assert above > 0.4 * size[1]
    expect(page.get_by_role("button", name="Continue")).to_be_in_viewport(ratio=1)
    last = panel(page).locator(".todo").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport(ratio=1)
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)


def test_what_stands_above_the_composer_is_not_covered(scripted: Site, visitors: Visitors) -> None:
    """A list and a message that is held; above a keyboard the note that leads to a question."""
    words = "\n\n".join(f"Paragraph {number}." for number in range(30))
    scripted.model.script(
        todo("in_progress", *["pending"] * 9), Reply(text=words, tool_calls=[("bash", {"command": "pwd"})])
    )
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844})
    begin_asking_first(page)
    page.locator(".approval").wait_for()
    page.fill("#composer-text", "And then this")
    page.click("#send")
    held = page.locator(".follow-ups")
    expect(held).to_contain_text("And then this")
    panel(page).locator("summary").click()
    is_open(page)
    slot = box(page.locator("#todo-slot"))
    assert slot["y"] + slot["height"] <= box(held)["y"]

    panel(page).locator("summary").click()
    held.get_by_role("button", name="Unsend").click()
    expect(held).to_be_hidden()
    page.set_viewport_size({"width": WIDTH, "height": 420})
    page.locator("#scroll").hover()
    page.mouse.wheel(0, 10_000)
    expect(page.locator("#approval-note")).to_be_hidden()
    assert panel(page).evaluate(TOPMOST)  # folded, and whole
    page.mouse.wheel(0, -10_000)
    note = page.locator("#approval-note")
    expect(note).to_be_in_viewport(ratio=1)
    assert note.evaluate(TOPMOST)
    expect(panel(page).locator("summary")).to_be_in_viewport(ratio=1)
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)


def test_a_press_beside_what_dims_the_page_only_closes_it(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Well."))
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "A conversation")
    at_rest(page)
    page.fill("#composer-text", "not yet")
    place = box(page.locator("#send"))
    menu_button = page.get_by_role("button", name="Conversation menu")
    for there in (box(page.locator(".bar__new")), place):
        page.tap(".bar__menu")
        expect(page.locator("#sidebar")).to_be_visible()
        page.touchscreen.tap(there["x"] + 20, there["y"] + 20)
        expect(page.locator("#sidebar")).to_be_hidden()
    until(page, lambda: not page.evaluate("history.state?.cover"))
    expect(page.locator("#composer-text")).to_have_value("not yet")
    page.tap("#send")
    expect(page.locator("#transcript")).to_contain_text("not yet")

    at_rest(page)
    page.fill("#composer-text", "not yet either")
    menu_button.tap()
    expect(page.locator("#conversation-menu")).to_be_visible()
    menu_button.tap()
    expect(page.locator("#conversation-menu")).to_be_hidden()
    menu_button.tap()
    expect(page.locator("#conversation-menu")).to_be_visible()
    page.touchscreen.tap(place["x"] + 20, place["y"] + 20)
    expect(page.locator("#conversation-menu")).to_be_hidden()
    expect(page.locator("#composer-text")).to_have_value("not yet either")

    page.goto("/conversations/")
    page.get_by_text("Select", exact=True).tap()
    row = page.locator("#bulk").get_by_role("link", name="A conversation")
    row.tap()
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
    page.get_by_role("button", name="Tag…").tap()
    expect(page.locator("#bulk-word")).to_be_focused()
    page.touchscreen.tap(box(row)["x"] + 20, box(row)["y"] + 10)
    expect(page.locator("#bulk-tag")).to_be_hidden()
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
    row.tap()
    expect(page.locator("#bulk-count")).to_be_empty()


def test_the_sidebar_in_a_low_window(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 844, "height": WIDTH}, has_touch=True, is_mobile=True)
    addresses = []
    for text in ("One", "Two", "Three", "Four"):
        scripted.model.script(Reply(text="Well."))
        addresses.append(begin(page, text))
        at_rest(page)
    page.locator(".bar__menu").click()
    sidebar = page.locator("#sidebar")
    expect(sidebar.get_by_role("link", name="Settings")).to_be_in_viewport(ratio=1)
    sidebar.locator(".sidebar__list").evaluate("list => list.scrollIntoView()")
    for row in sidebar.locator(".conversation-row").all()[:4]:
        expect(row).to_be_in_viewport(ratio=1)
        assert row.evaluate(TOPMOST)
    page.set_viewport_size({"width": 844, "height": 250})
    page.goto(addresses[0])
    page.locator(".bar__menu").click()
    expect(sidebar.locator(".conversation-row [aria-current=page]")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("size", [(390, 844), (390, 640), (390, 480), (390, 420), (844, 390), (1280, 620)])
def test_nothing_covers_an_item_that_is_edited(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    """On a phone the keyboard takes half of the screen. The list keeps its head, which closes it."""
    page = visitors.enter(scripted, has_touch=size[1] < 480)
    scripted.model.script(todo("completed", *["pending"] * 9), Reply(text="One is done."))
    begin(page, "A long plan")
    at_rest(page)
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    head = panel(page).locator("summary")
    head.click()
    add = panel(page).get_by_placeholder("Add a to-do")
    add.click()
    for number in (11, 12, 13):
        page.keyboard.type("One more")
        page.keyboard.press("Enter")
        expect(panel(page).locator(".todo")).to_have_count(number)
    page.keyboard.type("One more")
    for place in (add, head):
        expect(place).to_be_in_viewport(ratio=1)
        assert place.evaluate(TOPMOST), place
    page.keyboard.press("Escape")
    for item in (panel(page).locator(".todo").nth(4), panel(page).locator(".todo").last):
        item.locator(".todo__line").click()
        expect(item.locator(".todo__editor textarea")).to_be_focused()
        page.keyboard.type(" soon")
        for place in (item.locator(".todo__editor textarea"), item.get_by_role("button", name="Save"), head):
            expect(place).to_be_in_viewport(ratio=1)
            assert place.evaluate(TOPMOST), place
        for each in item.locator(":is(.todo__editor, .todo__tools) button:visible").all():
            expect(each).to_be_in_viewport(ratio=1)
            assert each.evaluate(TOPMOST), each
        item.get_by_role("button", name="Cancel").click()
    expect(page.locator("#composer-text")).to_be_visible()


def shows_the_newest(page: Page, number: int) -> None:
    """Of the messages that wait, of which there are so many."""
    newest = page.locator(".follow-up").nth(number - 1)
    for place in (newest.locator("p"), newest.get_by_role("button", name="Unsend")):
        expect(place).to_be_in_viewport(ratio=1)
        assert place.evaluate(TOPMOST), place


@pytest.mark.parametrize("size", [(390, 420), (844, 390), (390, 844)])
def test_the_newest_of_the_messages_that_wait_is_shown(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    gate = threading.Event()
    page = visitors.enter(scripted, viewport=dict(zip(("width", "height"), size, strict=True)))
    writes = Reply(text="On and on.", piece=3, stall_after=2, gate=gate)
    scripted.model.script(todo("completed", "pending"), Reply(text="One is done."), writes)
    begin(page, "A plan")
    at_rest(page)
    send(page, "Go on")
    for number in range(1, 6):
        page.fill("#composer-text", f"Another message {number}")
        page.click("#send")
        shows_the_newest(page, number)
        stop = page.get_by_role("button", name="Stop and send now")
        expect(stop).to_be_in_viewport(ratio=1)
        assert stop.evaluate(TOPMOST)
    gate.set()


@pytest.mark.parametrize("size", [(360, 420), (390, 508), (740, 360), (360, 740)])
def test_messages_that_wait_below_a_question_are_shown(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    width, height = size
    asks = Reply(tool_calls=[("bash", {"command": "echo this; true"})])
    scripted.model.script(todo("in_progress", "pending"), asks, Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": width, "height": height})
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "Work")
    page.click("#send")
    expect(page.locator(".approval")).to_be_visible()
    for number in range(1, 4):
        page.fill("#composer-text", f"Message {number}\nwith more\nlines of text")
        page.click("#send")
        shows_the_newest(page, number)
        expect(page.get_by_role("button", name="Allow once")).to_be_in_viewport(ratio=1)
    stop = page.get_by_role("button", name="Stop and send now")
    if height < 544 and width < 640:  # there is only room for the message
        expect(stop).to_be_hidden()
        return
    expect(stop).to_be_in_viewport(ratio=1)
    assert stop.evaluate(TOPMOST)
    if height > 700:
        line = page.locator("#todo-panel > summary")
        expect(line).to_be_in_viewport(ratio=1)
        line.click()
        expect(page.locator("#todo-panel .todo").first).to_be_in_viewport(ratio=1)
        expect(stop).to_be_in_viewport(ratio=1)
        assert stop.evaluate(TOPMOST)


@pytest.mark.parametrize("height", [580, 620, 660])
def test_a_to_do_is_written_above_a_tablets_keyboard_beside_a_long_draft(
    scripted: Site, visitors: Visitors, height: int
) -> None:
    scripted.model.script(todo("completed", "in_progress", "pending"), Reply(text="Half of it."))
    page = visitors.enter(scripted, viewport={"width": 768, "height": 1024}, has_touch=True, is_mobile=True)
    begin(page, "Plan")
    at_rest(page)
    page.fill("#composer-text", "\n".join(f"Line {number}" for number in range(12)))
    page.locator("#todo-panel > summary").tap()
    field = page.locator("#todo-add")
    field.tap()
    page.set_viewport_size({"width": 768, "height": height})
    field.press_sequentially("One more")
    expect(field).to_be_in_viewport(ratio=1)
    assert field.evaluate(TOPMOST)


@pytest.mark.parametrize(("height", "lines"), [(560, 8), (520, 6), (500, 4)])
def test_the_list_opens_in_a_low_window_beside_a_long_draft(
    scripted: Site, visitors: Visitors, height: int, lines: int
) -> None:
    scripted.model.script(todo("completed", "in_progress", "pending"), Reply(text="Half of it."))
    page = visitors.enter(scripted, viewport={"width": 768, "height": height}, has_touch=True, is_mobile=True)
    begin(page, "Plan")
    at_rest(page)
    field = page.locator("#composer-text")
    field.tap()
    field.fill("\n".join(f"Line {number}" for number in range(lines)))
    line = page.locator("#todo-panel > summary").bounding_box()
    assert line
    page.touchscreen.tap(line["x"] + 40, line["y"] + line["height"] / 2)
    expect(page.locator("#todo-panel")).to_have_attribute("open", "")
    expect(page.locator("#todo-panel .todo").first).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("size", [(390, 430), (390, 664), (844, 390), (1280, 640)])
def test_the_plan_can_be_read_and_changed_while_a_question_waits(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    asks = Reply(tool_calls=[("bash", {"command": "true"})])
    scripted.model.script(todo("in_progress", *["pending"] * 9), asks, Reply(text="Done."))
    page = visitors.enter(scripted)
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "A long plan")
    page.click("#send")
    page.wait_for_selector("#conversation[data-status='waiting']")
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    panel(page).locator("summary").click()
    items = panel(page).locator(".todo")
    for item in items.all()[:2]:
        expect(item).to_be_in_viewport(ratio=1)
    send_button, composer = box(page.locator("#send")), box(page.locator("#composer"))
    assert composer["x"] + composer["width"] - send_button["x"] - send_button["width"] < 16
    items.nth(1).hover()
    history = panel(page).get_by_role("link", name="Plan history")
    for _ in range(9):
        page.mouse.wheel(0, 200)
    expect(history).to_be_in_viewport(ratio=1)
    if size[0] < 960:
        items.last.locator(".todo__line").click()
    items.last.hover()
    items.last.get_by_role("button", name="Skip").click()
    undo = page.get_by_role("button", name="Restore")
    expect(undo).to_be_in_viewport(ratio=1)
    assert undo.evaluate(TOPMOST)
    undo.click()
    add = panel(page).get_by_placeholder("Add a to-do")
    add.fill("Mine")
    add.press("Enter")
    mine = items.filter(has_text="Mine")
    for place in (mine, add):
        expect(place).to_be_in_viewport(ratio=1)
        assert place.evaluate(TOPMOST), place
    expect(add).to_be_focused()
    page.get_by_role("button", name="Allow once").click()
    at_rest(page)


@pytest.mark.parametrize("size", [(390, 844), (844, 390), (390, 664)])
def test_a_plan_that_opens_by_itself_leaves_the_conversation_in_view(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    gate = threading.Event()
    states = [*["completed"] * 6, "in_progress", *["pending"] * 5]
    work = [("bash", {"command": "true"})]
    scripted.model.script(
        todo(*states), Reply(text="I work on it", stall_after=2, gate=gate, tool_calls=work)
    )
    scripted.model.script(Reply(text="That is all."))
    viewport = dict(zip(("width", "height"), size, strict=True))
    page = visitors.enter(scripted, viewport=viewport, has_touch=True, is_mobile=True)
    begin(page, "A long plan")
    is_open(page)
    expect(page.locator("#transcript")).to_contain_text("I work on it")
    assert box(panel(page))["height"] <= 0.4 * size[1]
    expect(panel(page).locator(".todo[data-status=in_progress]")).to_be_in_viewport(ratio=1)
    expect(page.locator(".message__body", has_text="I work on it")).to_be_in_viewport(ratio=1)
    expect(panel(page).get_by_placeholder("Add a to-do")).to_be_visible(visible=size[1] >= 704)
    foot, line = panel(page).get_by_role("link", name="Plan history"), panel(page).locator("summary")
    expect(foot).to_be_hidden()
    line.tap()
    is_folded(page)
    expect(line).to_contain_text("6/12")
    expect(line).to_contain_text("Doing 7")
    line.tap()
    is_open(page)
    expect(foot).to_be_visible()
    page.reload()
    is_open(page)
    expect(foot).to_be_visible()
    gate.set()
    at_rest(page)
    is_folded(page)


def pull(page: Page, place: Locator, by: int) -> None:
    """Drag with a finger, from the middle of the place by so many pixels down."""
    at = box(place)
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    touch = page.context.new_cdp_session(page)
    for kind, points in (
        ("touchStart", [{"x": x, "y": y}]),
        ("touchMove", [{"x": x, "y": y + by / 2}]),
        ("touchMove", [{"x": x, "y": y + by}]),
        ("touchEnd", []),
    ):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.detach()


def test_whoever_scrolls_the_list_of_a_running_turn_keeps_the_place(
    scripted: Site, visitors: Visitors
) -> None:
    go, end = threading.Event(), threading.Event()
    work = [("bash", {"command": "true"})]
    scripted.model.script(
        todo(*["completed"] * 8, "in_progress", *["pending"] * 6),
        Reply(text="I work on it", stall_after=2, gate=go, tool_calls=work),
        todo(*["completed"] * 9, "in_progress", *["pending"] * 5),
        Reply(text="And on", stall_after=1, gate=end),
    )
    page = visitors.enter(scripted, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "A long plan")
    is_open(page)
    shown, current = (
        panel(page).locator(".todo-panel__list"),
        panel(page).locator(".todo[data-status=in_progress]"),
    )
    expect(current).to_be_in_viewport(ratio=1)
    pull(page, shown, 250)
    pull(page, shown, 250)
    until(page, lambda: shown.evaluate("list => list.scrollTop") == 0)
    page.mouse.move(10, 100)  # nothing is under the pointer
    go.set()
    expect(current).to_contain_text("Doing 10")
    assert shown.evaluate("list => list.scrollTop") == 0
    panel(page).locator("summary").tap()
    panel(page).locator("summary").tap()
    expect(current).to_be_in_viewport(ratio=1)
    end.set()
    at_rest(page)


def test_the_plan_is_pulled_up_and_down(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(
        todo("in_progress", *["pending"] * 9), Reply(text="Done.", gate=gate, stall_after=1)
    )
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "A plan")
    is_open(page)
    line, foot = panel(page).locator("summary"), panel(page).get_by_role("link", name="Plan history")
    expect(foot).to_be_hidden()
    pull(page, line, -120)
    expect(foot).to_be_visible()
    pull(page, line, 120)
    is_folded(page)
    pull(page, line, -120)
    is_open(page)
    page.reload()
    expect(foot).to_be_visible()
    pull(page, line, 120)
    is_folded(page)
    page.reload()
    is_folded(page)
    gate.set()
    at_rest(page)


def test_what_does_not_fit_shows_it(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    scripted.model.script(todo("completed", "in_progress", "pending"), Reply(text=TABLE))
    begin(page, "A plan and a table")
    at_rest(page)

    text, send, attach = (page.locator(f"#{name}") for name in ("composer-text", "send", "composer-files"))
    assert box(text)["width"] > WIDTH - 50
    for control in (send, attach):
        assert box(control)["y"] >= box(text)["y"] + box(text)["height"], "controls are beneath"

    panel(page).locator("summary").click()
    sheet = box(panel(page))
    assert (sheet["x"], sheet["width"]) == (0, WIDTH)
    expect(panel(page).locator(".todo")).to_have_count(3)
    expect(text).to_be_in_viewport(ratio=1)

    table = page.locator(".message__body table")
    assert fades(table) == pytest.approx([0, 32], abs=1)
    table.evaluate("table => table.scrollTo(9999, 0)")
    expect(table).not_to_have_css("--fade-start", "0px")
    assert fades(table) == pytest.approx([32, 0], abs=1)
    page.goto("/settings/connections/")
    for tab in page.locator(".tabs a").all():
        expect(tab).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") == WIDTH


def test_the_site_can_be_installed(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    found = page.context.new_cdp_session(page).send("Page.getAppManifest")
    assert not found["errors"]
    address = page.locator("link[rel=manifest]").get_attribute("href")
    assert address
    manifest = page.request.get(address)
    assert manifest.headers["content-type"].startswith("application/manifest+json")
    # What Chromium asks of a site that can be installed.
    told = manifest.json()
    assert told["name"]
    assert (told["start_url"], told["display"]) == ("/", "standalone")
    sizes = []
    for icon in told["icons"]:
        answer = page.request.get(f"/static/{icon['src']}")
        assert answer.headers["content-type"] == icon["type"]
        if icon["type"] == "image/png":
            width, height = struct.unpack(">II", answer.body()[16:24])
            assert icon["sizes"] == f"{width}x{height}"
            sizes += [width] if icon.get("purpose", "any") == "any" else []
    assert {192, 512} <= set(sizes)


def test_enter_makes_a_new_line(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    page.goto("/")
    page.fill("#composer-text", "One")
    page.press("#composer-text", "Enter")
    page.keyboard.type("Two")
    expect(page.locator("#composer-text")).to_have_value("One\nTwo")


@pytest.mark.parametrize("width", [360, 390])
def test_a_keyboard_moves_none_of_the_composers_tools_aside(
    scripted: Site, visitors: Visitors, width: int
) -> None:
    scripted.model.script(Reply(text="Fine."))
    page = visitors.enter(scripted, viewport={"width": width, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "A talk")
    at_rest(page)
    tool = page.locator(".composer__attach")
    before = box(tool)["x"]
    page.locator("#composer-text").tap()
    page.set_viewport_size({"width": width, "height": 450})
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)
    assert abs(box(tool)["x"] - before) <= 2


def test_a_tablet_with_a_keyboard_sends_with_control_and_enter(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Two lines."))
    page = visitors.enter(scripted, viewport={"width": 1024, "height": 768}, has_touch=True, is_mobile=True)
    page.goto("/")
    page.tap("#composer-text")
    page.keyboard.type("One")
    page.keyboard.press("Enter")
    page.keyboard.type("Two")
    expect(page.locator("#composer-text")).to_have_value("One\nTwo")
    page.keyboard.press("Control+Enter")
    expect(last_turn(page, "completed")).to_contain_text("Two lines.")


def test_a_title_is_edited_over_the_width_of_a_phone(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Well."))
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "A rather long title of a conversation")
    at_rest(page)
    page.tap("[data-rename]")
    expect(page.locator(".rename")).to_be_focused()
    assert box(page.locator(".rename"))["width"] > WIDTH - 80
    page.keyboard.type("Short")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Short")).to_be_visible()
    expect(page.get_by_role("button", name="Conversation menu")).to_be_visible()


def test_a_command_that_is_sent_is_done(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("completed"), Reply(text="Well."))
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "Plan it")
    at_rest(page)
    for command in ("/help", "／help "):
        page.tap("#composer-text")
        page.keyboard.type(command)
        page.tap("#send")
        expect(page.locator("#keys")).to_be_visible()
        page.locator("#keys").get_by_role("button", name="Close").tap()
        expect(page.locator("#composer-text")).to_have_value("")
    page.fill("#composer-text", "/stop")
    page.tap("#send")
    expect(page.locator("#composer-note")).to_contain_text("There is nothing to stop")
    page.fill("#composer-text", "/plan")
    page.tap("#send")
    page.wait_for_url("**/plan/")
    expect(page.locator("#plan-stage")).to_be_visible()


def test_the_bar_stays_as_a_page_is_scrolled(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 400}, has_touch=True, is_mobile=True)
    page.goto("/settings/profiles/")
    page.locator("#content").evaluate("content => content.scrollTo(0, content.scrollHeight)")
    expect(page.locator("h1, .bar__title").first).to_be_in_viewport(ratio=1)
    button = page.locator(".bar__menu")
    assert button.evaluate(TOPMOST)
    button.tap()
    expect(page.locator("#sidebar")).to_be_visible()


@pytest.mark.parametrize("reads", ["the end", "what is above"])
def test_above_a_keyboard_the_plan_gives_way_to_the_reason(
    scripted: Site, visitors: Visitors, reads: str
) -> None:
    asks = Reply(text="Long.\n\n" * 20, tool_calls=[("bash", {"command": "true"})])
    scripted.model.script(todo("in_progress", *["pending"] * 9), asks, Reply(text="Why?"))
    page = visitors.enter(scripted)
    page.set_viewport_size({"width": WIDTH, "height": 844})
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "A long plan")
    page.click("#send")
    page.wait_for_selector("#conversation[data-status='waiting']")
    panel(page).locator("summary").click()
    if reads == "what is above":
        page.locator("#scroll").evaluate("view => view.scrollBy(0, -120)")
        expect(page.locator("#to-end")).to_be_visible()
    reason, deny = page.locator(".approval [name=reason]"), page.get_by_role("button", name="Deny")
    reason.click()
    page.set_viewport_size({"width": WIDTH, "height": 420})
    expect(reason).to_be_in_viewport(ratio=1)
    page.keyboard.type("Not now")
    for place in (reason, deny):
        expect(place).to_be_in_viewport(ratio=1)
        assert place.evaluate(TOPMOST), place
    deny.click()
    at_rest(page)
    expect(page.locator(".decision__reason")).to_have_text("Not now")
    expect(panel(page)).to_be_visible()


@pytest.mark.parametrize("size", [(390, 420), (320, 300)])
def test_a_long_name_of_a_model_leaves_room_for_send_and_stop(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    gate = threading.Event()
    scripted.model.script(Reply(text="Well", stall_after=1, gate=gate))
    viewport = dict(zip(("width", "height"), size, strict=True))
    page = visitors.enter(scripted, viewport=viewport, has_touch=True, is_mobile=True)
    page.goto(f"/?model=:{LONG_NAME}")
    page.fill("#composer-text", "Begin")
    page.tap("#send")
    page.wait_for_selector(LIVE)
    last_turn(page, "running")
    for button in ("#stop", "#send"):
        expect(page.locator(button)).to_be_in_viewport(ratio=1)
    gate.set()
    at_rest(page)
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)
    name, model = (box(part) for part in page.locator(".who > span:not(.avatar)").all())
    assert model["height"] > name["height"] >= 12, "the profile's name is on one line"
    assert name["height"] < 24
    assert model["x"] >= name["x"] + name["width"]


@pytest.mark.parametrize("size", [(390, 844), (360, 640), (320, 640), (844, 390)])
def test_the_first_page_tells_in_full_who_answers(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    viewport = dict(zip(("width", "height"), size, strict=True))
    page = visitors.enter(scripted, viewport=viewport, has_touch=True, is_mobile=True)
    profile, model = page.locator(".profile-choice__title"), page.locator(".model-choice__name")
    for name in ("granite-small", "granite-large-instruct-2026-11-preview"):
        page.goto(f"/?model=:{name}")
        page.locator(".password-note").evaluate_all(
            "notes => notes.forEach((note) => note.remove())"
        )  # Not now
        expect(model).to_have_text(name)
        choose_profile(page, "Asks first")
        expect(page.locator("[name=model]")).to_have_value(f":{name}")
        expect(page.locator("#send")).to_be_in_viewport(ratio=1)
        for part in (profile, model):
            assert part.evaluate("part => part.scrollWidth <= part.clientWidth")
        profile.evaluate("title => (title.textContent = 'A profile of many words')")
        assert model.evaluate("part => part.scrollWidth <= part.clientWidth")
        expect(page.locator("#send")).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth") == size[0]


@pytest.mark.parametrize("height", [440, 480, 520, 560])
def test_a_long_message_is_whole_above_a_keyboard(scripted: Site, visitors: Visitors, height: int) -> None:
    scripted.model.script(todo("completed", "pending"), Reply(text="Half of it.\n\n" * 30))
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "Make a plan")
    at_rest(page)
    page.tap("#composer-text")
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.fill("#composer-text", "A long line of a message.\n" * 60)
    expect(page.locator("#composer")).to_be_in_viewport(ratio=1)
    files: list[Any] = [{"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(6)]
    page.set_input_files("#composer-files", files)
    page.focus("#composer-text")
    expect(page.locator(".attached")).to_have_count(6)
    expect(page.locator("#composer")).to_be_in_viewport(ratio=1)
    dock = page.locator(".dock")
    assert dock.evaluate("dock => dock.scrollHeight - dock.clientHeight") < 2
    assert box(page.locator("#scroll"))["height"] > 100


@pytest.mark.parametrize("size", [(844, 200), (740, 180), (390, 300)])
def test_whoever_writes_above_a_keyboard_sees_the_field(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    width, height = size
    scripted.model.script(todo("completed", "pending"), Reply(text="Half of it."), Reply(text="Well."))
    viewport = {"width": width, "height": 390 if width > WIDTH else 844}
    page = visitors.enter(scripted, viewport=viewport, has_touch=True, is_mobile=True)
    begin(page, "Make a plan")
    at_rest(page)
    page.tap("#composer-text")
    page.set_viewport_size({"width": width, "height": height})
    expect(page.locator("#composer-text")).to_be_in_viewport(ratio=1)
    assert page.locator("#composer-text").evaluate(TOPMOST)
    page.keyboard.type("Go on")
    expect(page.locator("#composer-text")).to_be_in_viewport(ratio=1)
    page.tap("#send")
    expect(page.locator(".turn")).to_have_count(2)


@pytest.mark.parametrize("size", [(844, 390), (390, 480)])
def test_what_is_asked_about_is_above_its_question(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    asks = Reply(tool_calls=[("bash", {"command": "rm -r build"})])
    scripted.model.script(todo("in_progress", "pending"), asks, Reply(text="Done."))
    viewport = dict(zip(("width", "height"), size, strict=True))
    page = visitors.enter(scripted, viewport=viewport)
    begin_asking_first(page)
    card = page.locator(".tool-call[data-status=waiting]")
    expect(card.get_by_role("button", name="Deny")).to_be_in_viewport(ratio=1)
    expect(card.locator("pre")).to_be_in_viewport(ratio=0.5)
    card.get_by_role("button", name="Allow once").click()
    at_rest(page)


@pytest.mark.parametrize("height", [540, 480, 420])
@pytest.mark.parametrize("works", [False, True])
def test_a_to_do_is_changed_above_a_keyboard(
    scripted: Site, visitors: Visitors, height: int, works: bool
) -> None:
    gate = threading.Event()
    ends = Reply(text="I work", stall_after=1 if works else None, gate=gate)
    scripted.model.script(todo("completed", *["pending"] * 5), ends)
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "Work")
    if not works:
        at_rest(page)
        panel(page).locator("summary").tap()
    is_open(page)
    last = panel(page).locator(".todo").last
    last.locator("button.todo__line").tap()
    page.set_viewport_size({"width": WIDTH, "height": height})
    for name in ("Save", "Skip", "Move up", "Cancel"):
        button = last.get_by_role("button", name=name)
        expect(button).to_be_in_viewport(ratio=1)
        assert button.evaluate(TOPMOST), name
    last.get_by_role("button", name="Cancel").tap()
    gate.set()
    at_rest(page)


@pytest.mark.parametrize("height", [520, 460])
def test_a_to_do_is_added_above_a_keyboard_while_the_agent_works(
    scripted: Site, visitors: Visitors, height: int
) -> None:
    gate = threading.Event()
    working = Reply(text="I work", stall_after=1, gate=gate)
    scripted.model.script(todo("in_progress", *["pending"] * 4), working, Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": 412, "height": 915}, has_touch=True, is_mobile=True)
    begin(page, "Work")
    is_open(page)
    page.tap("#todo-add")
    page.set_viewport_size({"width": 412, "height": height})
    expect(page.locator("#todo-add")).to_be_focused()
    expect(page.locator("#todo-add")).to_be_in_viewport(ratio=1)
    page.keyboard.type("Ask them")
    page.keyboard.press("Enter")
    expect(panel(page).locator(".todo").last).to_contain_text("Ask them")
    gate.set()
    at_rest(page)


def test_with_large_letters_nothing_is_covered(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("completed", "in_progress"), Reply(text="Half of it."))
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844})
    begin(page, "A plan")
    at_rest(page)
    page.evaluate("document.documentElement.style.fontSize = '150%'")
    panel(page).locator("summary").click()
    page.get_by_role("button", name="Continue").scroll_into_view_if_needed()
    places = [panel(page).get_by_role("link", name="Plan history")]
    places += [
        page.locator("#unfinished").get_by_role("button", name=name) for name in ("Continue", "Dismiss")
    ]
    for place in places:
        place.scroll_into_view_if_needed()
        assert place.evaluate(TOPMOST), place
    assert box(page.locator("#title"))["width"] > 80


def test_while_the_connection_is_lost_the_title_can_be_read(
    scripted: Site, visitors: Visitors, line: Line
) -> None:
    call = Reply(tool_calls=[("bash", {"command": "touch a.txt"})])
    scripted.model.script(call, Reply(text="Done.", usage={"prompt_tokens": 3000, "completion_tokens": 9}))
    small = {"width": WIDTH, "height": 844}
    page = visitors.enter(scripted, address=line.address, viewport=small, has_touch=True, is_mobile=True)
    begin(page, "Make me a file")
    at_rest(page)
    expect(page.locator(".bar__files")).to_be_visible()
    expect(page.locator(".context-meter")).to_be_visible()
    line.cut()
    expect(page.locator(".connection__lost")).to_be_visible()
    until(page, lambda: box(page.locator("#title"))["width"] > 80)
    line.mend()
    expect(page.locator(".context-meter")).to_be_visible()


def test_above_the_keyboard_the_current_item_stays_in_view_as_a_message_waits(
    scripted: Site, visitors: Visitors
) -> None:
    gate = threading.Event()
    works = todo("completed", "in_progress", *["pending"] * 3)
    scripted.model.script(works, Reply(text="I work", stall_after=1, gate=gate), Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "Work")
    is_open(page)
    page.set_viewport_size({"width": WIDTH, "height": 480})
    page.locator("#composer-text").tap()
    page.keyboard.type("And one more thing")
    page.locator("#send").tap()
    expect(page.locator(".follow-up")).to_be_in_viewport(ratio=1)
    expect(page.locator("#todo-panel .todo[data-status=in_progress]")).to_be_in_viewport(ratio=1)
    expect(page.locator("#todo-panel .todo[data-status=completed]")).to_be_hidden()
    page.set_viewport_size({"width": WIDTH, "height": 844})
    expect(page.locator("#todo-panel .todo[data-status=completed]")).to_be_visible()
    gate.set()
    at_rest(page)


@pytest.mark.parametrize("size", [(WIDTH, 480), (844, 390)])
def test_the_current_item_stays_in_view_as_the_window_gets_low(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    gate = threading.Event()
    works = todo(*["completed"] * 8, "in_progress", *["pending"] * 3)
    scripted.model.script(works, Reply(text="I work", stall_after=1, gate=gate), Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "Work")
    is_open(page)
    current = page.locator("#todo-panel .todo[data-status=in_progress]")
    expect(current).to_be_in_viewport(ratio=1)
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))  # type: ignore[arg-type]
    expect(current).to_be_in_viewport(ratio=1)
    gate.set()
    at_rest(page)


def test_a_title_from_right_to_left_leaves_room_for_its_menu(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": WIDTH, "height": 844}, has_touch=True, is_mobile=True)
    scripted.model.script(Reply("Yes."))
    begin(page, "أريد خطة لحفلة عيد ميلاد ابنتي في الحديقة")
    at_rest(page)
    page.locator(".bar__menu").click()
    row = page.locator("#sidebar .conversation-row").first
    right = row.locator(".conversation-row__title").evaluate(
        "title => Math.max(...[...title.getClientRects()].map((line) => line.right))"
    )
    assert right <= box(row.locator(".row-more"))["x"]
