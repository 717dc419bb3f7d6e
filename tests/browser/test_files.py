"""Files beside the chat, live; and files that go with a message: chosen, dropped, pasted, in a plain form."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn, send, turns, until

HOSTILE = "<img src=x onerror=alert(1)>.py"
WIDE = {"width": 1400, "height": 900}
NARROW = {"width": 390, "height": 844}
GIVE = """(place, [kind, files]) => {
    const data = new DataTransfer();
    for (const [name, type, text] of files) data.items.add(new File([text], name, { type }));
    const event = kind === "paste"
        ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    place.dispatchEvent(event);
}"""


def writes(path: str, content: str) -> Reply:
    return Reply(tool_calls=[("write_file", {"path": path, "content": content})])


def rows(page: Page) -> Locator:
    return page.locator("#files-panel .file-row[data-kind='file']")


def attached(page: Page) -> Locator:
    return page.locator("#composer-attached .attached")


def test_the_panel_follows_the_agent(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("src/a.py", "import os\n"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write it")
    page.click(".bar__files--panel")
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


def test_it_stays_as_it_was_left(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("a/b.txt", "text"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport=WIDE)
    begin(page, "write it")
    at_rest(page)
    expect(page.locator("#files-panel")).to_be_hidden()
    page.click(".bar__files--panel")
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
    page.click(".bar__files--panel")
    rows(page).filter(has_text=HOSTILE).locator("a").click()
    expect(page.locator("#files-panel .files__text")).to_contain_text("</pre><script>alert(2)</script>")
    expect(page.locator("#files-panel .files__path")).to_have_text(HOSTILE)
    assert page.locator("#files-panel :is(script, img)").count() == 0


def test_on_a_narrow_screen_files_are_a_page(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("a.txt", "some text"), Reply(text="Written."))
    page = visitors.enter(scripted, viewport=NARROW)
    address = begin(page, "write it")
    at_rest(page)
    page.click(".bar__files--page")
    page.click(".files__link >> text=a.txt")
    expect(page.locator(".files__text")).to_have_text("some text")
    with page.expect_download() as loading:
        page.click("text=Download")
    assert loading.value.suggested_filename == "a.txt"
    assert Path(loading.value.path()).read_text() == "some text"
    page.click(".bar__back")
    at_rest(page)
    assert page.url == address


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
    page.click(".bar__files--panel")
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


def test_too_many_or_too_large_are_refused_at_once(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    text = page.locator("#composer-text")
    text.evaluate(GIVE, ["paste", [[f"{number}", "image/png", "x"] for number in range(21)]])
    expect(page.locator("#composer-note")).to_have_text("You can send up to 20 files at once.")
    expect(attached(page)).to_have_count(0)
    text.evaluate(GIVE, ["paste", [["a", "image/png", "x" * (26 * 2**20)]]])
    expect(page.locator("#composer-note")).to_contain_text(
        "These files are too large. You can send up to 25.0"
    )
    expect(attached(page)).to_have_count(0)


def test_where_the_line_is_cut_nothing_is_lost(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["Failed to load resource", "net::"]
    scripted.model.script(Reply(text="Yes?"), Reply(text="Read."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    page.set_input_files("#composer-files", [{"name": "a.txt", "mimeType": "text/plain", "buffer": b"text"}])
    page.fill("#composer-text", "read this")
    page.route("**/messages/", lambda route: route.abort())
    page.press("#composer-text", "Enter")
    expect(page.locator("#composer-note")).to_have_text("The files could not be uploaded. Try again.")
    expect(attached(page)).to_have_count(1)
    expect(page.locator("#composer-text")).to_have_value("read this")
    page.unroute("**/messages/")
    page.press("#composer-text", "Enter")
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
    expect(page.locator(".file-row", has_text="b.txt").last).to_contain_text("new")
    page.set_input_files(
        ".files__upload input[type=file]", [{"name": "c.txt", "mimeType": "text/plain", "buffer": b"text"}]
    )
    page.click(".files__upload button")
    expect(page.locator(".file-row", has_text="c.txt").last).to_contain_text("new")
