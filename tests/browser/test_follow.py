"""The view follows the end while text streams, but only for a user who is there."""

from __future__ import annotations

import contextlib
import threading

import pytest
from playwright.sync_api import Browser, Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    at_rest,
    begin,
    choose_profile,
    come_to_rest,
    place,
    send,
    todo,
    turns,
    until,
)
from tests.browser.test_versions import LONG_TALK
from tests.chromium import chromium

LONG = "\n\n".join(f"Paragraph {n}." for n in range(90))
PIECE = 40
# What of the transcript and of the dock is beneath the button, as far as it is in view.
COVERED = """() => {
    const button = document.getElementById("to-end").getBoundingClientRect();
    const view = document.getElementById("scroll").getBoundingClientRect();
    const meets = (one, other) =>
        one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
    const parts = document.querySelectorAll(".message__body > *, .turn__end > *, .dock > *");
    return [...parts].filter((part) => {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        const seen = part.closest(".dock") ? bottom : Math.min(bottom, view.bottom);
        return meets({ left, right, top, bottom: seen }, button);
    }).map((part) => part.className || part.tagName);
}"""

# The end of a script: moves the view, and waits until the page has heard of it.
MOVE_UP = """
        const moved = new Promise((done) => view.addEventListener("scroll", done, { once: true }));
        view.scrollTop -= 200;
        await moved;
    }"""
# The pixels below the view at each frame, and at the one that was painted first.
FRAMES = """
    window.drawn = [];
    const look = () => {
        const view = document.getElementById("scroll");
        drawn.push([performance.now(), view ? view.scrollHeight - view.scrollTop - view.clientHeight : 0]);
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
"""
FIRST_PAINTED = """() => {
    const [first] = performance.getEntriesByName("first-contentful-paint");
    return first && drawn.findLast(([time]) => time <= first.startTime)[1];
}"""


def scroll_up(page: Page) -> float:
    """Read above, as with a wheel; pixels above the view then."""
    page.locator("#scroll").hover()
    page.mouse.wheel(0, -400)
    expect(page.locator("#to-end")).to_be_visible()
    return come_to_rest(page)


def half_written(page: Page, scripted: Site) -> threading.Event:
    """A page on which more text is than fits; the rest comes once the event is set."""
    gate = threading.Event()
    scripted.model.script(Reply(text=LONG, piece=PIECE, stall_after=len(LONG) // PIECE // 2, gate=gate))
    begin(page, "Tell a long story")
    expect(page.locator("#transcript")).to_contain_text("Paragraph 38.")
    return gate


READ = """() => {
    const { top } = document.getElementById("scroll").getBoundingClientRect();
    const all = [...document.querySelectorAll(".message__body p")];
    return all.find((each) => each.getBoundingClientRect().bottom > top + 4).innerText.slice(0, 12);
}"""


def test_what_is_read_stays_in_view_as_a_phone_is_turned(scripted: Site, visitors: Visitors) -> None:
    paragraphs = [
        f"Paragraph {number:02}. " + "Some words that fill a few lines. " * 12 for number in range(60)
    ]
    scripted.model.script(Reply(text="\n\n".join(paragraphs)))
    upright, level = {"width": 412, "height": 915}, {"width": 915, "height": 412}
    page = visitors.enter(scripted, viewport=upright, has_touch=True)
    begin(page, "Tell a long story")
    at_rest(page)
    page.locator("#scroll").hover()
    page.mouse.wheel(0, -6000)
    expect(page.locator("#to-end")).to_be_visible()
    come_to_rest(page)
    # The page marks the place by a timer, which is done before a longer one that begins later.
    page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
    read = page.evaluate(READ)
    for view in (level, upright, level):
        page.set_viewport_size(view)
        come_to_rest(page)
        assert page.evaluate(READ) == read


def test_it_follows_a_person_at_the_end(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 1000, "height": 600})
    gate = half_written(page, scripted)
    until(page, lambda: place(page)["below"] < 3)
    before = place(page)["top"]
    assert before > 0
    gate.set()
    at_rest(page)
    until(page, lambda: place(page)["below"] < 3)
    assert place(page)["top"] > before
    expect(page.locator("#to-end")).to_be_hidden()


def test_it_leaves_a_person_who_reads_above_in_peace(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 1000, "height": 600})
    gate = half_written(page, scripted)
    until(page, lambda: place(page)["below"] < 3)
    chosen = scroll_up(page)
    gate.set()
    expect(page.locator("#transcript")).to_contain_text("Paragraph 89.")
    at_rest(page)
    assert abs(place(page)["top"] - chosen) < 3
    page.click("#to-end")
    until(page, lambda: place(page)["below"] < 3)
    expect(page.locator("#to-end")).to_be_hidden()


