"""Files beside the chat, live; and files that go with a message: chosen, dropped, pasted, in a plain form."""

from __future__ import annotations

import re
import socketserver
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import FileChooser, Locator, Page, Route, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    PASTE,
    TOPMOST,
    another_tab,
    at_rest,
    begin,
    last_turn,
    send,
    todo,
    turns,
    until,
)
from tests.pictures import png

HOSTILE = "<img src=x onerror=alert(1)>.py"
WIDE = {"width": 1400, "height": 900}
NARROW = {"width": 390, "height": 844}
# Each file as its name, its type, and its text, which is repeated so often.
GIVE = """(place, [kind, files]) => {
    const data = new DataTransfer();
    for (const [name, type, text, times] of files)
        data.items.add(new File([text.repeat(times ?? 1)], name, { type }));
    const event = kind === "paste"
        ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    place.dispatchEvent(event);
}"""


def writes(path: str, content: str) -> Reply:
    return Reply(tool_calls=[("write_file", {"path": path, "content": content})])


def rows(page: Page) -> Locator:
    return page.locator("#files-panel .file-row[data-kind='file']")


# Whether an element can be clicked at its middle and holds what is in it.
SEEN_WHOLE = """place => {
    const { left, top, width, height } = place.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return place.contains(there) && place.scrollWidth <= place.clientWidth + 1;
}"""


def attached(page: Page) -> Locator:
    return page.locator("#composer-attached .attached")


