"""The composer: what sends, what does not, and that nothing typed is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FileChooser, Page, Route, expect

from chat.demo.reply import Reply
from chat.demo.transport import MODELS
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    COMPOSING,
    LIVE,
    another_tab,
    at_rest,
    begin,
    choose_profile,
    last_turn,
    send,
    turns,
    until,
)
from tests.pictures import png

# The page comes with an id that it had before.
KEEP = """id => new MutationObserver(() => {
  const field = document.querySelector("#composer [name=client_id]");
  if (field && document.readyState === "loading") field.value = id;
}).observe(document, { childList: true, subtree: true })"""
OVERLONG = "x" * 65_537


def opened(scripted: Site, visitors: Visitors) -> Page:
    """The page of a conversation that rests after one turn."""
    scripted.model.script(Reply(text="Yes?"))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    return page


def test_enter_sends_and_shift_enter_makes_a_line(scripted: Site, visitors: Visitors) -> None:
    page = opened(scripted, visitors)
    scripted.model.script(Reply(text="Understood."))
    text = page.locator("#composer-text")
    text.focus()
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(text).to_have_value("one\ntwo")
    page.keyboard.press("Enter")
    expect(last_turn(page, "completed")).to_contain_text("Understood.")
    assert last_turn(page).locator("[data-role='user'] .message__body").inner_text() == "one\ntwo"
    expect(text).to_have_value("")
    expect(text).to_be_focused()


def test_an_enter_that_confirms_a_candidate_does_not_send(scripted: Site, visitors: Visitors) -> None:
    page = opened(scripted, visitors)
    scripted.model.script(Reply(text="你好。"))
    text = page.locator("#composer-text")
    text.fill("你好")
    text.evaluate(COMPOSING, {"isComposing": True})
    text.evaluate(COMPOSING, {"keyCode": 229})
    expect(text).to_have_value("你好")
    text.press("Enter")
    expect(turns(page)).to_have_count(2)
    last_turn(page, "completed")
    assert len(scripted.model.requests) == 2


def test_an_unknown_command_is_not_sent(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    text, refused = page.locator("#composer-text"), page.locator("#composer-note")
    for command in ("/clear", "/帮助"):
        text.press_sequentially(command)
        text.press("Enter")
        expect(refused).to_contain_text(f"There is no command {command} here.")
        expect(text).to_have_value(command)
        text.fill("")
    scripted.model.answer = lambda request: Reply(text="I see.")
    begin(page, "/etc/hosts is a file")
    text.fill("/clear")
    page.click("#send")
    expect(refused).to_contain_text("There is no command /clear here.")
    text.press("Home")
    page.keyboard.type(" ")
    expect(refused).to_be_hidden()
    text.press("Enter")
    expect(page.locator("[data-role='user'] .message__body")).to_have_text(["/etc/hosts is a file", "/clear"])


def test_a_blank_message_is_not_sent(scripted: Site, visitors: Visitors) -> None:
    page = opened(scripted, visitors)
    scripted.model.script(Reply(text="Now I see something."))
    for press in ("Enter", "click"):
        page.fill("#composer-text", " \n ")
        page.press("#composer-text", press) if press == "Enter" else page.click("#send")
    page.fill("#composer-text", "something")
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed")).to_contain_text("Now I see something.")
    expect(turns(page)).to_have_count(2)
    page.goto("/")
    page.press("#composer-text", "Enter")
    page.fill("#composer-text", "  ")
    page.press("#composer-text", "Enter")
    assert page.url == f"{scripted.served.address}/"


def test_an_overlong_message_is_refused_and_stays(scripted: Site, visitors: Visitors) -> None:
    page = opened(scripted, visitors)
    text = page.locator("#composer-text")
    for pasted in (OVERLONG, "界" * 22_000, "x" * 300_000):  # the last is more than the socket takes
        text.fill("")
        page.keyboard.insert_text(pasted)
        assert text.input_value() == pasted, "nothing is cut off"
        text.press("Enter")
        expect(page.locator("#composer-note")).to_contain_text("longer than 64 KiB")
        expect(text).to_have_value(pasted)
    expect(turns(page)).to_have_count(1)
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    text.fill("shorter")
    expect(page.locator("#composer-note")).to_be_hidden()
    scripted.model.script(Reply(text="Better."))
    text.press("Enter")
    expect(last_turn(page, "completed")).to_contain_text("Better.")


def test_an_overlong_first_message_is_refused_and_stays(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    text = page.locator("#composer-text")
    text.focus()
    page.keyboard.insert_text(OVERLONG)
    text.press("Enter")
    expect(page.locator("#composer-note")).to_contain_text("longer than 64 KiB")
    expect(text).to_have_value(OVERLONG)


def test_a_first_message_that_the_server_refuses_is_not_sent_again(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    page.clock.install()
    page.goto("/")
    text = page.locator("#composer-text")
    text.evaluate("field => (field.dataset.mostBytes = 1e9)")  # as a page of another version might
    text.focus()
    page.keyboard.insert_text(OVERLONG)
    visitors.expected.append("400")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    text.press("Enter")
    expect(page.locator("#composer-note")).to_contain_text("longer than 64 KiB")
    page.clock.run_for(10_000)  # it would be sent again after three seconds
    page.evaluate("fetch('/healthz')")
    expect(page.locator("#composer-note")).to_contain_text("longer than 64 KiB")
    expect(text).to_have_value(OVERLONG)
    assert [method for method in asked if method != "GET"] == ["POST"]


def test_a_command_with_text_is_sent_the_second_time(scripted: Site, visitors: Visitors) -> None:
    scripted.model.answer = lambda request: Reply(text="I see.")
    page = visitors.enter(scripted)
    page.goto("/")
    text, refused = page.locator("#composer-text"), page.locator("#composer-note")
    for typed, said in {
        "/nwe start": "There is no command /nwe here. Did you mean /new?",
        "/prof now": "There is no command /prof here. Did you mean /profile?",
        "/nothing like it": "There is no command /nothing here. Type / to see the commands",
        "/help me": "To use /help, choose it from the list",
    }.items():
        text.fill(typed)
        text.press("Enter")
        expect(refused).to_contain_text(said)
        expect(refused).to_contain_text("To send this as text, send it again.")
        expect(text).to_have_value(typed)
    text.press("Enter")
    expect(last_turn(page, "completed").locator("[data-role='user'] .message__body")).to_have_text("/help me")
    at_rest(page)
    text.fill("/stop")
    text.press("Enter")
    expect(refused).to_contain_text("There is nothing to stop")
    expect(text).to_have_value("/stop")


def is_dimmed(page: Page) -> None:
    expect(page.locator("#send")).to_have_css("background-color", "rgba(0, 0, 0, 0)")


def is_ready(page: Page) -> None:
    expect(page.locator("#send")).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")


def test_send_is_dimmed_while_there_is_nothing_to_send(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, reduced_motion="reduce")
    page.goto("/")
    is_dimmed(page)
    page.click("#send")
    expect(page.locator("#composer-text")).to_be_focused()
    page.keyboard.type("h")
    is_ready(page)
    page.keyboard.press("Backspace")
    is_dimmed(page)
    page.set_input_files("#composer-files", [{"name": "a", "mimeType": "text/plain", "buffer": b"a"}])
    is_ready(page)
    page.locator("#composer-attached button").click()
    is_dimmed(page)


def test_a_file_that_is_on_its_way_is_not_removed(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."), Reply(text="Thanks."))
    page = visitors.enter(scripted)
    begin(page, "Hello")
    at_rest(page)
    held: list[Route] = []
    page.route("**/messages/", lambda route: held.append(route), times=1)
    file = {"mimeType": "text/plain", "buffer": b"a"}
    page.set_input_files("#composer-files", [{"name": name, **file} for name in ("a.txt", "b.txt")])  # type: ignore[list-item]
    page.fill("#composer-text", "Read both")
    page.press("#composer-text", "Enter")
    until(page, lambda: held)
    page.set_input_files("#composer-files", [{"name": "c.txt", **file}])  # type: ignore[list-item]
    remove = page.locator("#composer-attached button")
    expect(remove).to_have_count(3)
    expect(page.locator("#composer-attached button:visible")).to_have_attribute("aria-label", "Remove c.txt")
    held.pop().continue_()
    expect(last_turn(page, "completed").locator(".attachment")).to_have_count(2)
    expect(remove).to_have_count(1)
    remove.click()
    expect(remove).to_have_count(0)


@pytest.mark.parametrize("has_touch", [False, True])
def test_after_files_were_chosen_typing_goes_on(scripted: Site, visitors: Visitors, has_touch: bool) -> None:
    """On a phone its keyboard stays away until a key is pressed, and a space asks for no more files."""
    page = visitors.enter(scripted, has_touch=has_touch, is_mobile=has_touch)
    page.goto("/")
    with page.expect_file_chooser() as chosen:
        page.locator(".composer__attach").click()
    chosen.value.set_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}])
    expect(page.locator("#composer-attached li")).to_have_count(1)
    if has_touch:
        expect(page.locator("#composer-text")).not_to_be_focused()
    asked: list[FileChooser] = []
    page.on("filechooser", lambda chooser: asked.append(chooser))
    page.keyboard.type("Read this one")
    expect(page.locator("#composer-text")).to_have_value("Read this one")
    assert not asked


TABLET = {"viewport": {"width": 1024, "height": 768}, "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize("way", ["command", "tap"])
def test_a_model_is_chosen_by_the_keyboard_of_a_tablet(scripted: Site, visitors: Visitors, way: str) -> None:
    scripted.model.script(Reply(text="Hello."))
    page = visitors.enter(scripted, **TABLET)
    begin(page, "Hello")
    at_rest(page)
    other = MODELS["data"][-1]["id"]
    if way == "tap":
        page.tap("#model-choice")
    else:
        page.locator("#composer-text").focus()
        page.keyboard.type("/model")
        expect(page.locator("#completion [aria-selected=true]")).to_have_count(1)
        page.keyboard.press("Enter")
    expect(page.locator("#model-menu [role=option]").first).to_be_visible()
    none = page.locator("#model-menu").get_by_text("No model found.")
    expect(none).to_be_hidden()
    page.keyboard.type("xyz")
    expect(none).to_be_visible()
    for _letter in "xyz":
        page.keyboard.press("Backspace")
    expect(none).to_be_hidden()
    page.keyboard.type(other)
    expect(page.locator("#model-menu [role=option]:visible").first).to_contain_text(other)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(".model-choice__name")).to_have_text(other)
    expect(page.locator("#composer-text")).to_have_value("")


def test_control_and_enter_send_an_edited_message_where_enter_is_a_new_line(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(Reply(text="Hello."), Reply(text="Hello again."))
    page = visitors.enter(scripted, **TABLET)
    begin(page, "Hello")
    at_rest(page)
    turns(page).last.get_by_role("link", name="Edit").tap()
    field = page.locator(".again textarea")
    field.fill("Hello you")
    field.press("Enter")
    expect(field).to_have_value("Hello you\n")
    field.press("Control+Enter")
    expect(turns(page).last).to_contain_text("Hello again.")


def choose_model(page: Page, name: str) -> None:
    page.click("#model-choice")
    page.locator("#model-menu [role=option]", has_text=name).first.click()
    expect(page.locator(".model-choice__name")).to_have_text(name)


@pytest.mark.parametrize("way", ["before a word", "reload", "back", "new conversation", "another tab"])
def test_what_was_chosen_for_a_draft_stays_with_it(scripted: Site, visitors: Visitors, way: str) -> None:
    model = "M.objects.get_or_create(connection=None, model='gpt-oss:20b')"
    scripted.served.shell(f"from chat.models import ModelSettings as M; {model}")
    scripted.model.script(Reply(text="Yes?"))
    page = visitors.enter(scripted)
    page.goto("/")
    choose_profile(page, "Asks first")
    choose_model(page, "gpt-oss:20b")
    if way == "before a word":
        page.reload()
    page.fill("#composer-text", "Purge the tables")
    if way == "reload":
        page.reload()
    elif way == "another tab":
        page = page.context.new_page()
        page.goto(f"{scripted.served.address}/")
    elif way in ("back", "new conversation"):
        page.get_by_role("link", name="Board").click()
        page.wait_for_url("**/board/")
        if way == "back":
            page.go_back()
        else:
            page.get_by_role("link", name="New conversation").click()
    expect(page.locator("#composer-text")).to_have_value("Purge the tables")
    expect(page.locator(".profile-choice__title")).to_have_text("Asks first")
    expect(page.locator(".model-choice__name")).to_have_text("gpt-oss:20b")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    expect(page.locator("#profile-button")).to_contain_text("Asks first")
    expect(page.locator(".model-choice__name")).to_have_text("gpt-oss:20b")
    page.goto("/")
    expect(page.locator(".profile-choice__title")).to_have_text("Focused")


def test_a_model_that_sees_no_images_is_told_beside_them(scripted: Site, visitors: Visitors) -> None:
    models = "from chat.models import ModelSettings as M; M.objects.{}(connection=None, model='gpt-oss:20b')"
    scripted.served.shell(models.format("get_or_create"))
    scripted.model.script(Reply(text="Yes?"), Reply(text="A file."))
    page = visitors.enter(scripted)
    page.goto("/")
    said = page.locator(".composer__blind")
    page.set_input_files("#composer-files", [{"name": "a.png", "mimeType": "image/png", "buffer": png()}])
    expect(page.locator("#composer-attached img")).to_be_visible()
    expect(said).to_be_hidden()
    choose_model(page, "gpt-oss:20b")
    expect(said).to_have_text(
        "This model cannot see images. You can still send them: the agent gets them as files."
    )
    page.locator("#composer-attached button").click()
    expect(said).to_be_hidden()
    page.locator("#composer-text").press_sequentially("hello")
    page.keyboard.press("Enter")
    last_turn(page, "completed")
    page.set_input_files("#composer-files", [{"name": "a.png", "mimeType": "image/png", "buffer": png()}])
    expect(said).to_be_visible()
    choose_model(page, "scripted")
    expect(said).to_be_hidden()
    choose_model(page, "gpt-oss:20b")
    expect(said).to_be_visible()
    page.click("#send")
    expect(last_turn(page, "completed").locator(".attachment__fault")).to_be_visible()
    expect(said).to_be_hidden()
    scripted.served.shell(models.format("filter") + ".delete()")


def test_a_page_that_the_browser_kept_sends_another_message(scripted: Site, visitors: Visitors) -> None:
    """As after Back, or in a tab that is restored: the page is as it was before its message was sent."""
    page = opened(scripted, visitors)
    scripted.model.script(Reply(text="First."), Reply(text="Second."))
    used = page.locator("#composer [name=client_id]").input_value()
    send(page, "one")
    at_rest(page)
    page.add_init_script(f"({KEEP})('{used}')")
    page.reload()
    page.wait_for_selector(LIVE)
    send(page, "two")
    expect(last_turn(page, "completed")).to_contain_text("Second.")


def drafted_in_two_tabs(scripted: Site, visitors: Visitors) -> tuple[Page, Page]:
    """A conversation with a draft, and the same in another tab of the browser."""
    page = opened(scripted, visitors)
    page.fill("#composer-text", "Only once")
    other = another_tab(page)
    expect(other.locator("#composer-text")).to_have_value("Only once")
    return page, other


def look_at_the_board(page: Page) -> None:
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")


def come_back(page: Page) -> None:
    page.go_back()
    page.wait_for_selector(LIVE)


def test_a_draft_that_another_tab_sent_is_gone(scripted: Site, visitors: Visitors) -> None:
    page, other = drafted_in_two_tabs(scripted, visitors)
    scripted.model.script(Reply(text="Once."))
    other.press("#composer-text", "Enter")
    expect(page.locator("#composer-text")).to_have_value("")
    expect(last_turn(page, "completed")).to_contain_text("Once.")
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("")


def test_blanks_are_no_draft(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    text = page.locator("#composer-text")
    text.fill("a")
    text.fill("   ")
    page.reload()
    expect(text).to_have_value("")


@pytest.mark.parametrize("is_new", [True, False])
def test_each_tab_has_its_own_draft(scripted: Site, visitors: Visitors, is_new: bool) -> None:
    scripted.model.answer = lambda request: Reply("Yes.")
    page = visitors.enter(scripted)
    address = "/" if is_new else begin(page, "hello")
    page.goto(address)
    text = page.locator("#composer-text")
    text.fill("The")
    other = page.context.new_page()
    other.goto(address)
    expect(other.locator("#composer-text")).to_have_value("The")  # what is typed goes along
    text.fill("The first")
    other.locator("#composer-text").fill("The second")
    page.reload()
    expect(text).to_have_value("The first")
    other.reload()
    expect(other.locator("#composer-text")).to_have_value("The second")
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    other.press("#composer-text", "Enter")
    last_turn(other, "completed")
    page.go_back()
    expect(text).to_have_value("The first")
    page.press("#composer-text", "Enter")
    last_turn(page, "completed")
    page.goto(address)
    expect(text).to_have_value("")


@pytest.mark.parametrize("words", ["Read it", ""])
def test_each_tab_has_its_own_files(scripted: Site, visitors: Visitors, tmp_path: Path, words: str) -> None:
    page = visitors.enter(scripted)
    other = page.context.new_page()
    for tab, name in ((page, "first.txt"), (other, "second.txt")):
        (tmp_path / name).write_text(name)
        tab.goto("/")
        if tab is other:
            expect(tab.locator(".attached")).to_have_text("first.txt×")
            tab.locator(".attached button").click()
            tab.fill("#composer-text", "")
        tab.set_input_files("#composer-files", tmp_path / name)
        tab.fill("#composer-text", words and f"{words}: {name}")
        expect(tab.locator(".attached")).to_have_text(f"{name}×")
    for tab, name in ((page, "first.txt"), (other, "second.txt"), (page, "first.txt")):
        tab.reload()
        expect(tab.locator(".attached")).to_have_text(f"{name}×")
        expect(tab.locator("#composer-text")).to_have_value(words and f"{words}: {name}")
    scripted.model.script(Reply(text="Read."))
    page.press("#composer-text", "Enter")
    last_turn(page, "completed")
    expect(page.locator(".attachment__file")).to_have_text("first.txt")
    other.reload()
    expect(other.locator(".attached")).to_have_text("second.txt×")


def test_a_draft_that_another_tab_sent_while_another_page_was_shown_is_gone(
    scripted: Site, visitors: Visitors
) -> None:
    page, other = drafted_in_two_tabs(scripted, visitors)
    page.locator("#composer-text").press_sequentially("!")
    look_at_the_board(page)
    other.fill("#composer-text", "Only once!")
    scripted.model.script(Reply(text="Once."))
    other.press("#composer-text", "Enter")
    last_turn(other, "completed")
    come_back(page)
    expect(page.locator("#composer-text")).to_have_value("")


@pytest.mark.parametrize("is_away", [True, False])
@pytest.mark.parametrize("changed", ["Only once, please", ""])
def test_a_draft_that_another_tab_changed_and_sent_or_emptied_is_gone(
    scripted: Site, visitors: Visitors, changed: str, is_away: bool
) -> None:
    page, other = drafted_in_two_tabs(scripted, visitors)
    if is_away:
        look_at_the_board(page)
    other.fill("#composer-text", changed)
    if changed:
        scripted.model.script(Reply(text="Once."))
        other.press("#composer-text", "Enter")
        last_turn(other, "completed")
    if is_away:
        come_back(page)
    for tab in (page, other):
        expect(tab.locator("#composer-text")).to_have_value("")
        tab.reload()
        tab.wait_for_selector(LIVE)
        expect(tab.locator("#composer-text")).to_have_value("")


def test_a_draft_that_its_own_tab_changed_and_sent_is_gone_where_it_was_only_shown(
    scripted: Site, visitors: Visitors
) -> None:
    page, other = drafted_in_two_tabs(scripted, visitors)
    page.fill("#composer-text", "Only once, please")
    scripted.model.script(Reply(text="Once."))
    page.press("#composer-text", "Enter")
    expect(last_turn(other, "completed")).to_contain_text("Once.")
    expect(other.locator("#composer-text")).to_have_value("")


def test_what_one_tab_empties_leaves_what_was_typed_in_another(scripted: Site, visitors: Visitors) -> None:
    """Also where that was kept last, for tabs that are opened later."""
    page = opened(scripted, visitors)
    other = another_tab(page)
    page.fill("#composer-text", "The first")
    other.fill("#composer-text", "The second")
    look_at_the_board(page)
    come_back(page)
    look_at_the_board(page)
    other.fill("#composer-text", "")
    come_back(page)
    expect(page.locator("#composer-text")).to_have_value("The first")
    third = page.context.new_page()
    third.goto(page.url)
    expect(third.locator("#composer-text")).to_have_value("The first")


def test_a_first_message_that_another_tab_wrote_over_a_draft_leaves_it(
    scripted: Site, visitors: Visitors
) -> None:
    """It begins a conversation of its own."""
    page = visitors.enter(scripted)
    page.goto("/")
    page.fill("#composer-text", "Feed the fish")
    other = page.context.new_page()
    scripted.model.script(Reply(text="Yes."))
    begin(other, "Water the plants")
    last_turn(other, "completed")
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("Feed the fish")


@pytest.mark.parametrize("words", ["Read them", "Read them, please"])
def test_files_of_a_draft_that_another_tab_sent_are_gone(
    scripted: Site, visitors: Visitors, tmp_path: Path, words: str
) -> None:
    page = opened(scripted, visitors)
    (tmp_path / "notes.txt").write_text("Notes")
    page.set_input_files("#composer-files", tmp_path / "notes.txt")
    page.fill("#composer-text", "Read them")
    other = another_tab(page)
    expect(other.locator(".attached")).to_have_count(1)
    other.fill("#composer-text", words)
    scripted.model.script(Reply(text="Read."))
    other.press("#composer-text", "Enter")
    expect(page.locator("#composer-text")).to_have_value("")
    expect(page.locator(".attached")).to_have_count(0)
    expect(last_turn(page, "completed")).to_contain_text("Read.")
    page.reload()
    page.wait_for_selector(LIVE)
    expect(page.locator(".attached")).to_have_count(0)


def test_a_draft_that_was_changed_meanwhile_stays(scripted: Site, visitors: Visitors) -> None:
    page, other = drafted_in_two_tabs(scripted, visitors)
    page.fill("#composer-text", "Only once, and more")
    scripted.model.script(Reply(text="Once."))
    other.press("#composer-text", "Enter")
    expect(last_turn(page, "completed")).to_contain_text("Once.")
    expect(page.locator("#composer-text")).to_have_value("Only once, and more")
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("Only once, and more")


def test_another_new_conversation_does_not_wait_for_the_first_message(
    scripted: Site, visitors: Visitors
) -> None:
    """It has its own, once, though its page was left before it was there."""
    page = visitors.enter(scripted)
    page.goto("/")
    for task in ("Feed the wombat", "Wash the wombat"):
        held: list[Route] = []
        page.route(lambda address: urlsplit(address).path == "/", partial(hold, held))
        scripted.model.script(Reply(text="Yes."))
        page.locator("#composer-text").fill(task)
        page.keyboard.press("Enter")
        until(page, lambda held=held: held)
        page.locator("#composer-text").evaluate("field => (field.dataset.earlier = true)")
        page.keyboard.press("Control+Shift+o")
        expect(page.locator("#composer-text:not([data-earlier])")).to_have_value("")
        row = page.locator("#sidebar .conversation-row", has_text=task)
        expect(row).to_have_count(1)
        expect(page.locator("#composer-note")).to_be_empty()
    row.get_by_role("link").click()
    at_rest(page)
    expect(turns(page)).to_have_count(1)
    page.goto("/")
    expect(page.locator("#composer-text")).to_have_value("")


def hold(held: list[Route], route: Route) -> None:
    """The server is told of the first message, and its answer never comes."""
    if route.request.method == "POST" and not held:
        route.fetch(max_redirects=0)
        held.append(route)
    else:
        route.fallback()


def test_send_looks_ready_only_where_there_is_something_to_send(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    clear = ("background-color", "rgba(0, 0, 0, 0)")
    for text in ("", "  \n "):
        page.fill("#composer-text", f"Hello{text}")
        expect(page.locator("#send")).not_to_have_css(*clear)
        page.fill("#composer-text", text)
        expect(page.locator("#send")).to_have_css(*clear)