@pytest.mark.parametrize(
    "size", [(390, 844), (390, 664), (844, 390), (820, 1180), (1024, 768), (1200, 800), (1600, 900)]
)
def test_the_way_to_the_end_covers_no_text(scripted: Site, visitors: Visitors, size: tuple[int, int]) -> None:
    line = "A line that is as wide as the column, to its very end, with words. " * 4
    scripted.model.script(Reply(text="\n\n".join([line] * 40)))
    page = visitors.enter(scripted, viewport=dict(zip(("width", "height"), size, strict=True)))
    begin(page, "Tell")
    at_rest(page)
    button = page.locator("#to-end")
    for top in (0, 200, 500):
        page.locator("#scroll").evaluate("(view, top) => { view.scrollTop = top }", top)
        expect(button).to_be_in_viewport(ratio=1)
        assert page.evaluate(COVERED) == []
    at = come_to_rest(page)
    button.click()
    until(page, lambda: place(page)["below"] < 3)
    assert place(page)["top"] > at
    expect(button).to_be_hidden()


def test_what_is_unfolded_at_the_end_comes_into_view(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 1000, "height": 600})
    half_written(page, scripted).set()
    at_rest(page)
    until(page, lambda: place(page)["below"] < 3)
    figures = page.locator(".turn-usage summary")
    figures.click()
    expect(page.locator(".turn-usage[open]")).to_be_visible()
    come_to_rest(page)
    expect(figures).to_be_in_viewport(ratio=1)
    foot = page.locator("#scroll").evaluate("view => view.getBoundingClientRect().bottom")
    shown = page.locator(".turn-usage").evaluate("line => line.getBoundingClientRect().bottom")
    assert shown <= foot + 1


def test_a_new_turn_leaves_a_person_who_reads_above_in_peace(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 390, "height": 700})
    gate = half_written(page, scripted)
    page.fill("#composer-text", "Now another one")
    page.press("#composer-text", "Enter")
    expect(page.locator("#follow-ups")).to_contain_text("Now another one")
    scripted.model.script(Reply(text="Once upon a time."))
    chosen = scroll_up(page)
    gate.set()
    expect(page.locator("#transcript")).to_contain_text("Once upon a time.")
    at_rest(page)
    assert abs(place(page)["top"] - chosen) < 3


def test_a_turn_of_the_wheel_counts_though_much_text_comes_with_it(
    scripted: Site, visitors: Visitors
) -> None:
    """The browser keeps the end of the turn where it is, moves the view up, and tells of both at once."""
    page = visitors.enter(scripted, viewport={"width": 1000, "height": 600})
    gate = half_written(page, scripted)
    until(page, lambda: place(page)["below"] < 3)
    page.locator("#scroll").evaluate(
        """view => {
          view.dispatchEvent(new WheelEvent("wheel", { deltaY: -300, bubbles: true }));
          const paragraph = view.querySelector(".message__body p");
          for (let number = 0; number < 100; number++) paragraph.after(paragraph.cloneNode(true));
          view.scrollTop = view.scrollHeight - view.clientHeight - 300;
        }"""
    )
    expect(page.locator("#to-end")).to_be_visible()
    assert place(page)["below"] > 200
    gate.set()
    at_rest(page)


def test_home_leads_to_the_beginning_of_a_page_that_was_just_loaded(
    scripted: Site, visitors: Visitors
) -> None:
    """Its turns are higher than the browser guesses, which are out of view."""
    long = "\n\n".join(f"Line {number}" for number in range(90))
    scripted.model.answer = lambda request: Reply(long)
    page = visitors.enter(scripted)
    begin(page, "The first message")
    at_rest(page)
    for number in range(5):
        send(page, f"Message {number}")
        at_rest(page)
    page.reload()
    at_rest(page)
    until(page, lambda: place(page)["below"] < 3)
    page.locator("#scroll").focus()
    page.keyboard.press("Home")
    come_to_rest(page)
    assert place(page)["top"] == 0
    expect(page.locator("#transcript").get_by_text("The first message")).to_be_in_viewport(ratio=1)


