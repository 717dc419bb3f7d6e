"""The keyboard: the way to the composer, stopping, the palette, and what the composer completes."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from chat.demo.reply import Reply
from chat.demo.transport import MODELS
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, come_to_rest, last_turn, send, todo, until

WRITES = Reply(tool_calls=[("write_file", {"path": "src/stock room.py", "content": "x = 1\n"})])


def box(page: Page) -> Locator:
    return page.locator("#composer-text")


def popup(page: Page) -> Locator:
    """The completion, as far as it is open."""
    return page.locator("#completion:popover-open [role=option]")


ACTIVE = """() => {
    const name = document.activeElement.getAttribute("aria-activedescendant");
    return document.querySelector(`[id="${name}"][aria-selected=true]`)?.textContent ?? "";
}"""


def is_selected(page: Page, text: str) -> None:
    """Wait until the option with this text is the active one of the focused field."""
    until(page, lambda: text in page.evaluate(ACTIVE))


def test_escape_leads_to_the_composer_and_asked_twice_stops(scripted: Site, visitors: Visitors) -> None:
    endless = Reply(text="I go on and on. " * 9, piece=8, stall_after=9)
    scripted.model.script(todo("in_progress", "pending"), endless)
    page = visitors.enter(scripted)
    begin(page, "Work")
    expect(page.locator("#transcript")).to_contain_text("I go on")
    hint = page.locator("#stop-hint")

    page.locator("body").evaluate(
        "body => { document.activeElement.blur(); getSelection().removeAllRanges() }"
    )
    page.evaluate("document.body.setAttribute('tabindex', -1); document.body.focus()")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the message field")).to_be_focused()
    page.keyboard.press("Enter")
    expect(box(page)).to_be_focused()
    assert "#" not in page.url

    # What is open is closed first, and counts for nothing.
    for name, opened in (
        ("Conversation menu", "#conversation-menu"),
        ("Profile for the next turn", "#profile-menu"),
        ("Model for the next turn", "#model-menu"),
    ):
        page.get_by_role("button", name=name).first.click()
        expect(page.locator(opened)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(opened)).to_be_hidden()
        expect(hint).to_be_empty()
    page.keyboard.press("Control+k")
    expect(page.locator("#palette [role=option]").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_have_count(0)
    box(page).focus()
    page.keyboard.type("/")
    expect(popup(page).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(popup(page)).to_have_count(0)
    expect(box(page)).to_have_value("/")
    expect(hint).to_be_empty()
    search = page.locator(".search-box [name='q']")
    search.fill("x")
    page.keyboard.press("Escape")  # empties that field
    expect(hint).to_be_empty()

    page.locator("#scroll").focus()
    page.keyboard.press("Escape")
    expect(box(page)).to_be_focused()
    expect(hint).to_have_text("Press Escape again to stop")
    expect(page.locator("#conversation")).to_have_attribute("data-status", "running")
    expect(hint).to_be_empty()  # too late now
    for meanwhile in (lambda: page.keyboard.press("ArrowLeft"), lambda: page.locator(".transcript").click()):
        page.keyboard.press("Escape")
        expect(hint).not_to_be_empty()
        meanwhile()
        expect(hint).to_be_empty()
    box(page).focus()
    page.keyboard.press("Escape")
    expect(hint).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(hint).to_be_empty()
    last_turn(page, "stopped")
    at_rest(page)
    page.keyboard.press("Escape")
    expect(hint).to_be_empty()
    expect(box(page)).to_have_value("/")


def test_the_hint_to_stop_goes_with_the_turn(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(Reply(text="I go on and on.", piece=4, stall_after=2, gate=gate))
    scripted.model.script(Reply(text="I go on and on.", piece=4, stall_after=2))
    page = visitors.enter(scripted)
    begin(page, "Work")
    expect(page.locator("#transcript")).to_contain_text("I go")
    hint = page.locator("#stop-hint")
    box(page).focus()
    page.keyboard.press("Escape")
    expect(hint).not_to_be_empty()
    gate.set()
    last_turn(page, "completed")
    expect(hint).to_be_empty(timeout=2_000)

    send(page, "Again")
    expect(last_turn(page, "running")).to_contain_text("I go")
    page.keyboard.press("Escape")
    expect(hint).not_to_be_empty()
    page.click("#stop")
    expect(hint).to_be_empty(timeout=2_000)
    last_turn(page, "stopped")


def test_the_composer_completes(scripted: Site, visitors: Visitors) -> None:
    items = [
        {"content": f"Paint the {what}", "status": "pending", "activeForm": f"Painting the {what}"}
        for what in ("door", "fence")
    ]
    scripted.model.script(
        WRITES, Reply(tool_calls=[("TodoWrite", {"items": items})]), Reply(text="Done."), Reply(text="Well.")
    )
    page = visitors.enter(scripted)
    begin(page, "Begin it\nwith two lines")
    at_rest(page)
    field = box(page)

    # Files and items, at a word's start, with what is typed narrowing them.
    page.keyboard.type("see @st")
    expect(popup(page)).to_have_text([re.compile(r"stock room\.py\s*src")])
    is_selected(page, "stock room.py")
    page.keyboard.press("Tab")
    expect(field).to_have_value('see "src/stock room.py" ')
    page.keyboard.type("for #")
    expect(popup(page)).to_have_text(["Paint the door", "Paint the fence"])
    page.keyboard.press("ArrowDown")
    is_selected(page, "Paint the fence")
    page.keyboard.press("ArrowDown")
    is_selected(page, "Paint the door")
    page.keyboard.type("fen")
    expect(popup(page)).to_have_text(["Paint the fence"])
    page.keyboard.press("Enter")
    expect(field).to_have_value('see "src/stock room.py" for Paint the fence ')
    expect(popup(page)).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(field).to_have_value('see "src/stock room.py" for #fen')
    field.fill("")
    page.keyboard.type("#")
    popup(page).last.click()
    expect(field).to_have_value("Paint the fence ")
    expect(field).to_be_focused()

    # Right behind Chinese, which has no spaces.
    field.fill("")
    page.keyboard.insert_text("看看")
    page.keyboard.type("@sto")
    expect(popup(page)).to_have_text([re.compile(r"stock room\.py\s*src")])
    page.keyboard.press("Enter")
    expect(field).to_have_value('看看"src/stock room.py" ')

    # Not within a word, not when pasted, and Enter sends where nothing is offered.
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/complete/" in request.url else None)
    field.fill("")
    page.keyboard.type("me@home a/b c#1")
    field.fill("")
    field.evaluate(
        """field => {
            field.value = "@stock";
            field.setSelectionRange(6, 6);
            const pasted = { bubbles: true, inputType: "insertFromPaste", data: "@stock" };
            field.dispatchEvent(new InputEvent("input", pasted));
        }"""
    )
    page.keyboard.type("!")
    field.fill("")
    page.keyboard.type("a /")
    assert not asked
    field.fill("")
    page.keyboard.type("/etc/hosts is a file")
    expect(popup(page)).to_have_count(0)
    page.keyboard.press("Enter")
    last_turn(page, "completed")
    at_rest(page)
    expect(page.locator("[data-role='user'] .message__body").last).to_have_text("/etc/hosts is a file")

    # One's own messages, with the up key in an empty field.
    expect(field).to_have_value("")
    for key, text in (
        ("ArrowUp", "/etc/hosts is a file"),
        ("ArrowUp", "Begin it\nwith two lines"),
        ("ArrowUp", "Begin it\nwith two lines"),  # the caret goes up to its first line
        ("ArrowUp", "Begin it\nwith two lines"),  # there are no more
        ("ArrowDown", "Begin it\nwith two lines"),  # the caret goes down
        ("ArrowDown", "/etc/hosts is a file"),
        ("ArrowDown", ""),
        ("ArrowDown", ""),
        ("ArrowUp", "/etc/hosts is a file"),
    ):
        page.keyboard.press(key)
        expect(field).to_have_value(text)
    page.keyboard.type("!")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_value("/etc/hosts is a file!")
    field.fill("")
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("/etc/hosts is a file")
    page.keyboard.type("!")
    page.reload()
    page.wait_for_selector(LIVE)
    expect(field).to_have_value("/etc/hosts is a file!")


def test_a_message_comes_back_as_it_was_written(scripted: Site, visitors: Visitors) -> None:
    scripted.model.answer = lambda request: Reply("Yes.")
    page = visitors.enter(scripted)
    code = "Look:\n```python\nfor i in range(3):\n    print(i)\n```\nat https://example.org/ please"
    begin(page, code)
    at_rest(page)
    send(page, "thanks")
    at_rest(page)
    field = page.locator("#composer-text")
    for key, text in (("ArrowUp", "thanks"), ("ArrowUp", code), ("ArrowUp", code)):
        page.keyboard.press(key)
        expect(field).to_have_value(text)
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_value("thanks")


def test_keys_of_pages_scroll_the_transcript_from_the_composer(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("\n\n".join(f"Line {number}" for number in range(200))))
    page = visitors.enter(scripted)
    begin(page, "Count")
    at_rest(page)
    field = page.locator("#composer-text")
    field.focus()
    come_to_rest(page)
    first, end, last = (
        page.get_by_text("Count", exact=True).last,
        page.locator("#to-end"),
        page.get_by_text("Line 199"),
    )
    expect(last).to_be_in_viewport()
    page.keyboard.press("PageUp")
    expect(last).not_to_be_in_viewport()
    expect(end).to_be_visible()
    for _page in range(3):
        page.keyboard.press("PageDown")
    expect(last).to_be_in_viewport()
    page.keyboard.press("Control+Home")
    expect(first).to_be_in_viewport()
    page.keyboard.press("Control+End")
    expect(last).to_be_in_viewport()
    expect(end).to_be_hidden()
    field.fill("\n".join("abcdefghijklmnopqrstuvwxyz" * 2))
    page.keyboard.press("PageUp")
    page.keyboard.press("Control+Home")
    expect(last).to_be_in_viewport()
    assert field.evaluate("field => field.selectionStart") == 0
    expect(field).to_be_focused()


def test_the_space_bar_presses_a_link_that_looks_like_a_button(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("Done."))
    page = visitors.enter(scripted)
    begin(page, "Work")
    at_rest(page)
    for name in ("Edit", "Delete turn"):
        last_turn(page).get_by_role("link", name=name).focus()
        page.keyboard.press("Space")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        dialog.get_by_role("link", name="Cancel").focus()
        page.keyboard.press("Space")
        expect(dialog).to_be_hidden()


def test_the_list_of_models_closes_behind_the_keyboard(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("Done."))
    page = visitors.enter(scripted)
    begin(page, "Work")
    at_rest(page)
    page.locator("#model-choice").focus()
    page.keyboard.press("Enter")
    menu = page.locator("#model-menu")
    expect(menu.get_by_role("combobox").or_(menu.locator("[data-filter]")).first).to_be_focused()
    page.keyboard.press("Tab")
    expect(menu).to_be_hidden()
    expect(page.locator("#send")).to_be_focused()


def test_commands(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("pending"), Reply(text="I go on and on. " * 9, piece=8, stall_after=9))
    page = visitors.enter(scripted)
    begin(page, "Work")
    expect(page.locator("#transcript")).to_contain_text("I go")
    field = box(page)
    field.focus()
    page.keyboard.type("/")
    expect(popup(page).locator(".option__title")).to_have_text(
        ["/new", "/model", "/profile", "/plan", "/stop", "/export", "/help"]
    )
    page.keyboard.type("st")
    page.keyboard.press("Enter")  # at once: it waits for the answer
    last_turn(page, "stopped")
    at_rest(page)
    expect(field).to_have_value("")
    for command, opened in (
        ("model", "#model-menu [role=option]"),
        ("profile", "#profile-menu"),
        ("help", "#keys"),
    ):
        field.focus()
        page.keyboard.type(f"/{command}")
        page.keyboard.press("Enter")
        expect(page.locator(opened).first).to_be_visible()
        expect(field).to_have_value("")
        page.keyboard.press("Escape")
        expect(page.locator(opened).locator("visible=true")).to_have_count(0)
    page.mouse.click(640, 26)
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Previous conversation")
    page.keyboard.press("Escape")
    field.focus()
    with page.expect_download() as download:
        page.keyboard.type("/export")
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".md")
    page.keyboard.type("/plan")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/plan/$"))
    page.goto("/")
    expect(field).to_be_focused()
    page.keyboard.type("/mo")
    expect(popup(page)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#model-menu [role=option]").first).to_be_visible()


def test_an_input_methods_comma_begins_a_command(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    page.locator("#composer-text").focus()
    page.keyboard.insert_text("、")
    expect(popup(page).filter(has_text="/help")).to_be_visible()
    page.keyboard.type("hel")
    page.keyboard.press("Enter")
    expect(page.locator("#keys")).to_be_visible()
    page.mouse.click(5, 5)  # beside it
    expect(page.locator("#keys")).to_be_hidden()
    expect(box(page)).to_have_value("")


@pytest.mark.parametrize(("typed", "suggested"), [("＃", "Item 1"), ("＠", "notes.md")])
def test_an_input_methods_wide_signs_begin_a_name(
    scripted: Site, visitors: Visitors, typed: str, suggested: str
) -> None:
    write = Reply(tool_calls=[("write_file", {"path": "notes.md", "content": "x"})])
    scripted.model.script(todo("pending"), write, Reply("Done."))
    page = visitors.enter(scripted)
    begin(page, "Begin")
    at_rest(page)
    page.locator("#composer-text").focus()
    page.keyboard.insert_text("看看")
    page.keyboard.insert_text(typed)
    expect(popup(page).filter(has_text=suggested)).to_be_visible()
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value(re.compile(f"^看看.*{suggested}.* $"))


def test_menus_have_arrow_keys(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("Done."))
    page = visitors.enter(scripted)
    begin(page, "Begin")
    at_rest(page)
    opener = page.get_by_role("button", name="Conversation menu")
    opener.focus()
    page.keyboard.press("Enter")
    items = page.locator("#conversation-menu").locator(".menu__item:visible")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(items.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(items.first).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("#conversation-menu :is(a, button, input):enabled:visible").last).to_be_focused()
    page.keyboard.press("Home")
    expect(items.first).to_be_focused()
    word = page.locator("#conversation-menu").get_by_label("Tag")
    word.fill("abc")
    page.keyboard.press("Home")  # is the field's own
    page.keyboard.type("x")
    expect(word).to_have_value("xabc")
    page.keyboard.press("End")
    expect(word).to_be_focused()
    items.first.focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.closest('#conversation-menu') !== null")
    page.keyboard.press("Tab")
    expect(page.locator("#conversation-menu")).to_be_hidden()
    box(page).fill("")
    box(page).focus()
    page.keyboard.type("/profile")
    expect(popup(page).filter(has_text="/profile")).to_be_visible()
    page.keyboard.press("Enter")
    current = page.locator("#profile-menu [aria-current]")
    expect(current).to_be_focused()
    page.keyboard.type("no such profile")
    expect(current).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#profile-menu")).to_be_hidden()


def test_letters_lead_to_an_item_of_a_menu(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("Done."))
    page = visitors.enter(scripted)
    begin(page, "Begin")
    at_rest(page)
    page.get_by_role("button", name="Conversation menu").press("Enter")
    menu = page.locator("#conversation-menu")
    expect(menu.get_by_role("button", name="Rename")).to_be_focused()
    page.keyboard.type("pla")
    expect(menu.get_by_role("link", name="Plan history")).to_be_focused()
    page.keyboard.press("Escape")
    box(page).focus()
    page.keyboard.type("/profile")
    expect(popup(page).filter(has_text="/profile")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#profile-menu [aria-current]")).to_be_focused()
    page.keyboard.type("Asks first")
    page.keyboard.press("Enter")
    expect(page.locator("#profile-button")).to_contain_text("Asks first")
    expect(box(page)).to_be_focused()


def test_deleting_from_the_sidebar_keeps_the_keyboard(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("Done."), Reply("Done."))
    page = visitors.enter(scripted)
    begin(page, "Delete me")
    at_rest(page)
    page.goto("/")
    begin(page, "Second")
    at_rest(page)
    page.goto("/settings/usage/")
    row = page.locator("#sidebar .conversation-row", has_text="Delete me")
    more = row.locator(".row-more")
    more.focus()
    page.keyboard.press("Enter")
    page.locator("#row-menu").get_by_role("button", name="Delete").press("Enter")
    expect(page.locator("#row-delete")).to_be_visible()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("#row-menu").get_by_role("button", name="Delete").press("Enter")
    page.locator("#row-delete").get_by_role("button", name="Delete").press("Enter")
    undo = page.locator("#sidebar-undo").get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    page.keyboard.press("Enter")
    expect(row).to_be_visible()
    expect(more).to_be_focused()


def test_the_palette_finds_all_of_it(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        Reply(text="A *numbat* is small."), Reply(text="Second answer."), Reply(text="By the chosen one.")
    )
    page = visitors.enter(scripted)
    first = begin(page, "About marsupials")
    at_rest(page)
    second = begin(page, "About birds")
    at_rest(page)
    options = page.locator("#palette [role=option]")

    # Twice the keys of a quick switch: there, and back.
    for address, title in ((first, "About marsupials"), (second, "About birds")):
        page.keyboard.press("Control+k")
        page.keyboard.press("Enter")
        expect(page).to_have_url(address)
        expect(page.locator("#title")).to_have_text(title)
        page.wait_for_selector(LIVE)
        expect(page.locator("#palette")).to_have_count(0)

    # Typed at once, searched while it is typed, with what is found as it reads.
    page.keyboard.press("Control+k")
    page.keyboard.type("numbat")
    expect(options).to_have_count(2)  # and the search of all conversations
    expect(options.locator(".option__excerpt")).to_have_text("A numbat is small.")
    expect(options.locator("mark")).to_have_text("numbat")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"{re.escape(first)}\?find=numbat#message-\d+$"))
    expect(page.locator("#title")).to_have_text("About marsupials")
    page.keyboard.press("Control+k")
    page.keyboard.type("prefer")
    is_selected(page, "Preferences")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/settings/preferences/$"))
    page.get_by_role("button", name="Find conversations, commands, settings and models").click()
    page.keyboard.type("new conv")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{scripted.served.address}/")
    page.goto(first)
    page.wait_for_selector(LIVE)
    page.keyboard.press("Meta+k")
    page.keyboard.type("scripted")
    expect(options.last).to_contain_text("scripted")
    options.filter(has_text="Environment").click()
    expect(page.locator("#palette")).to_have_count(0)
    send(page, "And now?")
    last_turn(page, "completed")
    expect(last_turn(page).locator(".who__model").first).to_have_text("scripted")
    page.keyboard.press("Control+k")
    page.keyboard.type("nothing is like that")
    until(page, lambda: page.locator("#palette [data-typed='nothing is like that']").count())
    expect(options).to_have_text(["Search all conversations for “nothing is like that”"])
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_have_count(0)


def test_the_palette_finds_models_that_were_not_asked_for_yet(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    with scripted.connection("Unheard"):
        page.keyboard.press("Control+k")
        page.keyboard.type("unheard")
        found = page.locator("#palette [role=group][aria-label=Models] [role=option]")
        expect(found).to_have_count(len(MODELS["data"]))
        page.keyboard.press("Enter")
        expect(page.locator("#model-choice")).to_contain_text(MODELS["data"][0]["id"])


def test_behind_the_palette_one_types_on(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    page.keyboard.type("one")
    for close in ("Escape", "Control+k", "click beside it"):
        page.keyboard.press("Control+k")
        page.keyboard.type("looked up")
        until(page, lambda: page.locator("#palette [data-typed='looked up']").count())
        if close.startswith("click"):
            page.mouse.click(5, 5)
        else:
            page.keyboard.press(close)
        expect(page.locator("#palette")).to_have_count(0)
        expect(box(page)).to_be_focused()
        page.keyboard.type(" more")
    expect(box(page)).to_have_value("one more more more")
    page.keyboard.press("Control+k")
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    page.evaluate(
        "new Promise(done => setTimeout(done, 100))"
    )  # nothing is looked up for a list that is gone


def test_what_the_search_leads_to_takes_what_is_typed(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply(text="Yes?"))
    begin(page, "About capybaras")
    at_rest(page)
    page.goto("/")
    page.locator(".search-box [type=search]").click()
    expect(page.locator("#palette input")).to_be_focused()
    page.keyboard.type("capybaras")
    option = page.locator("#palette [role=option]", has_text="About capybaras")
    expect(option.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_selector(LIVE)
    page.keyboard.type("and more")
    expect(page.locator("#composer-text")).to_have_value("and more")


def test_a_palette_that_is_opened_while_a_page_is_on_its_way_stays(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    page.goto("/settings/usage/")
    held: list[Route] = []
    page.route("**/settings/plans/", lambda route: held.append(route))
    page.locator(".tabs a[href$='/settings/plans/']").click()
    until(page, lambda: held)
    page.keyboard.press("Control+k")
    page.keyboard.type("prefer")
    held.pop().continue_()
    expect(page.locator(".tabs [aria-current=page]")).to_have_attribute("href", re.compile("/plans/$"))
    is_selected(page, "Preferences")


def test_the_palette_does_what_the_menu_does(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page, "About owls")
    at_rest(page)

    def choose(typed: str, title: str) -> None:
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        is_selected(page, title)
        page.keyboard.press("Enter")
        expect(page.locator("#palette")).to_have_count(0)

    choose("rename", "Rename")
    expect(page.locator(".rename")).to_be_focused()
    page.keyboard.type("About eagles")
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("About eagles"))
    choose("pin", "Pin")
    expect(page.locator("#sidebar .conversation-row[data-pinned]")).to_contain_text("About eagles")
    choose("unpin", "Unpin")
    expect(page.locator("#sidebar .conversation-row[data-pinned]")).to_have_count(0)
    choose("delete", "Delete")
    expect(page.locator("#delete-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#delete-dialog")).to_be_hidden()
    expect(page.locator("#title")).to_have_text("About eagles")


@pytest.mark.parametrize("size", [(390, 450), (360, 380), (1280, 800)])
def test_what_completes_never_covers_the_field(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    page = visitors.enter(scripted, viewport=dict(zip(("width", "height"), size, strict=True)))
    page.goto("/")
    page.locator(".password-note").evaluate_all("notes => notes.forEach((note) => note.remove())")  # Not now
    box(page).focus()
    page.keyboard.type("/")
    expect(popup(page).first).to_be_visible()
    composer, options = page.locator("#composer").bounding_box(), page.locator("#completion").bounding_box()
    assert composer
    assert options
    above = options["y"] + options["height"] <= composer["y"]
    assert above or options["y"] >= composer["y"] + composer["height"]
    assert options["y"] >= 0
    assert options["y"] + options["height"] <= size[1]


def test_what_is_typed_after_a_profile_was_chosen_is_the_message(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    page.locator("#profile-button").focus()
    page.keyboard.press("Enter")
    choices = page.locator(".profile-menu__choice")
    expect(choices.first).to_be_focused()
    expect(choices.first).to_have_css("text-decoration-line", "none")  # it is a choice, not a link in a text
    other = choices.nth(1).locator(".profile-menu__title").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#profile-menu")).to_be_hidden()
    expect(page.locator(".profile-choice__title")).to_have_text(other)
    page.keyboard.type("create a program")
    expect(box(page)).to_have_value("create a program")
    assert page.url == f"{scripted.served.address}/"
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/*/")
    expect(page.locator("#profile-button")).to_contain_text(other)


def test_a_file_with_a_long_name_is_told_in_full(scripted: Site, visitors: Visitors) -> None:
    name = "关于2026年第三季度各部门经营数据汇总分析报告（征求意见稿）修订版.docx"
    write = ("write_file", {"path": f"uploads/{name}", "content": "x"})
    scripted.model.script(Reply(tool_calls=[write]), Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": 390, "height": 844})
    begin(page, "hello")
    at_rest(page)
    box(page).press_sequentially("@")
    option = popup(page).first
    expect(option).to_contain_text("修订版.docx")
    for part in (".option__title", ".option__note"):
        assert option.locator(part).evaluate("part => part.scrollWidth <= part.clientWidth")
    inside, outside = option.locator(".option__note").bounding_box(), option.bounding_box()
    assert inside
    assert outside
    assert inside["x"] + inside["width"] <= outside["x"] + outside["width"]