def test_the_panel_follows_the_agent(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("src/a.py", "import os\n"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write it")
    page.click(".bar__files")
    expect(rows(page).filter(has_text="a.py")).to_contain_text("new")
    at_rest(page)
    page.click("#files-panel .files__link >> text=a.py")
    expect(page.locator("#files-panel .files__text .hl-kn")).to_have_text("import")
    scripted.model.script(writes("src/a.py", "import sys\n"), Reply(text="Changed."))
    send(page, "change it")
    expect(page.locator("#files-panel .files__text")).to_contain_text("sys")
    page.click("#files-panel .files__title .files__link")
    expect(rows(page)).to_have_count(1)
    command = {"command": "rm -r src; echo 1 > made-by-bash"}
    scripted.model.script(Reply(tool_calls=[("bash", command)]), Reply(text="Done."))
    send(page, "and now with bash")
    expect(rows(page)).to_have_text(["made-by-bash new"], use_inner_text=True)


@pytest.mark.parametrize("width", [1024, 1280])
def test_the_chat_is_whole_beside_an_open_file(scripted: Site, visitors: Visitors, width: int) -> None:
    scripted.model.script(writes("a.py", "import os\n"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport={"width": width, "height": 700})
    begin(page, "write it")
    at_rest(page)
    gate = threading.Event()
    plan = todo("in_progress", "pending", "pending", "pending")
    scripted.model.script(plan, Reply(text="I work", stall_after=1, gate=gate))
    send(page, "go on")
    expect(page.locator("#todo-panel .todo")).to_have_count(4)
    page.fill("#composer-text", "and this")
    page.press("#composer-text", "Enter")
    expect(page.locator("#stop-and-send")).to_be_visible()
    page.click(".bar__files")
    page.click("#files-panel .files__link >> text=a.py")
    expect(page.locator("#files-panel .files__text")).to_contain_text("os")
    for button in page.locator(".composer__row .button, #stop-and-send").all():
        assert button.evaluate(SEEN_WHOLE), button.inner_text()
    assert page.locator("#title").evaluate("title => title.clientWidth") > 30
    page.click("#composer-text")
    page.keyboard.press("Escape")
    hint = page.locator("#stop-hint")
    expect(hint).to_have_text("Press Escape again to stop")
    assert hint.evaluate(SEEN_WHOLE)
    assert hint.evaluate("hint => hint.scrollWidth <= hint.clientWidth")
    gate.set()


def test_a_plan_is_edited_beside_files_in_half_a_window(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        writes("a.py", "import os\n"), todo("pending", "pending", "pending"), Reply(text="Written.")
    )
    page = visitors.enter(scripted, viewport={"width": 960, "height": 900})
    begin(page, "write it")
    at_rest(page)
    page.click(".bar__files")
    expect(page.locator("#files-panel")).to_be_visible()
    page.click("#todo-panel > summary")
    history = page.locator(".todo-panel__foot a")
    expect(history).to_be_visible()
    for part in (history, page.locator("#unfinished [data-follow]")):
        assert part.evaluate(TOPMOST)
    page.locator("#todo-panel .todo__line").first.click()
    field = page.locator("#todo-panel .todo").first.get_by_role("textbox")
    expect(field).to_be_focused()
    assert field.evaluate("field => field.clientWidth") > 150
    field.fill("Send the whole brief to everybody who was at the meeting on Monday. " * 6)
    for name in ("Save", "Cancel"):
        assert page.locator("#todo-panel .todo").first.get_by_role("button", name=name).evaluate(TOPMOST)


def test_it_stays_as_it_was_left(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("a/b.txt", "text"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write it")
    at_rest(page)
    expect(page.locator("#files-panel")).to_be_hidden()
    page.click(".bar__files")
    page.click("#files-panel summary")
    expect(rows(page)).to_be_hidden()
    scripted.model.script(writes("c.txt", "text"), Reply(text="Written."))
    send(page, "one more")
    expect(rows(page).filter(has_text="c.txt")).to_be_visible()
    expect(rows(page).filter(has_text="b.txt")).to_be_hidden()
    page.reload()
    expect(rows(page).filter(has_text="c.txt")).to_be_visible()
    page.click(".files-panel__close")
    page.reload()
    at_rest(page)
    expect(page.locator("#files-panel")).to_be_hidden()


def test_names_and_content_stay_text(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes(HOSTILE, "</pre><script>alert(2)</script>"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write it")
    page.click(".bar__files")
    rows(page).filter(has_text=HOSTILE).locator("a").click()
    expect(page.locator("#files-panel .files__text")).to_contain_text("</pre><script>alert(2)</script>")
    expect(page.locator("#files-panel .files__path")).to_have_text(HOSTILE)
    assert page.locator("#files-panel :is(script, img)").count() == 0


def test_on_a_narrow_screen_the_panel_covers_the_page(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("a.txt", "some text"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport=NARROW)
    address = begin(page, "write it")
    at_rest(page)
    page.click(".bar__files")
    page.click("#files-panel .files__link >> text=a.txt")
    expect(page.locator(".files__text")).to_have_text("some text")
    with page.expect_download() as loading:
        page.click("#files-body >> text=Download")
    assert loading.value.suggested_filename == "a.txt"
    assert Path(loading.value.path()).read_text() == "some text"
    page.keyboard.press("Escape")
    expect(page.locator("#files-panel")).to_be_hidden()
    expect(page.locator(".bar__files")).to_be_focused()
    assert page.url == address


def with_many_files(site: Site, visitors: Visitors, viewport: dict[str, int]) -> Page:
    """The panel with a list that is longer than the screen, and a folder of it unfolded."""
    many = "mkdir many node_modules; touch {many,node_modules}/{1..60}.txt {1..26}.txt; seq 2001 > long.txt"
    written = writes("words.md", "word\n\n" * 300)
    site.model.script(Reply(tool_calls=[("bash", {"command": many})]), written, Reply(text="Written."))
    page = visitors.enter(site, viewport=viewport)
    begin(page, "write them")
    at_rest(page)
    page.click(".bar__files")
    page.locator("#files summary", has_text="many").click()
    return page


def shows(page: Page, shown: str, top: float) -> None:
    """Wait until the panel has this beneath its title, scrolled so far."""
    expect(page.locator(f"#files > {shown}")).to_be_visible()
    until(page, lambda: page.locator("#files-panel").evaluate("panel => panel.scrollTop") == top)


@pytest.mark.parametrize("viewport", [{"width": 384, "height": 854}, WIDE])
def test_a_file_opens_at_its_top_and_the_list_where_it_was_left(
    scripted: Site, visitors: Visitors, viewport: dict[str, int]
) -> None:
    page = with_many_files(scripted, visitors, viewport)
    panel, up = page.locator("#files-panel"), page.locator(".files__title .files__link")
    top = panel.evaluate("panel => { panel.scrollTop = panel.scrollHeight; return panel.scrollTop; }")
    assert top > 2000
    for back in (up.click, up.click if viewport == WIDE else page.go_back):
        rows(page).get_by_role("link", name="long.txt").click()
        shows(page, ".files__code", 0)
        back()
        shows(page, ".files__rows", top)
    rows(page).get_by_role("link", name="words.md").click()
    shows(page, ".files__document", 0)
    panel.evaluate("panel => { panel.scrollTop = 1000; }")
    page.locator("#files").evaluate("files => files.setAttribute('data-old', '')")
    page.locator("#files").dispatch_event("files-changed")  # as where the agent has changed something
    expect(page.locator("#files[data-old]")).to_have_count(0)
    shows(page, ".files__document", 1000)
    page.get_by_role("link", name="Source").evaluate("link => link.click()")
    shows(page, ".files__code", 0)
    for _time in range(2):  # from the file, and from the list
        page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        page.click(".bar__files")
        if viewport == WIDE and up.count():
            up.click()
        shows(page, ".files__rows", top)


@pytest.mark.parametrize("viewport", [{"width": 384, "height": 854}, WIDE])
def test_a_folder_opens_at_its_top(scripted: Site, visitors: Visitors, viewport: dict[str, int]) -> None:
    page = with_many_files(scripted, visitors, viewport)
    folder = page.get_by_role("link", name="node_modules")
    folder.scroll_into_view_if_needed()
    top = page.locator("#files-panel").evaluate("panel => panel.scrollTop")
    assert top > 0
    folder.click()
    expect(page.locator(".files__path")).to_have_text("node_modules")
    shows(page, ".files__rows", 0)
    page.click(".files__title .files__link")
    expect(page.locator(".files__path")).to_have_count(0)
    shows(page, ".files__rows", top)
    if viewport != WIDE:
        folder.click()
        expect(page.locator(".files__path")).to_have_text("node_modules")
        page.locator(".file-row .files__link").first.click()
        expect(page.locator(".files--one")).to_be_visible()
        page.go_back()
        shows(page, ".files__rows", top)
    rows(page).get_by_role("link", name="words.md").evaluate("link => link.click()")
    shows(page, ".files__document", 0)
    choose(page, "words.md").get_by_role("button", name="Delete").click()
    page.click("#file-delete .button--danger")
    shows(page, ".files__rows", top)


def test_an_open_file_stays_as_the_screen_is_turned(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("a.txt", "some text"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport={"width": 820, "height": 1180})
    begin(page, "write it")
    at_rest(page)
    page.click(".bar__files")
    page.click("#files-panel .files__link >> text=a.txt")
    expect(page.locator(".files__text")).to_have_text("some text")
    for width, height in ((1180, 820), (820, 1180), (1180, 820)):
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator("#files-panel:modal")).to_have_count(int(width < 960))
        covers = "Boolean(history.state?.cover) === innerWidth < 960"
        until(page, partial(page.evaluate, covers))
        expect(page.locator(".files__text")).to_have_text("some text")
        expect(page.locator(".file-row")).to_have_count(0)


def test_files_go_with_the_first_message(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Read."))
    page = visitors.enter(scripted, viewport=WIDE)
    page.goto("/")
    files = [{"name": name, "mimeType": "text/plain", "buffer": b"text"} for name in ("a.txt", "b.txt")]
    page.set_input_files("#composer-files", files)  # type: ignore[arg-type]
    expect(attached(page)).to_have_count(2)
    attached(page).last.get_by_role("button").click()
    page.fill("#composer-text", "read this")
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_text("a.txt")
    assert "b.txt" not in last_turn(page).inner_text()
    asked = scripted.model.requests[-1]["messages"][-1]["content"]
    assert asked.endswith("read this\n\nUploaded: uploads/a.txt")
    page.click(".bar__files")
    expect(rows(page)).to_contain_text(["a.txt"])


def test_files_go_with_a_later_message_and_the_page_stays(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Yes?"), Reply(text="Read."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    page.evaluate("window.stays = true")
    text = page.locator("#composer-text")
    text.evaluate(GIVE, ["paste", [["image.png", "image/png", "\x89PNG"]]])
    page.locator("#transcript").evaluate(GIVE, ["drop", [["data.csv", "text/csv", "1,2"]]])
    expect(attached(page)).to_have_count(2)
    text.press("Enter")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_text(["image.png", "data.csv"])
    expect(turns(page)).to_have_count(2)
    expect(attached(page)).to_have_count(0)
    expect(page.locator("#composer-note")).to_be_hidden()
    assert page.evaluate("window.stays")
    scripted.model.script(Reply(text="Again."))
    send(page, "and without files")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_count(0)


def test_of_too_many_or_too_large_those_that_fit_are_taken(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    text = page.locator("#composer-text")
    note = page.locator("#composer-note")
    text.evaluate(GIVE, ["paste", [[f"{number}", "image/png", "x"] for number in range(23)]])
    expect(note).to_have_text("You can send up to 20 files at once. Not added: 20, 21, and 22.")
    expect(attached(page)).to_have_count(20)
    text.evaluate(GIVE, ["paste", [[f"{number}", "image/png", "x"] for number in range(6)]])
    expect(note).to_have_text("You can send up to 20 files at once. Not added: 0, 1, 2, 3, 4, and 1 more.")
    expect(attached(page)).to_have_count(20)
    page.reload()
    expect(attached(page)).to_have_count(20)
    for _ in range(20):
        attached(page).first.get_by_role("button").click()
    large = [["a $& b.png", "image/png", "x", 26 * 2**20], ["b.png", "image/png", "x"]]
    text.evaluate(GIVE, ["paste", large])
    expect(note).to_have_text("You can send up to 25.0\xa0MB at once. Not added: a $& b.png.")
    expect(attached(page)).to_have_text(["b.png×"])
    unseen = page.get_by_text("Larger ones go to the agent as files")
    expect(unseen).to_be_hidden()
    text.evaluate(GIVE, ["paste", [[f"{number}.png", "image/png", "x", 5 * 2**20] for number in range(5)]])
    expect(note).to_have_text("You can send up to 25.0\xa0MB at once. Not added: 4.png.")
    expect(attached(page)).to_have_count(5)
    expect(unseen).to_be_visible()


def test_a_paste_longer_than_a_message_becomes_a_file(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    text = page.locator("#composer-text")
    assert text.evaluate(PASTE, "a short one"), "the browser puts it in"
    assert not text.evaluate(PASTE, "a long line\n" * 6000)
    expect(attached(page)).to_have_text(["pasted.txt×"])
    expect(text).to_have_value("")
    for number in (2, 3):
        assert not text.evaluate(PASTE, f"another long line, {number}\n" * 6000)
        expect(attached(page).last).to_have_text(f"pasted {number}.txt×")
    for _ in range(2):
        attached(page).last.get_by_role("button").click()
    scripted.model.script(Reply(text="Read."))
    text.fill("sum it up")
    text.press("Enter")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_text(["pasted.txt"])


@pytest.mark.parametrize("said", ["read this", ""])
def test_where_the_line_is_cut_nothing_is_lost(scripted: Site, visitors: Visitors, said: str) -> None:
    visitors.expected += ["Failed to load resource", "net::"]
    scripted.model.script(Reply(text="Yes?"), Reply(text="Read."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    page.set_input_files("#composer-files", [{"name": "a.txt", "mimeType": "text/plain", "buffer": b"text"}])
    page.fill("#composer-text", said)
    page.route("**/messages/", lambda route: route.abort())
    page.press("#composer-text", "Enter")
    waits = "Not sent yet. Your message will be sent when the connection is back."
    expect(page.locator("#composer-note")).to_have_text(waits)
    expect(attached(page)).to_have_count(1)
    expect(page.locator("#composer-text")).to_have_value(said)
    page.unroute("**/messages/")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_text("a.txt")
    expect(turns(page)).to_have_count(2)


def test_without_a_script(demo: Site, visitors: Visitors) -> None:
    page = visitors.enter(demo, java_script_enabled=False)
    page.goto("/")
    page.set_input_files("#composer-files", [{"name": "a.txt", "mimeType": "text/plain", "buffer": b"text"}])
    page.fill("#composer-text", "hello")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    expect(turns(page).last.locator(".attachment")).to_have_text("a.txt")

    def rests() -> bool:
        page.reload()
        return page.locator("#conversation[data-status='idle']").count() == 1

    until(page, rests)
    page.set_input_files("#composer-files", [{"name": "b.txt", "mimeType": "text/plain", "buffer": b"text"}])
    page.fill("#composer-text", "and this")
    page.click("#send")
    expect(turns(page).last.locator(".attachment")).to_have_text("b.txt")
    page.goto(f"{page.url}files/")
    expect(page.locator(".file-row", has_text="b.txt").last).to_contain_text("4 bytes")
    page.set_input_files(
        ".files__upload input[type=file]", [{"name": "c.txt", "mimeType": "text/plain", "buffer": b"text"}]
    )
    page.click(".files__upload button")
    expect(page.locator(".file-row", has_text="c.txt").last).to_contain_text("4 bytes")


PICTURE = {"name": "a.png", "mimeType": "image/png", "buffer": png(side=400)}
NOTES = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"some text"}


def with_attachments(site: Site, visitors: Visitors, viewport: dict[str, int]) -> Page:
    """A conversation that is longer than the screen, the message with two files in the middle of it."""
    lines = "\n\n".join(f"Line {number}." for number in range(40))
    site.model.script(Reply(text=lines), Reply(text=lines))
    page = visitors.enter(site, viewport=viewport)
    begin(page, "hello")
    at_rest(page)
    page.set_input_files("#composer-files", [PICTURE, NOTES])  # type: ignore[list-item]
    send(page, "look at these")
    at_rest(page)
    page.locator(".attachment__file").scroll_into_view_if_needed()
    return page


def test_files_of_a_message_stand_in_rows(scripted: Site, visitors: Visitors) -> None:
    """Pictures above the others, whose names take one line, cut in the middle if they are long."""
    name = "a very long name of a file that differs from others at its end 7.txt"
    scripted.model.answer = lambda request: Reply("Seen.")
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "hello")
    at_rest(page)
    files = [NOTES, PICTURE, {**NOTES, "name": name}]
    page.set_input_files("#composer-files", files)  # type: ignore[arg-type]
    send(page, "look at these")
    at_rest(page)
    expect(page.locator(".attachment__file")).to_have_text(["notes.txt", name])
    boxes = [each.bounding_box() for each in page.locator(".attachments :is(img, .attachment__file)").all()]
    (notes, picture, long) = boxes
    assert notes
    assert picture
    assert long
    assert notes["y"] == long["y"] > picture["y"] + picture["height"]
    assert notes["height"] == long["height"]
    assert long["width"] < 230
    turns(page).last.get_by_role("link", name="Edit").click()
    expect(page.locator(".again__attached .attached > span").last).to_have_text(name)


def look_in_place(page: Page, link: str, shown: str) -> None:
    """Open the file of a link, come back with Escape, and be where one was."""
    page.evaluate("window.stays = true")
    address, top = page.url, page.locator(link).bounding_box()
    page.click(link)
    expect(page.locator(f"#files-panel {shown}")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#files-panel")).to_be_hidden()
    expect(page.locator(link)).to_be_focused()
    assert page.url == address
    assert page.evaluate("window.stays")
    assert page.locator(link).bounding_box() == top


def test_escape_closes_a_file_that_was_opened_beside_another(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    page.click(".attachment__picture")
    expect(page.locator("#files-panel .files__picture")).to_be_visible()
    page.click(".attachment__file")
    expect(page.locator("#files-panel")).to_contain_text("some text")
    page.keyboard.press("Escape")
    expect(page.locator("#files-panel")).to_be_hidden()


def test_the_files_of_a_version_without_the_file_that_was_shown(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("notes.txt", "some text"), Reply(text="It is written."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "Write it")
    at_rest(page)
    page.click(".bar__files")
    rows(page).get_by_role("link", name="notes.txt").click()
    expect(page.locator("#files-panel .files__text")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#files-panel")).to_be_hidden()
    scripted.model.script(Reply(text="Again."))
    turns(page).first.hover()
    turns(page).first.get_by_role("button", name="Run again").click()
    expect(turns(page).last).to_contain_text("Again.")
    at_rest(page)
    page.click(".bar__files")
    expect(page.locator("#files")).to_contain_text("No files yet")
    expect(page.locator(".files__problem")).to_have_count(0)


def test_an_attached_file_opens_beside_the_conversation(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    look_in_place(page, ".attachment__file", ".files__text >> text=some text")
    look_in_place(page, ".attachment__picture", ".files__picture")
    with page.context.expect_page() as opened:
        page.click(".attachment__file", modifiers=["ControlOrMeta"])
    expect(opened.value.locator(".files-page .files__text")).to_have_text("some text")


def test_on_a_phone_it_opens_above_the_conversation(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, NARROW)
    look_in_place(page, ".attachment__file", ".files__text >> text=some text")
    look_in_place(page, ".attachment__picture", ".files__picture")
    page.click(".attachment__file")
    page.click(".files-panel__close")
    expect(page.locator(".attachment__file")).to_be_focused()


def test_an_edited_message_keeps_the_files_that_are_not_removed(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    visitors.expected.append("409 (Conflict)")
    scripted.model.script(Reply(text="Again."), Reply(text="Once more."), Reply(text="With others."))
    dialog = page.get_by_role("dialog")

    def edit() -> Locator:
        turns(page).last.hover()
        turns(page).last.get_by_role("link", name="Edit").click()
        return dialog.locator(".attached")

    expect(edit().locator("span")).to_have_text([PICTURE["name"], NOTES["name"]])  # type: ignore[list-item]
    expect(dialog.get_by_label("Message")).to_have_value("look at these")
    expect(dialog.locator(".attached img")).to_have_count(1)
    dialog.get_by_label("Message").fill("look again")
    dialog.get_by_role("button", name="Run again").click()
    expect(turns(page).last).to_contain_text("Again.")
    at_rest(page)
    expect(turns(page).last.locator(".message__body").first).to_have_text("look again")
    expect(last_turn(page).locator(".attachment")).to_have_count(2)

    edit()
    dialog.get_by_role("button", name=f"Remove {PICTURE['name']}").click()
    expect(dialog.get_by_label("Message")).to_be_focused()
    dialog.get_by_label("Message").fill("")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(turns(page).last).to_contain_text("Once more.")
    at_rest(page)
    expect(last_turn(page).locator(".attachment")).to_have_text([str(NOTES["name"])])
    expect(last_turn(page).locator(".message[data-role=user] .message__body")).to_have_count(0)
    asked = scripted.model.requests[-1]["messages"][-1]["content"]
    assert asked.endswith(f"Uploaded: uploads/{NOTES['name']}")
    assert str(PICTURE["name"]) not in asked

    edit().get_by_role("button").click()
    expect(dialog.locator(".again__attached")).to_be_hidden()
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog.get_by_role("alert")).to_have_text("The message is empty.")
    dialog.get_by_label("Add files").set_input_files([NOTES])  # type: ignore[list-item]
    for kind, place, name in [("paste", "textarea[name=text]", "pasted.csv"), ("drop", "h2", "dropped.csv")]:
        dialog.locator(place).evaluate(GIVE, [kind, [[name, "text/csv", "a,b"]]])
    dialog.get_by_role("button", name="Run again").click()
    expect(turns(page).last).to_contain_text("With others.")
    expect(last_turn(page).locator(".attachment")).to_have_text(["notes-2.txt", "pasted.csv", "dropped.csv"])
    expect(attached(page)).to_have_count(0)


NUMBERS = "lines => lines.map(line => getComputedStyle(line, '::before').content)"
SELECTED = """code => {
    getSelection().selectAllChildren(code);
    return getSelection().toString();
}"""


def test_a_text_wraps_and_code_does_once_asked(scripted: Site, visitors: Visitors) -> None:
    """The numbers stay with their lines, and are not copied."""
    line = "a long line of words " * 40
    text = f"{line}\n\n\tthe end"
    scripted.model.script(writes("a.txt", text), writes("b.py", f"# {line}"), Reply("`a.txt` and `b.py`"))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write")
    at_rest(page)
    code, wrap = page.locator(".files__code"), page.locator("#files-panel .code-block__wrap")
    too_wide = "code => code.scrollWidth > code.clientWidth + 1"
    last_turn(page).get_by_role("link", name="a.txt").click()
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert not code.evaluate(too_wide)
    assert code.locator("pre > span").evaluate_all(NUMBERS) == ['counter(line) / ""'] * 3
    assert code.evaluate(SELECTED) == text
    last_turn(page).get_by_role("link", name="b.py").click()
    expect(wrap).to_have_attribute("aria-pressed", "false")
    assert code.evaluate(too_wide)
    wrap.click()
    assert not code.evaluate(too_wide)


def test_a_changed_file_opens_beside_the_conversation(scripted: Site, visitors: Visitors) -> None:
    command = {"command": "echo 1 > made-by-bash"}
    scripted.model.script(Reply(tool_calls=[("bash", command)]), Reply(text="Done."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "do it")
    at_rest(page)
    page.click(".tool-call > summary")
    look_in_place(page, ".changed-files a", ".diff")


def test_files_are_uploaded_in_one_step(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    page.click(".bar__files")
    expect(rows(page)).to_have_count(2)
    page.set_input_files("#files-panel .files__upload input[type=file]", [NOTES])  # type: ignore[list-item]
    expect(rows(page).filter(has_text="notes-2.txt")).to_be_visible()
    page.locator("#files-panel .files__title").evaluate(GIVE, ["dragover", [["d.csv", "text/csv", "1,2"]]])
    expect(page.locator("#files-panel")).to_have_attribute("data-drop", "")
    page.locator("#files-panel .files__title").evaluate(GIVE, ["drop", [["d.csv", "text/csv", "1,2"]]])
    expect(rows(page).filter(has_text="d.csv")).to_be_visible()
    expect(page.locator("[data-drop]")).to_have_count(0)
    expect(attached(page)).to_have_count(0)


def test_files_are_uploaded_in_as_many_requests_as_it_takes(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    page.click(".bar__files")
    expect(rows(page)).to_have_count(2)
    limit = page.evaluate("document.getElementById('composer-files').dataset.mostBytes = '100'")
    assert limit == "100"
    files = [[f"{number}", "text/csv", "x" * 60] for number in range(3)]
    files.insert(1, ["large", "text/csv", "x" * 101])
    status = page.locator(".files__upload [role=alert]")
    page.locator("#files-panel .files__title").evaluate(GIVE, ["drop", files])
    expect(rows(page)).to_have_count(5)
    expect(status).to_have_text("You can send up to 25.0 MB at once. Not added: large.")
    many = [[f"many {number}", "text/csv", "x"] for number in range(41)]
    page.locator("#files-panel .files__title").evaluate(GIVE, ["drop", many])
    expect(rows(page)).to_have_count(46)
    expect(status).to_be_empty()

    requests: list[Route] = []
    page.route("**/files/upload/", lambda route: requests.append(route))
    page.locator("#files-panel .files__title").evaluate(GIVE, ["drop", files[2:]])
    until(page, lambda: len(requests) == 1)
    requests[0].continue_()
    until(page, lambda: len(requests) == 2)
    visitors.expected += ["ERR_FAILED", "Failed to fetch"]
    requests[1].abort()
    expect(status).to_have_text("The files could not be uploaded. Try again. Not added: 2.")
    expect(rows(page)).to_have_count(47)

    page.locator("#files-panel .files__title").evaluate(GIVE, ["drop", files[2:]])
    until(page, lambda: len(requests) == 3)
    rows(page).first.locator(".files__link").click()
    expect(page.locator(".files--one")).to_be_visible()
    requests[2].continue_()
    expect(page.locator("#composer-note")).to_have_text("Not added: 2.")
    page.unroute_all()


def test_why_a_file_was_not_uploaded_is_said_until_the_next_act(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("status of 400 (Bad Request)")
    page = with_attachments(scripted, visitors, WIDE)
    scripted.model.script(Reply(text="Again."))
    turns(page).last.hover()
    turns(page).last.get_by_role("link", name="Edit").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(turns(page).last).to_contain_text("Again.")
    at_rest(page)
    page.click(".bar__files")
    expect(rows(page)).to_have_count(2)
    limits = "data => Object.assign(data.dataset, { mostBytes: '100', mostFiles: '50' })"
    page.locator("#composer-files").evaluate(limits)
    error = page.locator("#files").get_by_role("alert").filter(has_text="You can send up to")
    large = [["large", "text/csv", "x" * 101]]
    many = [[f"{number}", "text/csv", "x"] for number in range(21)]  # which the server refuses

    def refuse(files: list[list[str]]) -> None:
        page.locator("#files-panel .files__title").evaluate(GIVE, ["drop", files])
        expect(error).to_be_visible()
        expect(error).to_have_css("color", red)

    page.locator("#composer-text").evaluate(GIVE, ["drop", large])
    note = page.locator("#composer-note")
    expect(note).to_be_visible()
    red = note.evaluate("note => getComputedStyle(note).color")
    for files in (large, many):
        refuse(files)
        page.click(".files-panel__close")
        with page.expect_response("**/files/?path=."):
            page.click(".bar__files")
        expect(error).to_have_count(0)
        refuse(files)
        page.get_by_role("button", name="Previous version").or_(
            page.get_by_role("button", name="Next version")
        ).last.click()
        expect(error).to_have_count(0)
    refuse(large)
    choose(page, "notes.txt").get_by_label("Name").fill("ideas.txt")
    page.keyboard.press("Enter")
    expect(rows(page).filter(has_text="ideas.txt")).to_be_visible()
    expect(error).to_have_count(0)


def test_files_opens_the_list_after_a_link_to_a_file_that_is_gone(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("404 (Not Found)")
    page = with_attachments(scripted, visitors, WIDE)
    with page.context.expect_page() as opened:
        page.click(".bar__files", modifiers=["ControlOrMeta"])
    choose(opened.value, "notes.txt").get_by_role("button", name="Delete").click()
    opened.value.click("#file-delete .button--danger")
    expect(opened.value.locator(".file-row__more")).to_have_count(1)
    page.get_by_role("link", name="notes.txt").click()
    expect(page.locator("#files-panel .files__problem")).to_contain_text("This file is not there any more")
    page.click(".bar__files")
    expect(page.locator("#files-panel")).to_be_hidden()
    page.click(".bar__files")
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#files-panel .files__problem")).to_have_count(0)


def choose(page: Page, name: str) -> Locator:
    """The menu of a file in the panel."""
    page.locator(f'.file-row__more[aria-label="Actions for {name}"]').click()
    return page.locator("#file-menu")


@pytest.mark.parametrize("way", ["Edit", "Run again"])
def test_a_file_that_is_gone_is_not_sent_again(scripted: Site, visitors: Visitors, way: str) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    page.click(".bar__files")
    choose(page, "notes.txt").get_by_role("button", name="Delete").click()
    page.click("#file-delete .button--danger")
    expect(rows(page)).to_have_count(1)
    page.locator("#files-panel").get_by_role("button", name="Close").click()
    scripted.model.script(Reply(text="Looked."))
    if way == "Edit":
        turns(page).last.get_by_role("link", name="Edit").click()
        dialog = page.locator("dialog:modal")
        expect(dialog.locator(".attached s")).to_have_text(["notes.txt"])
        expect(dialog).to_contain_text("They are not sent again.")
        dialog.get_by_role("button", name="Run again").click()
    else:
        turns(page).last.get_by_role("button", name="Run again").click()
    expect(turns(page).last).to_contain_text("Looked.")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_count(1)
    expect(last_turn(page).get_by_text("notes.txt")).to_have_count(0)


def rename(page: Page, old: str, new: str) -> None:
    choose(page, old).get_by_label("Name").fill(new)
    page.keyboard.press("Enter")
    expect(rows(page).filter(has_text=new)).to_be_visible()


def test_a_message_leads_to_its_file_under_the_new_name(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    other = another_tab(page)
    page.click(".bar__files")
    for old, new in [("notes.txt", "ideas.txt"), ("ideas.txt", "plans.txt"), ("plans.txt", "notes.txt")]:
        rename(page, old, new)
        for tab in (page, other):
            expect(tab.locator("a.attachment__file")).to_have_text(new)
    rename(page, "notes.txt", "ideas.txt")
    rename(page, "a.png", "b.png")
    for tab in (page, other):
        expect(tab.locator("a.attachment__picture > img")).to_have_attribute("alt", "b.png")
        tab.locator("a.attachment__file").click()
        expect(tab.locator("#files-panel .files__path")).to_have_text("uploads/ideas.txt")
        expect(tab.locator("#files-panel .files__text")).to_have_text("some text")
    page.reload()
    expect(page.locator("a.attachment__file")).to_have_text("ideas.txt")
    expect(page.locator(".turn").last.locator(".message__body").first).to_have_text("look at these")


@pytest.mark.parametrize("way", ["Edit", "Run again"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_renamed_file_is_sent_again_under_the_name_that_it_has_there(
    scripted: Site, visitors: Visitors, way: str, changed: bool
) -> None:
    """That is its first name if the agent had changed it: the version begins with it as it was sent."""
    page = with_attachments(scripted, visitors, WIDE)
    if changed:
        page.set_input_files("#composer-files", {**NOTES, "name": "more.txt"})  # type: ignore[arg-type]
        scripted.model.script(writes("uploads/more.txt", "other text"), Reply(text="Changed."))
        send(page, "change it")
        expect(last_turn(page, "completed")).to_contain_text("Changed.")
    page.click(".bar__files")
    rename(page, "more.txt" if changed else "notes.txt", "ideas.txt")
    page.locator("#files-panel").get_by_role("button", name="Close").click()
    scripted.model.script(Reply(text="Looked."))
    if way == "Edit":
        turns(page).last.get_by_role("link", name="Edit").click()
        dialog = page.locator("dialog:modal")
        expect(dialog.locator(".attached s")).to_have_count(0)
        dialog.get_by_role("button", name="Run again").click()
    else:
        turns(page).last.get_by_role("button", name="Run again").click()
    expect(turns(page).last).to_contain_text("Looked.")
    name = "more.txt" if changed else "ideas.txt"
    sent = last_turn(page, "completed").locator("a.attachment__file")
    expect(sent).to_have_text(name)
    [*_, asked] = [each for each in scripted.model.requests[-1]["messages"] if each["role"] == "user"]
    assert f"Uploaded: uploads/{name}" in str(asked)
    sent.click()
    expect(page.locator("#files-panel .files__text")).to_have_text("some text")


def test_a_file_is_renamed_and_deleted_in_the_panel(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    page.click(".bar__files")
    menu = choose(page, "notes.txt")
    menu.get_by_label("Name").fill("a.png")
    menu.get_by_role("button", name="Rename").click()
    expect(page.locator(".files__problem")).to_have_text("a.png already exists. Choose another name.")
    page.locator("#files").evaluate("files => files.setAttribute('data-old', '')")
    page.locator("#files").dispatch_event("files-changed")  # as where the agent has changed something
    expect(page.locator("#files[data-old]")).to_have_count(0)
    expect(page.locator(".files__problem")).to_have_text("a.png already exists. Choose another name.")
    name = menu.get_by_label("Name")
    expect(name).to_have_value("a.png")
    expect(name).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".files__problem")).to_have_count(0)
    choose(page, "notes.txt")
    name.fill("ideas.txt")
    page.keyboard.press("Enter")
    expect(rows(page).filter(has_text="ideas.txt")).to_be_visible()
    expect(page.locator(".files__problem")).to_have_count(0)
    expect(menu).to_be_hidden()
    expect(turns(page).last.locator("a.attachment__file")).to_have_text("ideas.txt")
    expect(turns(page).last.locator("a.attachment__picture")).to_have_count(1)
    page.reload()
    with page.expect_download() as loading:
        choose(page, "ideas.txt").get_by_text("Download").click()
    assert Path(loading.value.path()).read_text() == "some text"
    choose(page, "ideas.txt").get_by_text("Insert path into message").click()
    expect(page.locator("#composer-text")).to_have_value("uploads/ideas.txt ")
    choose(page, "ideas.txt").get_by_role("button", name="Delete").click()
    expect(page.locator("#file-delete")).to_contain_text("ideas.txt")
    in_versions = page.locator("#file-delete").get_by_text("Where other versions have the same file")
    expect(in_versions).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#files-panel")).to_be_visible()
    scripted.model.script(Reply(text="Again."))
    run_again = turns(page).last.get_by_role("button", name="Run again")
    run_again.scroll_into_view_if_needed()
    expect(page.locator("#to-end")).to_be_hidden()  # which gives its room to the transcript
    run_again.click()
    expect(turns(page).last).to_contain_text("Again.")
    at_rest(page)
    choose(page, "ideas.txt")
    expect(menu.get_by_text("it is renamed there, too")).to_be_visible()
    menu.get_by_role("button", name="Delete").click()
    expect(in_versions).to_be_visible()
    page.click("#file-delete .button--danger")
    expect(rows(page)).to_have_count(1)
    choose(page, "a.png").get_by_role("button", name="Delete").click()
    page.click("#file-delete .button--danger")
    expect(rows(page)).to_have_count(0)
    files = last_turn(page).locator(".attachment > span.attachment__file")
    expect(files).to_have_text(["a.png", "ideas.txt"])
    page.reload()
    expect(files).to_have_text(["a.png", "ideas.txt"])


@pytest.mark.parametrize("viewport", [WIDE, NARROW])
def test_a_file_that_is_open_stays_so_under_its_new_name(
    scripted: Site, visitors: Visitors, viewport: dict[str, int]
) -> None:
    scripted.model.script(writes("a.html", "<p>Hello"), writes("b.md", "Bye"), Reply("Written."))
    page = visitors.enter(scripted, viewport=viewport)
    begin(page, "write")
    at_rest(page)
    page.click(".bar__files")
    rows(page).get_by_role("link", name="a.html").click()
    hello = page.frame_locator(".files__page").get_by_text("Hello")
    expect(hello).to_be_visible()
    entries = page.evaluate("history.length")
    name = page.locator("#file-menu").get_by_label("Name")
    shown = page.locator("#files-panel .files__path")

    def rename(old: str, new: str) -> None:
        choose(page, old)
        name.fill(new)
        page.keyboard.press("Enter")

    for refused, why in [
        ("b.md", "b.md already exists."),
        ("a/b", "A name cannot be empty or contain a slash"),
    ]:
        rename("a.html", refused)
        expect(page.locator("#file-menu .files__problem")).to_contain_text(why)
        expect(name).to_be_focused()
        expect(name).to_have_value(refused)
        expect(shown).to_have_text("a.html")
        expect(hello).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(".files__problem")).to_have_count(0)
    rename("a.html", "c.html")
    expect(shown).to_have_text("c.html")
    expect(page.get_by_role("button", name="Actions for c.html")).to_be_focused()
    expect(hello).to_be_visible()
    expect(page.locator(".files__page")).to_have_attribute("src", re.compile(r"path=c\.html&"))
    assert page.evaluate("history.length") == entries, "Back would lead to the old name"
    page.locator("#files").get_by_role("link", name="Source").click()
    expect(page.locator(".files__text")).to_have_text("<p>Hello")
    rename("c.html", "d.html")
    expect(shown).to_have_text("d.html")
    expect(page.locator("#files").get_by_role("link", name="Preview")).to_be_visible()
    rename("d.html", "e.txt")
    expect(shown).to_have_text("e.txt")
    expect(page.get_by_role("button", name="Actions for e.txt")).to_be_focused()
    with page.expect_download() as loading:
        page.locator("#files").get_by_role("link", name="Download").click()
    assert loading.value.suggested_filename == "e.txt"
    if viewport == NARROW:
        page.go_back()
    else:
        page.locator("#files").get_by_role("link", name="Files").click()
    expect(rows(page).locator(".files__link")).to_have_text(["b.md", "e.txt"])


def test_on_its_page_a_file_stays_open_under_its_new_name(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("400 (Bad Request)")
    page = with_attachments(scripted, visitors, WIDE)
    page.goto(f"{page.url}files/")
    page.get_by_role("link", name="notes.txt").click()
    text = page.locator(".files__text")
    expect(text).to_have_text("some text")
    menu = choose(page, "notes.txt")
    name = menu.get_by_label("Name")
    name.fill("a.png")
    page.keyboard.press("Enter")
    expect(menu.locator(".files__problem")).to_have_text("a.png already exists. Choose another name.")
    expect(name).to_be_focused()
    expect(name).to_have_value("a.png")
    expect(text).to_have_text("some text")
    expect(page).to_have_url(re.compile(r"/files/file/\?path=uploads/notes\.txt$"))
    name.fill("ideas.txt")
    page.keyboard.press("Enter")
    expect(page.locator(".files__path")).to_have_text("uploads/ideas.txt")
    expect(page).to_have_url(re.compile(r"path=uploads/ideas\.txt$"))
    expect(text).to_have_text("some text")
    page.go_back()
    expect(page.locator(".file-row").get_by_role("link", name="ideas.txt")).to_be_visible()


def test_on_a_phone_a_file_is_renamed_deleted_and_mentioned(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, NARROW)
    page.click(".bar__files")
    choose(page, "notes.txt").get_by_label("Name").fill("ideas.txt")
    page.keyboard.press("Enter")
    expect(rows(page).filter(has_text="ideas.txt")).to_be_visible()
    choose(page, "ideas.txt").get_by_role("button", name="Delete").click()
    page.click("#file-delete .button--danger")
    expect(rows(page)).to_have_count(1)
    choose(page, "a.png").get_by_text("Insert path into message").click()
    expect(page.locator("#files-panel")).to_be_hidden()
    expect(page.locator("#composer-text")).to_have_value("uploads/a.png ")


def test_on_their_page_files_have_the_same_actions(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    page.goto(f"{page.url}files/")
    page.set_input_files(".files__upload input[type=file]", [NOTES])  # type: ignore[list-item]
    expect(page.locator(".file-row", has_text="notes-2.txt").last).to_contain_text("9 bytes")
    choose(page, "notes.txt").get_by_label("Name").fill("ideas.txt")
    page.keyboard.press("Enter")
    expect(page.locator(".file-row", has_text="ideas.txt").last).to_be_visible()
    choose(page, "ideas.txt").get_by_role("button", name="Delete").click()
    page.click("#file-delete .button--danger")
    expect(page.locator(".file-row[data-kind=file]")).to_have_count(2)


# Waits for what the page reads and writes; with `true`, what it writes later waits until the page is left.
USE_DATABASE = """(keeps) => new Promise((resolve) => {
  indexedDB.open("attachments", 1).onsuccess = ({ target }) => {
    const table = target.result.transaction("files", "readwrite").objectStore("files");
    const ask = () => (table.get("nothing").onsuccess = () => (resolve(), keeps && ask()));
    ask();
  };
})"""


@pytest.mark.parametrize("slow", [False, True])
def test_attached_files_are_kept_over_a_reload(scripted: Site, visitors: Visitors, slow: bool) -> None:
    """What was sent, or removed, does not come back, though the browser's database may not know of it yet."""
    scripted.model.script(Reply(text="Yes?"), Reply(text="Read."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    page.set_input_files("#composer-files", [PICTURE, NOTES])  # type: ignore[list-item]
    page.fill("#composer-text", "read these")
    page.reload()
    expect(attached(page)).to_have_text(["a.png×", "notes.txt×"])
    expect(attached(page).locator("img")).to_be_visible()
    expect(page.locator("#composer-text")).to_have_value("read these")
    page.evaluate(USE_DATABASE, slow)
    attached(page).first.get_by_role("button").click()
    expect(attached(page)).to_have_text(["notes.txt×"])
    page.reload()
    expect(attached(page)).to_have_text(["notes.txt×"])
    at_rest(page)
    page.evaluate(USE_DATABASE, slow)
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_text("notes.txt")
    expect(attached(page)).to_have_count(0)
    page.reload()
    at_rest(page)
    assert "uploads/notes.txt" in scripted.model.requests[-1]["messages"][-1]["content"]
    page.evaluate(USE_DATABASE, False)
    expect(attached(page)).to_have_count(0)


def lose_the_answer(page: Page, address: str) -> None:
    """Send what is in the composer; load the page again when the server has it, before it answers."""
    arrived: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            route.fetch(max_redirects=0)
            arrived.append(route)
        else:
            route.fallback()

    page.route(address, hold)
    page.press("#composer-text", "Enter")
    until(page, lambda: arrived)
    page.reload()
    page.unroute(address)


def test_what_is_added_while_a_message_is_on_its_way_stays(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."), Reply(text="I see."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    held: list[Route] = []
    page.route(f"{page.url}messages/", lambda route: held.append(route))
    page.set_input_files("#composer-files", [PICTURE])  # type: ignore[list-item]
    page.fill("#composer-text", "First")
    page.click("#send")
    until(page, lambda: bool(held))
    page.locator("#composer-text").press_sequentially(" and more")
    page.set_input_files("#composer-files", [NOTES])  # type: ignore[list-item]
    held[0].continue_()
    expect(page.locator(".message[data-role=user]").last).to_contain_text("First")
    expect(page.locator("#composer-text")).to_have_value("and more")
    expect(attached(page)).to_have_text(["notes.txt×"])
    at_rest(page)


def test_a_message_that_arrives_after_its_page_was_left_leaves_the_draft_of_another_tab(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(Reply(text="Hello."), Reply(text="I see."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    other = another_tab(page)
    held: list[Route] = []
    page.route(f"{page.url}messages/", lambda route: held.append(route))
    page.set_input_files("#composer-files", [PICTURE])  # type: ignore[list-item]
    page.fill("#composer-text", "Look at this")
    page.click("#send")
    until(page, lambda: bool(held))
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    other.fill("#composer-text", "My next question")
    kept = "Object.keys(sessionStorage).filter((key) => key.startsWith('draft '))"
    assert page.evaluate(kept)
    held[0].continue_()
    expect(other.locator(".message[data-role=user]").last).to_contain_text("Look at this")
    until(page, lambda: not page.evaluate(kept))
    expect(other.locator("#composer-text")).to_have_value("My next question")
    other.reload()
    other.wait_for_selector(LIVE)
    expect(other.locator("#composer-text")).to_have_value("My next question")


@pytest.mark.parametrize("text", ["", "read this"])
def test_a_message_whose_answer_is_lost_is_not_sent_twice(
    scripted: Site, visitors: Visitors, text: str
) -> None:
    replies = [Reply(text=f"Read {number}.") for number in range(4)]
    scripted.model.script(*replies)
    name = f"{uuid.uuid4().hex}.txt"
    only = [{"name": name, "mimeType": "text/plain", "buffer": b"some text"}]
    page = visitors.enter(scripted)
    page.goto("/")
    page.set_input_files("#composer-files", only)  # type: ignore[arg-type]
    page.fill("#composer-text", text and f"{text} {name}")
    lose_the_answer(page, f"{scripted.served.address}/")
    expect(attached(page)).to_have_count(1)
    page.press("#composer-text", "Enter")
    page.wait_for_url("**/conversations/*/")
    at_rest(page)
    expect(page.locator("#sidebar .conversation-row", has_text=name[:16])).to_have_count(1)

    page.set_input_files("#composer-files", [NOTES])  # type: ignore[list-item]
    page.fill("#composer-text", text)
    lose_the_answer(page, "**/messages/")
    if not text:  # what has a text is sent again by itself
        expect(attached(page)).to_have_count(1)
        page.press("#composer-text", "Enter")
    expect(attached(page)).to_have_count(0)
    expect(page.locator("#composer-text")).to_have_value("")
    at_rest(page)
    expect(page.locator(".attachment")).to_have_text([name, "notes.txt"])
    for count in (3, 4):
        page.set_input_files("#composer-files", [NOTES])  # type: ignore[list-item]
        page.press("#composer-text", "Enter")
        expect(page.locator(".attachment")).to_have_count(count)
        at_rest(page)


def test_files_of_the_first_message_are_kept_until_it_is_sent(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Read."))
    page = visitors.enter(scripted)
    page.goto("/")
    page.set_input_files("#composer-files", [NOTES])  # type: ignore[list-item]
    expect(attached(page)).to_have_count(1)
    page.reload()
    expect(attached(page)).to_have_count(1)
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_text("notes.txt")
    page.goto("/")
    page.set_input_files("#composer-files", [PICTURE])  # type: ignore[list-item]
    expect(attached(page)).to_have_text(["a.png×"])


def test_while_the_agent_works_files_are_left_to_it(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    gate = threading.Event()
    scripted.model.script(Reply(text="I work on it", stall_after=2, gate=gate))
    send(page, "work")
    expect(page.locator("#conversation")).not_to_have_attribute("data-status", "idle")
    page.click(".bar__files")
    menu = choose(page, "notes.txt")
    expect(menu).to_contain_text("The agent is working with these files.")
    expect(menu.get_by_role("button")).to_have_text(["Insert path into message"])
    gate.set()
    expect(menu.get_by_role("button", name="Rename")).to_be_visible()
    expect(menu.get_by_role("button", name="Delete")).to_be_visible()
    expect(menu).not_to_contain_text("The agent is working with these files.", use_inner_text=True)


def test_an_upload_that_is_lost_says_so(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["Failed to load resource", "htmx:error"]
    page = with_attachments(scripted, visitors, WIDE)
    page.click(".bar__files")
    page.route("**/files/upload/", lambda route: route.abort())
    page.set_input_files("#files-panel .files__upload input[type=file]", [NOTES])  # type: ignore[list-item]
    status = page.locator(".files__upload [role=alert]")
    expect(status).to_have_text("The files could not be uploaded. Try again.")
    with page.expect_response(lambda response: response.url.endswith("/files/?path=.")):
        page.locator("#files").dispatch_event("files-changed")
    expect(rows(page)).to_have_count(2)
    expect(status).to_have_text("The files could not be uploaded. Try again.")
    page.unroute("**/files/upload/")
    page.set_input_files("#files-panel .files__upload input[type=file]", [NOTES])  # type: ignore[list-item]
    expect(rows(page).filter(has_text="notes-2.txt")).to_be_visible()
    expect(status).to_have_text("")
    expect(page.locator("#files-panel .files__upload input[type=file]")).to_have_value("")


def test_files_that_are_sent_from_further_up_lead_to_the_end(scripted: Site, visitors: Visitors) -> None:
    long = "\n\n".join(f"Line {number}" for number in range(80))
    scripted.model.script(Reply(long), Reply("Got it."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write")
    at_rest(page)
    page.locator("#scroll").evaluate("view => { view.scrollTop = 0; }")
    expect(page.locator("#to-end")).to_be_visible()
    page.set_input_files("#composer-files", [NOTES])  # type: ignore[list-item]
    page.fill("#composer-text", "read this")
    page.click("#send")
    expect(page.get_by_text("Got it.")).to_be_in_viewport()


@pytest.mark.parametrize("has_touch", [False, True])
def test_after_files_were_uploaded_typing_goes_on(
    scripted: Site, visitors: Visitors, has_touch: bool
) -> None:
    scripted.model.script(writes("a.md", "# A"), Reply(text="Done."))
    page = visitors.enter(scripted, viewport=WIDE, has_touch=has_touch, is_mobile=has_touch)
    begin(page, "write")
    at_rest(page)
    page.get_by_role("link", name="Files", exact=True).click()
    with page.expect_file_chooser() as chosen:
        page.locator("#files-panel .files__upload label").click()
    chosen.value.set_files([NOTES])  # type: ignore[list-item]
    expect(page.locator("#files-panel")).to_contain_text(str(NOTES["name"]))
    asked: list[FileChooser] = []
    page.on("filechooser", lambda chooser: asked.append(chooser))
    page.keyboard.type("Read this one")
    expect(page.locator("#composer-text")).to_have_value("Read this one")
    assert not asked


def test_the_way_to_the_end_stands_beside_an_open_file_too(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("a.md", "# A"), Reply("\n\n".join(f"Line {number}" for number in range(80))))
    page = visitors.enter(scripted, viewport={"width": 1440, "height": 900})
    begin(page, "write")
    at_rest(page)
    page.get_by_role("link", name="Files", exact=True).click()
    expect(page.locator("#files-panel")).to_be_visible()
    page.locator("#scroll").evaluate("view => { view.scrollTop = 0; }")
    button = page.locator("#to-end")
    expect(button).to_be_in_viewport(ratio=1)
    assert button.evaluate(TOPMOST)
    button.click()
    expect(page.get_by_text("Line 79")).to_be_in_viewport()


def test_documents_and_tables_are_shown_as_such(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        writes("docs/plan.md", "# The plan\n\nFor [the stock](stock.csv).\n"),
        writes("docs/stock.csv", "name,count\nowls,3\n"),
        Reply(text="See [what I plan](docs/plan.md)."),
    )
    page = visitors.enter(scripted, viewport=WIDE)
    address = begin(page, "write it")
    at_rest(page)
    panel = page.locator("#files-panel")
    page.get_by_role("link", name="what I plan").click()
    expect(panel.get_by_role("heading", name="The plan")).to_be_visible()
    panel.get_by_role("link", name="Source").click()
    expect(panel.locator(".files__text")).to_contain_text("# The plan")
    panel.get_by_role("link", name="Preview").click()
    panel.get_by_role("link", name="the stock").click()
    expect(panel.get_by_role("columnheader")).to_have_text(["name", "count"])
    expect(panel.get_by_role("cell")).to_have_text(["owls", "3"])
    assert page.url == address
    page.goto(f"{address}files/file/?path=docs/plan.md")
    page.get_by_role("link", name="the stock").click()
    expect(page.get_by_role("cell")).to_have_text(["owls", "3"])


SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80">
<script>document.title = "ran"; alert(1)</script><image href="https://example.org/a.png"/>
<style>rect { fill: rgb(0 128 0) }</style><rect width="120" height="80"/></svg>"""

LOADED = "image => image.decode().then(() => image.naturalWidth, () => 0)"


def test_a_reply_shows_pictures_of_the_workspace(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("404")
    page = with_attachments(scripted, visitors, NARROW)
    gate = threading.Event()
    text = "See ![the chart](uploads/a.png) and\n\n" + "a word " * 20 + "\n\nand ![what is gone](gone.png)."
    scripted.model.script(Reply(text=text, piece=8, stall_after=12, gate=gate))
    loads: list[str] = []
    page.on("request", lambda request: loads.append(request.url) if "/files/image/" in request.url else None)
    send(page, "show it")
    picture = last_turn(page).get_by_role("img", name="the chart")
    assert picture.evaluate(LOADED) == 400
    gate.set()
    at_rest(page)
    assert picture.evaluate(LOADED) == 400
    assert picture.evaluate("image => image.getBoundingClientRect().right") < NARROW["width"]
    expect(last_turn(page).get_by_role("link", name="[what is gone]")).to_be_visible()
    assert sum("uploads/a.png" in url for url in loads) == 1
    picture.click()
    expect(page.locator("#files-panel .files__picture")).to_be_visible()


def test_a_file_asked_for_is_not_replaced_by_a_list_on_its_way(scripted: Site, visitors: Visitors) -> None:
    wrote, asked = threading.Event(), threading.Event()
    begins = Reply(text="I draw.", tool_calls=writes("a.svg", SVG).tool_calls, stall_after=1, gate=wrote)
    # The end of the turn offers the files, and a page that has them offered asks for no list.
    ends = Reply(text="[the drawing](a.svg)", stall_after=1, gate=asked)
    scripted.model.script(begins, ends)
    visitors.expected += ["Blocked script execution", "Content Security Policy"]
    page = visitors.enter(scripted, viewport=WIDE)
    page.route("**/files/", lambda route: None)  # no answer yet
    begin(page, "draw it")
    with page.expect_request("**/files/"):
        wrote.set()
    asked.set()
    at_rest(page)
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/files/")):
        page.get_by_role("link", name="the drawing").click()
    expect(page.locator("#files-panel .files__picture")).to_be_visible()


def test_code_in_a_reply_that_names_a_file_leads_to_it(scripted: Site, visitors: Visitors) -> None:
    said = Reply("It is in `notes/a b.md:3`, not in `lost.md`; run `ls`.")
    scripted.model.script(writes("notes/a b.md", "# What I read"), said)
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write it")
    at_rest(page)
    expect(last_turn(page).locator(".message__body a")).to_have_text(["notes/a b.md:3"])
    last_turn(page).get_by_role("link", name="notes/a b.md:3").click()
    expect(page.locator("#files-panel").get_by_role("heading", name="What I read")).to_be_visible()


def test_a_later_reply_shows_the_picture_as_it_is_then(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    shows = Reply(text="![the chart](uploads/a.png)")
    scripted.model.script(shows)
    send(page, "show it")
    at_rest(page)
    assert last_turn(page).get_by_role("img", name="the chart").evaluate(LOADED) == 400
    folder = scripted.served.data / "workspaces" / page.url.rstrip("/").rpartition("/")[2]
    (folder / "uploads" / "a.png").write_bytes(png(side=200))
    scripted.model.script(shows)
    send(page, "show it again")
    at_rest(page)
    assert last_turn(page).get_by_role("img", name="the chart").evaluate(LOADED) == 200


def test_a_document_shows_pictures_of_its_folder(scripted: Site, visitors: Visitors) -> None:
    page = with_attachments(scripted, visitors, WIDE)
    scripted.model.script(writes("uploads/doc.md", "![pic](a.png)"), Reply(text="[it](uploads/doc.md)"))
    send(page, "write it")
    at_rest(page)
    page.get_by_role("link", name="it", exact=True).click()
    assert page.locator("#files-panel").get_by_role("img", name="pic").evaluate(LOADED) == 400
    page.goto(f"{page.url}files/file/?path=uploads/doc.md")
    assert page.get_by_role("img", name="pic").evaluate(LOADED) == 400


def test_an_svg_file_is_shown_and_runs_nothing(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["Blocked script execution", "Content Security Policy"]
    scripted.model.script(writes("a.svg", SVG), Reply(text="![the drawing](a.svg)"))
    page = visitors.enter(scripted, viewport=WIDE)
    address = begin(page, "draw it")
    at_rest(page)
    drawing = page.get_by_role("img", name="the drawing")
    assert drawing.evaluate(LOADED) > 0
    assert drawing.evaluate("image => image.getBoundingClientRect().width") > 100
    drawing.click()
    assert page.locator("#files-panel .files__picture").evaluate(LOADED) > 0
    page.locator("#files-panel").get_by_role("link", name="Source").click()
    expect(page.locator("#files-panel .files__text")).to_contain_text("<rect")
    visitors.expected.append("request: https://example.org/a.png")  # which the browser then refuses to send
    with page.expect_event("requestfailed") as refused:
        page.goto(f"{address}files/image/?path=a.svg")
    assert refused.value.failure == "csp"
    fill = "document.querySelector('rect') && getComputedStyle(document.querySelector('rect')).fill"
    assert page.evaluate(fill) == "rgb(0, 128, 0)"
    assert page.title() != "ran"


def test_a_pdf_file_opens_in_a_tab_of_its_own(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Read."))
    page = visitors.enter(scripted, viewport=WIDE)
    page.goto("/")
    report = {"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4\n%%EOF\n"}
    page.set_input_files("#composer-files", report)  # type: ignore[arg-type]
    page.fill("#composer-text", "read this")
    page.press("#composer-text", "Enter")
    at_rest(page)
    last_turn(page).locator(".attachment").click()
    with (
        page.context.expect_page() as opened,
        page.context.expect_event("response", lambda response: "/files/pdf/" in response.url) as came,
    ):
        page.locator("#files-panel").get_by_role("link", name="Open", exact=True).click()
    assert came.value.status == 200
    opened.value.close()
    expect(page.locator("#files-panel .files__path")).to_have_text("uploads/a.pdf")


# What could contact an address.
REACHES_OUT = """<link rel="preconnect" href="{0}"><link rel="prefetch" href="{0}/a"><base href="{0}/">
<link rel="preload" as="image" href="{0}/b"><meta http-equiv="refresh" content="0;url={0}/c">
<script src="{0}/d"></script><script>fetch("{0}/e")</script>
<style>@import "{0}/f"; @font-face {{ font-family: x; src: url({0}/g) }} p {{ font-family: x }}</style>
<p style="background: url({0}/h)"><img src="{0}/i" srcset="{0}/j 2x" onerror="fetch('{0}/k')"></p>
<iframe src="{0}/l"></iframe><object data="{0}/m"></object><embed src="{0}/n">
<video src="{0}/o" poster="{0}/p" autoplay></video><svg><image href="{0}/q"/><use href="{0}/r#x"/></svg>
<form action="{0}/s"><input autofocus onfocus="this.form.submit()"></form>
<body background="{0}/t" onload="location='{0}/u'">
"""
PAGE = """<!doctype html><title>Shop</title><link rel="stylesheet" href="style.css">
<h1>The shop</h1><p id="a">Open</p><a href="#end">To the end</a> <a href="about.html">About us</a>
<a href="{0}/v">Elsewhere</a><p id="end" style="margin-block-start: 200vh">The end</p>"""


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """A server's address, and what it was asked for; "" for a connection without a request."""
    asked: list[str] = []

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            asked.append("")
            self.request.settimeout(20)
            request = self.request.recv(4096)
            if request:
                asked.append(request.split()[1].decode())
                self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


def test_an_html_file_is_shown_as_a_page_that_contacts_nobody(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += [
        "Content Security Policy",
        "Blocked",
        "sandboxed",
        "Refused",
        "Unsafe attempt",
        "request: http://127.0.0.1",
    ]
    with listening() as (server, asked):
        scripted.model.script(
            writes("style.css", "h1 { color: rgb(0 128 0) }"),
            writes("about.html", "<p>We sell owls.</p>"),
            writes("index.html", PAGE.format(server) + REACHES_OUT.format(server)),
            Reply(text="See [the page](index.html)."),
        )
        page = visitors.enter(scripted, viewport=WIDE)
        begin(page, "make a page")
        at_rest(page)
        page.get_by_role("link", name="the page").click()
        shop = page.frame_locator("#files-panel .files__page")
        title = shop.get_by_role("heading", name="The shop")
        expect(title).to_have_css("color", "rgb(0, 128, 0)")
        shop.get_by_role("link", name="To the end").click()
        expect(shop.get_by_text("The end", exact=True)).to_be_in_viewport()
        with page.expect_popup() as about:
            shop.get_by_role("link", name="About us").click()
        expect(about.value.frame_locator(".files__page").get_by_text("We sell owls.")).to_be_visible()
        page.locator("#files-panel").get_by_role("link", name="Source").click()
        expect(page.locator("#files-panel .files__text")).to_contain_text("The shop")
        page.locator("#files-panel").get_by_role("link", name="Preview").click()
        assert not asked
        with page.expect_popup() as elsewhere:
            shop.get_by_role("link", name="Elsewhere").click()
        expect(elsewhere.value.locator("body")).to_have_text("hello")
        expect(title).to_be_visible()
        assert set(asked) <= {"", "/v", "/favicon.ico"}, asked


# What a script could contact an address with.
SENDS = """
const to = "{0}";
const put = (tag, more) => document.body.append(Object.assign(document.createElement(tag), more));
const tries = [
  () => fetch(to + "/a"),
  () => navigator.sendBeacon(to + "/b"),
  () => new WebSocket(to.replace("http", "ws")),
  () => new EventSource(to + "/c"),
  () => import(to + "/d"),
  () => new Worker(to + "/e"),
  () => (new Image().src = to + "/f"),
  () => put("iframe", {{ src: to + "/g" }}),
  () => put("link", {{ rel: "preconnect", href: to }}),
  () => put("link", {{ rel: "prefetch", href: to + "/h" }}),
  () => open(to + "/i"),
  () => (top.location = to + "/j"),
];
for (const each of tries) try {{ Promise.resolve(each()).catch(() => {{}}); }} catch {{}}
"""
COUNTS = """<!doctype html><title>Count</title><script src="js/count.js" defer></script>
<form action="{0}/k"><button>Next</button></form><output>Not yet</output>"""
COUNT = """let number = 0;
document.querySelector("output").textContent = "Ready";
document.querySelector("form").addEventListener("submit", (event) => {{
  event.preventDefault();
  document.querySelector("output").textContent = `Number ${{++number}} of ${{self.origin}}`;
  {1}
  if (number > 1) {2};
}});"""


@pytest.mark.parametrize("leaves", ["location = to + '/j'", "document.forms[0].submit()"])
def test_the_scripts_of_a_page_run_once_asked_and_reach_nobody(
    scripted: Site, visitors: Visitors, leaves: str
) -> None:
    visitors.expected += ["Content Security Policy", "Blocked", "sandboxed", "Refused", "Unsafe attempt"]
    with listening() as (server, asked):
        scripted.model.script(
            writes("js/count.js", COUNT.format(server, SENDS.format(server), leaves)),
            writes("count.html", COUNTS.format(server)),
            Reply(text="See [the page](count.html)."),
        )
        page = visitors.enter(scripted, viewport=WIDE)
        begin(page, "make a page")
        at_rest(page)
        page.get_by_role("link", name="the page").click()
        panel = page.locator("#files-panel")
        shown = page.frame_locator("#files-panel .files__page")
        expect(shown.locator("output")).to_have_text("Not yet")
        panel.get_by_role("link", name="Run scripts").click()
        expect(shown.locator("output")).to_have_text("Ready")
        shown.get_by_role("button", name="Next").click()
        expect(shown.locator("output")).to_have_text("Number 1 of null")
        expect(panel.get_by_role("link", name="Stop scripts")).to_be_visible()
        shown.get_by_role("button", name="Next").click()
        expect(shown.locator("output")).to_have_count(0)  # it left, and arrived nowhere
        panel.get_by_role("link", name="Stop scripts").click()
        expect(shown.locator("output")).to_have_text("Not yet")
        assert not asked


def test_long_names_can_be_told_apart(scripted: Site, visitors: Visitors) -> None:
    """Those of a series differ at their ends, as stored and as shown."""
    names = [
        f"第三季度华东大区销售部门各渠道明细数据汇总表与同比环比分析报告最终确认版本_{month}月.csv"
        for month in (11, 12)
    ]
    scripted.model.script(Reply(text="Read."))
    page = visitors.enter(scripted, viewport=WIDE)
    page.goto("/")
    files = [{"name": name, "mimeType": "text/csv", "buffer": b"a,b"} for name in names]
    page.set_input_files("#composer-files", files)  # type: ignore[arg-type]
    expect(attached(page)).to_have_text([f"{name}×" for name in names])
    for chip, month in zip(attached(page).all(), ("11月.csv", "12月.csv"), strict=True):
        end = chip.locator("span > span").last
        expect(end).to_have_text(re.compile(f"{month}$"))
        assert end.evaluate(
            "end => end.getBoundingClientRect().right < end.closest('li').getBoundingClientRect().right"
        )
    page.fill("#composer-text", "Compare them")
    page.press("#composer-text", "Enter")
    at_rest(page)
    page.click(".bar__files")
    folder = page.locator("#files-panel .file-row__folder > summary")
    expect(folder).to_contain_text("uploads")
    expect(rows(page).locator(".files__link")).to_have_text(names)
    for name in rows(page).locator(".files__link").all():
        assert name.evaluate("place => place.scrollWidth <= place.clientWidth + 1")