def test_a_busy_browser_does_not_take_a_reader_back_to_the_end(scripted: Site, visitors: Visitors) -> None:
    """Something in view changes, and the frame in which the wheel moves the view is late."""
    page = visitors.enter(scripted, viewport={"width": 390, "height": 700})
    half_written(page, scripted)
    page.evaluate("""() => document.getElementById("scroll").addEventListener("wheel", () => {
        document.querySelector("#transcript .message__body").dataset.status = "late";
        const end = performance.now() + 700;
        while (performance.now() < end);
    })""")
    before = place(page)["top"]
    assert scroll_up(page) < before - 300


@pytest.mark.parametrize("hold", ["scrollbar", "selection"])
def test_a_reader_leaves_the_end_by_the(hold: str, scripted: Site, browser: Browser) -> None:
    """Where something in view changes at each frame; text is selected up to above the view."""
    with_bars = browser.browser_type.launch(**chromium(), ignore_default_args=["--hide-scrollbars"])
    with contextlib.closing(with_bars):
        page = with_bars.new_page(
            base_url=scripted.served.address,
            storage_state=scripted.signed_in,
            viewport={"width": 1000, "height": 600},
        )
        half_written(page, scripted)
        page.evaluate("""() => {
            const body = document.querySelector("#transcript .message__body");
            const change = (time) => {
                body.dataset.status = time;
                requestAnimationFrame(change);
            };
            requestAnimationFrame(change);
        }""")
        box = page.locator("#scroll").bounding_box()
        assert box
        x = box["x"] + (box["width"] - 7 if hold == "scrollbar" else 100)
        y = box["y"] + box["height"] - 40
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, box["y"] - 20, steps=12)
        expect(page.locator("#to-end")).to_be_visible()
        page.mouse.up()
        assert place(page)["below"] > 80
        page.locator("#stop").click()
        at_rest(page)


def test_a_message_that_is_sent_at_once_comes_into_view(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 390, "height": 700})
    half_written(page, scripted)
    page.fill("#composer-text", "Stop, and tell another one")
    page.press("#composer-text", "Enter")
    scroll_up(page)
    scripted.model.script(Reply(text="Once upon a time."))
    page.get_by_role("button", name="Stop and send now").click()
    expect(page.locator("#transcript")).to_contain_text("Once upon a time.")
    at_rest(page)
    until(page, lambda: place(page)["below"] < 3)


def test_a_page_is_first_painted_where_it_stays(scripted: Site, visitors: Visitors) -> None:
    """Not at its top, to jump to the end once the script is there."""
    scripted.model.script(Reply(text=LONG))
    page = visitors.enter(scripted, viewport={"width": 1000, "height": 600})
    address = begin(page, "Tell a long story")
    at_rest(page)
    page = visitors.enter(scripted, viewport={"width": 1000, "height": 600})
    slow = {"offline": False, "latency": 500, "downloadThroughput": -1, "uploadThroughput": -1}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
    page.add_init_script(FRAMES)
    page.goto(address)
    until(page, lambda: page.evaluate(FIRST_PAINTED) is not None)
    assert page.evaluate(FIRST_PAINTED) < 3, page.evaluate("drawn")


def test_it_follows_calls_that_fold(demo: Site, visitors: Visitors) -> None:
    page = visitors.enter(demo, viewport={"width": 1366, "height": 768})
    begin(page, "Slowly write a program")
    at_rest(page)
    until(page, lambda: place(page)["below"] < 3)
    expect(page.locator("#to-end")).to_be_hidden()


@pytest.mark.parametrize("answer", ["Deny", "Allow once"])
def test_it_follows_questions_that_are_answered(scripted: Site, visitors: Visitors, answer: str) -> None:
    """An answered card folds, and the transcript is short for a moment: the view stays at its end."""

    def writes(number: int) -> Reply:
        call = ("write_file", {"path": f"f{number}.py", "content": "x = 1\n" * 24})
        return Reply(text="Now the next file.", tool_calls=[call], delay=0.02)

    scripted.model.script(todo("in_progress", "pending"), *map(writes, range(6)), Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": 1280, "height": 800})
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "Write files")
    page.click("#send")
    for number in range(6):
        card = page.locator(".tool-call[data-status=waiting]")
        expect(card).to_contain_text(f"f{number}.py")
        button = card.get_by_role("button", name=answer)
        expect(button).to_be_in_viewport(ratio=1)
        expect(page.locator("#to-end")).to_be_hidden()
        until(page, lambda: place(page)["below"] < 3)
        come_to_rest(page)  # or the click would move the view to a button that is on its way
        page.clock.set_fixed_time(
            f"2026-01-01T12:00:{2 * number:02}Z"
        )  # a second click at once counts for nothing
        button.click()
    at_rest(page)


def test_it_follows_a_change_whose_move_is_told_a_frame_later(scripted: Site, visitors: Visitors) -> None:
    """As a busy browser does after a card has folded."""
    scripted.model.script(Reply(text=LONG))
    page = visitors.enter(scripted)
    begin(page, "Write a lot")
    at_rest(page)
    come_to_rest(page)
    assert place(page)["below"] < 3
    page.locator("#scroll").evaluate(
        """async (view) => {
        const turn = view.querySelector(".turn");
        turn.dataset.status = turn.dataset.status; // tells of a change that moves nothing
        await new Promise(requestAnimationFrame);
    """
        + MOVE_UP
    )
    assert place(page)["below"] < 3
    expect(page.locator("#to-end")).to_be_hidden()
    page.locator("#scroll").evaluate("""async (view) => {
        for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
        view.scrollTop -= 200;
    }""")
    expect(page.locator("#to-end")).to_be_visible()  # a move without a change is the reader's
    assert place(page)["below"] == 200


def test_it_follows_although_a_reason_was_typed_at_last(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text=LONG, tool_calls=[("bash", {"command": "ls"})]), Reply(text="Done."))
    page = visitors.enter(scripted)
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "Write a lot")
    page.click("#send")
    reason = page.locator(".approval textarea")
    expect(reason).to_be_visible()
    until(page, lambda: place(page)["below"] < 3)
    come_to_rest(page)
    reason.focus()
    reason.evaluate(
        """async (reason) => {
        const view = document.getElementById("scroll");
        for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
        reason.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
        const turn = view.querySelector(".turn");
        turn.dataset.status = turn.dataset.status; // tells of a change
    """
        + MOVE_UP
    )
    until(page, lambda: place(page)["below"] < 3)
    expect(page.locator("#to-end")).to_be_hidden()
    page.locator(".approval").get_by_role("button", name="Deny").click()
    at_rest(page)


def test_it_follows_a_transcript_that_is_shorter(scripted: Site, visitors: Visitors) -> None:
    """Whenever the move is told of that comes with it."""
    scripted.model.script(Reply(text=LONG))
    page = visitors.enter(scripted)
    begin(page, "Write a lot")
    at_rest(page)
    come_to_rest(page)
    page.locator("#scroll").evaluate(
        """async (view) => {
        for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
        await new Promise((done) => setTimeout(done)); // between two frames
        view.querySelector(".message__body > p").style.display = "none";
    """
        + MOVE_UP
    )
    until(page, lambda: place(page)["below"] < 3)
    expect(page.locator("#to-end")).to_be_hidden()


def test_a_link_to_where_a_task_began_leads_there(scripted: Site, visitors: Visitors) -> None:
    """The panel folds and a group of calls unfolds, so that its place is at the end for a moment."""
    write = ("write_file", {"path": "note.txt", "content": "Hello\n"})
    states = [["completed"] * done + ["in_progress"] + ["pending"] * (4 - done) for done in range(5)]
    steps = [Reply(tool_calls=[*todo(*each).tool_calls, write]) for each in states]
    page = visitors.enter(scripted, viewport={"width": 390, "height": 664}, has_touch=True, is_mobile=True)
    scripted.model.script(*steps, todo(*["completed"] * 5), Reply(text="Done.\n\n" * 4))
    begin(page, "Do five things")
    at_rest(page)
    address = page.url
    for height in range(420, 780, 40):
        page.set_viewport_size({"width": 390, "height": height})
        page.goto("/board/")
        page.goto(address)
        at_rest(page)
        page.locator("#todo-panel .todo-panel__line").tap()
        page.locator("#todo-panel .todo__place").nth(2).tap()
        marker = page.locator(".todo-marker:target")
        expect(marker).to_be_visible()
        come_to_rest(page)
        top = marker.evaluate("one => one.getBoundingClientRect().top")
        above = page.locator("#scroll").evaluate("view => view.getBoundingClientRect().top")
        assert top >= above, height
        assert top < above + 40 or place(page)["below"] < 2, height
    scripted.model.script(Reply(text="Yes."))
    send(page, "And now?")
    at_rest(page)
    page.reload()
    at_rest(page)
    assert place(page)["below"] < 2, "a page that is loaded again is where the user was last"


def test_a_page_that_is_loaded_again_shows_the_footnote_that_was_followed(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply(text=f"A claim.[^1]\n\n{LONG}\n\n[^1]: The note.\n"))
    begin(page, "explain")
    at_rest(page)
    page.locator(".message a[href*=note]").first.click()
    note = page.get_by_text("The note.")
    for _again in range(2):
        expect(note).to_be_in_viewport()
        page.reload()
        at_rest(page)
    expect(note).to_be_in_viewport()


def test_a_page_that_is_loaded_again_is_where_it_was(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply(text=LONG))
    begin(page, "Tell a long story")
    at_rest(page)
    chosen = scroll_up(page)
    for _again in range(2):
        page.reload()
        page.wait_for_selector(LIVE)
        expect(page.locator("#to-end")).to_be_visible()
        assert abs(come_to_rest(page) - chosen) < 3
    page.click("#to-end")
    until(page, lambda: place(page)["below"] < 3)
    page.reload()
    page.wait_for_selector(LIVE)
    until(page, lambda: place(page)["below"] < 3)
    expect(page.locator("#to-end")).to_be_hidden()


@pytest.mark.parametrize("number", [0, 3])
def test_a_long_page_that_is_loaded_again_is_where_it_was(
    scripted: Site, visitors: Visitors, number: int
) -> None:
    page = visitors.enter(scripted)
    page.goto(f"/conversations/{scripted.served.shell(LONG_TALK)}/")
    page.wait_for_selector(LIVE)
    for count in (20, 40, 46):
        expect(turns(page)).to_have_count(count)
        page.locator("#scroll").evaluate("view => (view.scrollTop = 0)")
    top = turns(page).nth(number)
    top.evaluate("turn => turn.scrollIntoView({ block: 'start' })")
    come_to_rest(page)
    before = top.bounding_box()
    assert before
    chosen = page.locator(".turn", has=page.get_by_text(f"Question {number}", exact=True))
    page.reload()
    page.wait_for_selector(LIVE)
    expect(chosen).to_be_in_viewport()
    until(page, lambda: (box := chosen.bounding_box()) and abs(box["y"] - before["y"]) < 3)
    expect(page.locator("#to-end")).to_be_visible()


def test_whoever_read_above_is_not_led_to_the_end_by_loading_the_page_again(
    scripted: Site, visitors: Visitors
) -> None:
    """While an answer is written, whose last lines may not be on the page yet."""
    page = visitors.enter(scripted)
    gate = half_written(page, scripted)
    scroll_up(page)
    page.reload()
    page.wait_for_selector(LIVE)
    gate.set()
    at_rest(page)
    come_to_rest(page)
    assert place(page)["below"] > 300
    expect(page.locator("#to-end")).to_be_visible()


def test_who_comes_back_to_the_end_follows_it_on(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply(text=LONG))
    begin(page, "Another talk")
    at_rest(page)
    gate = threading.Event()
    scripted.model.script(Reply(text=LONG), Reply(text=LONG + "\n\nThe end.", stall_after=3, gate=gate))
    page.goto("/")
    begin(page, "Something long")
    at_rest(page)
    send(page, "Go on")
    expect(page.locator("#transcript")).to_contain_text("Paragraph 0.")
    assert place(page)["below"] < 2
    page.locator("#sidebar").get_by_role("link", name="Another talk").click()
    expect(page).to_have_title("Another talk")
    gate.set()
    until(page, lambda: not scripted.at_work())
    page.go_back()
    expect(page.get_by_text("The end.")).to_be_in_viewport()
