"""Conversations are chosen, archived, tagged, pinned and deleted in the list, and that is undone there."""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, TOPMOST, at_rest, begin, send, until

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}


@pytest.fixture
def site(scripted: Site, visitors: Visitors) -> Iterator[Site]:
    """The scripted site with four conversations alone, the newest "Talk 4", and in the end with none."""
    scripted.model.answer = lambda request: Reply(text="Yes.")
    page = visitors.enter(scripted)
    page.goto("/")
    post(scripted, page, "/conversations/bulk/", kind="delete", all="1")
    for number in (1, 2, 3, 4):
        post(scripted, page, "/", text=f"Talk {number}")
        until(page, lambda: not scripted.at_work())
    yield scripted
    visitors.stay_alone(page)  # who looks at what is deleted is told that nothing is there
    post(scripted, page, "/conversations/bulk/", kind="delete", all="1")


def post(site: Site, page: Page, where: str, **form: str) -> None:
    token = page.locator("#composer [name='csrfmiddlewaretoken']").input_value()
    headers = {"Referer": f"{site.served.address}/", "Origin": site.served.address}
    fields: dict[str, str | float | bool] = {**form, "csrfmiddlewaretoken": token}
    assert page.request.post(where, form=fields, headers=headers, max_redirects=0).status == 302


def row(page: Page, title: str) -> Locator:
    return page.locator("main .conversation-row", has_text=title).first


def box(page: Page, title: str) -> Locator:
    return row(page, title).get_by_role("checkbox")


@pytest.mark.parametrize("name", ["Archive", "Delete"])
def test_the_way_back_is_in_view_from_further_down(site: Site, visitors: Visitors, name: str) -> None:
    page = visitors.enter(site, **PHONE | {"viewport": {"width": 390, "height": 360}})
    page.goto("/conversations/")
    actions = row(page, "Talk 1").get_by_role("button", name="Actions for Talk 1")
    actions.tap()
    page.locator("#row-menu").get_by_role("button", name=name).tap()
    if name == "Delete":
        page.locator("#row-delete").get_by_role("button", name="Delete").tap()
    expect(row(page, "Talk 1")).to_have_count(0)
    undo = page.locator("main .undo-note").get_by_role("button", name="Undo")
    expect(undo).to_be_in_viewport(ratio=1)
    assert undo.evaluate(TOPMOST)
    undo.tap()
    expect(row(page, "Talk 1")).to_be_visible()


def test_the_way_back_is_not_beneath_the_bar_of_the_list(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, viewport={"width": 1280, "height": 260})
    page.goto("/conversations/")
    actions = page.locator("#bulk .row-more").last
    actions.click()
    page.locator("#row-menu").get_by_role("button", name="Archive").click()
    note = page.locator("main .undo-note[data-kind=archive]")
    undo = note.get_by_role("button", name="Undo")
    expect(undo).to_be_in_viewport(ratio=1)
    assert page.locator("#content").evaluate("content => content.scrollTop") > 100
    assert undo.evaluate(TOPMOST)
    undo.click()
    expect(note).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 960])
def test_rows_stay_under_the_pointer_as_they_are_chosen(site: Site, visitors: Visitors, width: int) -> None:
    page = visitors.enter(site, viewport={"width": width, "height": 800})
    page.goto("/conversations/")
    pinned = box(page, "Talk 3").input_value()
    page.goto(urlsplit(row(page, "Talk 4").locator("a").get_attribute("href") or "").path)
    post(site, page, f"{urlsplit(page.url).path}todos/", do="add", **{"text-new": "Look"})
    post(site, page, "/conversations/bulk/", kind="pin", c=pinned)
    page.goto("/conversations/")
    first = page.locator("#found [name=c]").first
    before = first.bounding_box()
    for title, offered in [("Talk 2", "Archive"), ("Talk 3", "Pin"), ("Talk 4", "Dismiss unfinished")]:
        box(page, title).check()
        expect(page.get_by_role("group").get_by_role("button", name=offered, exact=True)).to_be_visible()
        assert first.bounding_box() == before
    box(page, "Talk 2").uncheck()
    box(page, "Talk 4").uncheck()
    expect(page.get_by_role("group").get_by_role("button", name="Unpin")).to_be_visible()
    assert first.bounding_box() == before


def titles(page: Page) -> list[str]:
    shown = page.locator("main .conversation-row__title").all_inner_texts()
    return [title.splitlines()[-1] for title in shown]  # ahead of it stands that it is unseen


def press(page: Page, name: str) -> None:
    page.get_by_role("group").get_by_role("button", name=name, exact=True).click()


def test_archive_a_range_and_undo(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    before = titles(page)
    expect(page.get_by_role("button", name="Archive")).to_be_hidden()
    box(page, "Talk 4").click()
    box(page, "Talk 2").click(modifiers=["Shift"])
    expect(page.locator("#bulk-count")).to_have_text("3 selected")
    press(page, "Archive")
    expect(page.get_by_role("status")).to_have_text("3 conversations archived.")
    expect(page.locator("main")).not_to_contain_text("Talk 3")
    expect(page.locator("#sidebar")).not_to_contain_text("Talk 3")
    page.reload()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").first).to_have_text("3 conversations restored.")
    assert titles(page) == before


def test_several_are_exported_at_once(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    box(page, "Talk 4").click()
    box(page, "Talk 3").click()
    press(page, "Export…")
    choices = page.get_by_role("dialog", name="Export the selected conversations as a zip file")
    expect(choices).to_contain_text("2 selected")
    choices.get_by_role("button", name="Cancel").click()
    expect(choices).to_be_hidden()
    press(page, "Delete…")
    question = page.get_by_role("alertdialog", name="Delete the selected conversations")
    expect(question).to_contain_text("2 selected")
    question.get_by_role("button", name="Cancel").click()
    press(page, "Export…")
    with page.expect_download() as download:
        choices.get_by_role("button", name="Markdown").click()
    with zipfile.ZipFile(download.value.path()) as file:
        assert sorted(file.namelist()) == ["Talk 3.md", "Talk 4.md"]
    expect(choices).to_be_hidden()
    expect(page.locator("#bulk-count")).to_have_text("2 selected")


def test_tags_in_chinese(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    box(page, "Talk 4").click()
    box(page, "Talk 3").click()
    press(page, "Tag…")
    word = page.get_by_role("dialog").get_by_label("Tag")
    expect(word).to_be_focused()
    word.fill("周报")
    word.press("Enter")
    expect(page.get_by_role("status")).to_have_text("2 conversations tagged “周报”.")
    row(page, "Talk 4").get_by_role("link", name="周报").click()
    expect(page).to_have_url(re.compile(r"\?tag="))
    expect(page.get_by_role("link", name="Show all")).to_be_visible()
    assert titles(page) == ["Talk 4", "Talk 3"]
    page.get_by_role("link", name="Show all").click()
    page.get_by_role("link", name="Tags").click()
    page.get_by_label("Name of 周报").fill("每周报告")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_label("Name of 每周报告")).to_have_value("每周报告")
    page.get_by_role("button", name="Delete 每周报告").click()
    expect(page.get_by_role("status")).to_have_text("Tag “每周报告” removed from 2 conversations.")


def test_a_name_that_did_not_reach_the_server_is_in_its_field_again(
    scripted: Site, visitors: Visitors
) -> None:
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch"]
    scripted.model.script(Reply(text="Yes?"))
    page = visitors.enter(scripted)
    begin(page, "Hello")
    at_rest(page)
    page.context.set_offline(True)
    page.keyboard.press("F2")
    page.keyboard.type("A better name")
    page.keyboard.press("Enter")
    expect(page.locator(".warning")).to_contain_text("Could not reach the server")
    expect(page.locator(".rename")).to_have_value("A better name")
    page.context.set_offline(False)
    page.wait_for_selector(LIVE)
    page.locator(".rename").press("Enter")
    expect(page.locator("#title")).to_have_text("A better name")
    expect(page.locator("#sidebar")).to_contain_text("A better name")


def test_a_title_that_is_cut_off_is_whole_under_the_mouse(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    begin(page, "Short")
    at_rest(page)
    title = "A title that is a good deal longer than the sidebar and the bar are wide together " * 2
    page.goto("/")
    begin(page, title.strip())
    at_rest(page)
    rows = page.locator("#sidebar .conversation-row__head")
    whole = page.locator("#title").inner_text()
    expect(rows.nth(0)).to_contain_text(whole)

    def tells(place: Locator) -> str | None:
        """What the mouse is told there, also where the place was just drawn anew."""
        page.locator("#composer-text").hover()
        place.hover()
        return place.get_attribute("title")

    until(page, lambda: tells(rows.nth(0)) == whole)
    assert tells(rows.nth(1)) is None
    page.set_viewport_size({"width": 600, "height": 600})
    until(page, lambda: tells(page.locator("#title > button")) == whole)


def test_the_menu_pins_and_tags_without_leaving_the_page(site: Site, visitors: Visitors) -> None:
    page, other = visitors.enter(site), visitors.enter(site)
    begin(other, "Another")
    at_rest(other)
    begin(page, "To be pinned")
    at_rest(page)
    page.get_by_role("button", name=re.compile("Conversation menu")).click()
    menu = page.locator("#conversation-menu")
    menu.get_by_role("button", name="Pin", exact=True).click()
    expect(menu).to_be_hidden()
    page.get_by_role("button", name=re.compile("Conversation menu")).click()
    expect(menu.get_by_role("button", name="Unpin")).to_be_visible()
    for each in (page, other):
        expect(each.locator("#sidebar h2").first).to_have_text("Pinned")
        expect(each.locator("#sidebar .conversation-row__title").first).to_have_text("To be pinned")
    word = menu.get_by_role("combobox", name="Tag")
    word.fill(" ")
    word.press("Enter")
    assert not word.evaluate("word => word.validity.valid"), "the browser says so beside it"
    expect(page.locator("#composer-note")).to_be_hidden()
    word.fill("数据")
    word.press("Enter")
    expect(menu.locator(".tag")).to_contain_text("数据")
    expect(word).to_have_value("")
    expect(word).to_be_focused()
    menu.get_by_role("button", name="Remove 数据").click()
    expect(menu.locator(".tag")).to_have_count(0)
    menu.get_by_role("button", name="Archive").click()
    expect(page.locator("#archived")).to_contain_text("Archived.")
    expect(menu).to_be_hidden()
    expect(page.get_by_role("button", name="Conversation menu")).to_be_focused()
    expect(other.locator("#sidebar")).not_to_contain_text("To be pinned")
    page.keyboard.press("Escape")
    page.locator("#archived").get_by_role("button", name="Unarchive").click()
    expect(page.locator("#archived")).to_be_empty()
    expect(other.locator("#sidebar h2").first).to_have_text("Pinned")
    marked = "Object.keys(sessionStorage).filter((key) => key.startsWith('undo ')).length"
    until(page, lambda: page.evaluate(marked) == 5)  # all answers are there
    page.goto("/conversations/")
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_visible()
    # The menu takes back what it did.
    expect(page.locator("main .undo-note:not([data-kind=delete]):visible")).to_have_count(0)


def test_a_tab_is_told_at_once_that_its_conversation_was_deleted(site: Site, visitors: Visitors) -> None:
    visitors.expected.append("404")
    page, other = visitors.enter(site), visitors.enter(site)
    begin(page, "To be deleted")
    at_rest(page)
    page.fill("#composer-text", "Half a thought")
    other.goto("/")
    post(site, other, f"{urlsplit(page.url).path}delete/")
    expect(page.locator("h1")).to_have_text("This conversation was deleted", timeout=7_000)
    expect(page.locator("main")).to_contain_text("Messages can no longer be sent to it.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#composer-text")).to_have_value("Half a thought")
    expect(page.locator("h1")).to_have_text("To be deleted")


def test_deleting_another_conversation_leaves_this_one_in_view(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    page.locator("#sidebar").get_by_role("link", name="Talk 4").click()
    expect(page.locator("#title")).to_have_text("Talk 4")
    row = page.locator("#sidebar .conversation-row", has_text="Talk 2")
    row.hover()
    row.get_by_role("button", name="Actions for Talk 2").click()
    page.locator("#row-menu").get_by_role("button", name="Delete").click()
    page.locator("#row-delete").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    expect(page.locator("#title")).to_have_text("Talk 4")
    page.locator("#sidebar-undo").get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)


@pytest.mark.parametrize("is_phone", [False, True])
def test_deleting_the_conversation_in_view_leads_to_the_list(
    site: Site, visitors: Visitors, is_phone: bool
) -> None:
    page = visitors.enter(site, **(PHONE if is_phone else {}))
    page.goto("/conversations/")
    page.locator(".record__list").get_by_role("link", name="Talk 4").click()
    expect(page.locator("#title")).to_have_text("Talk 4")
    row = page.locator("#sidebar .conversation-row", has_text="Talk 4")
    if is_phone:
        page.locator(".bar__menu").tap()
    else:
        row.hover()
    row.get_by_role("button", name="Actions for Talk 4").click()
    page.locator("#row-menu").get_by_role("button", name="Delete").click()
    dialog = page.locator("#row-delete")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_visible()
    expect(dialog).to_be_hidden()
    undo = page.locator("main .undo-note").get_by_role("button", name="Undo")
    assert undo.evaluate(TOPMOST)
    undo.click()
    expect(page.locator(".record__list").get_by_role("link", name="Talk 4")).to_be_visible()


def test_only_the_latest_change_is_offered_to_be_undone(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    notes = page.locator(".undo-note:visible")

    def from_menu(title: str, act: str) -> None:
        row = page.locator("#sidebar .conversation-row", has_text=title)
        row.hover()
        row.get_by_role("button", name=f"Actions for {title}").click()
        page.locator("#row-menu").get_by_role("button", name=act, exact=True).click()

    page.goto("/conversations/")
    page.locator(".record__list .conversation-row", has_text="Talk 4").get_by_role("checkbox").check()
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator("main .undo-note:visible")).to_contain_text("“Talk 4” pinned.")
    page.goto("/conversations/tags/")
    expect(page.locator("main .undo-note:visible")).to_contain_text("“Talk 4” pinned.")
    from_menu("Talk 2", "Archive")
    expect(page.locator("#sidebar-undo")).to_contain_text("“Talk 2” archived.")
    expect(notes).to_have_count(1)
    page.goto("/conversations/")
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_visible()
    expect(notes.filter(has_text="archived")).to_have_count(0)
    page.goto("/settings/usage/")
    from_menu("Talk 3", "Delete")
    page.locator("#row-delete").get_by_role("button", name="Delete").click()
    expect(page.locator("#sidebar-undo")).to_contain_text("“Talk 3” deleted.")
    page.goto("/conversations/")
    note = page.locator("main .undo-note:visible")
    expect(note).to_contain_text("“Talk 3” deleted.")
    page.locator(".record__list .conversation-row", has_text="Talk 1").get_by_role("checkbox").check()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(note).to_contain_text("“Talk 1” archived.")
    note.get_by_role("button", name="Close").click()
    expect(note).to_contain_text("“Talk 3” deleted.")
    note.get_by_role("button", name="Undo").click()
    expect(page.locator("#found")).to_contain_text("Talk 3")


def test_each_deletion_can_be_undone_until_the_time_it_says(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    note = page.locator("main .undo-note:visible")
    for title in ("Talk 4", "Talk 3", "Talk 2"):
        row(page, title).get_by_role("button", name=f"Actions for {title}").click()
        page.locator("#row-menu").get_by_role("button", name="Delete", exact=True).click()
        page.locator("#row-delete").get_by_role("button", name="Delete").click()
        expect(note).to_contain_text(f"“{title}” deleted.")
    note.get_by_role("button", name="Close").click()
    expect(note).to_contain_text("“Talk 3” deleted.")
    page.reload()
    expect(note).to_contain_text("“Talk 3” deleted.")
    note.get_by_role("button", name="Close").click()
    expect(note).to_contain_text("“Talk 4” deleted.")
    note.get_by_role("button", name="Undo").click()
    expect(row(page, "Talk 4")).to_be_visible()


def test_who_deletes_a_running_conversation_is_told_that_it_stops(site: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    site.model.answer = lambda request: Reply(text="Yes.", stall_after=0, gate=gate)
    page = visitors.enter(site)
    begin(page, "Long work")
    consequence = "The running turn is stopped."

    def open_menu() -> None:
        line = page.locator("#sidebar .conversation-row", has_text="Long work")
        line.hover()
        line.get_by_role("button", name="Actions").click()

    def expect_in_row(*, told: bool) -> None:
        page.locator("#row-menu").get_by_role("button", name="Delete").click()
        expect(page.locator("#row-delete").get_by_text(consequence)).to_be_visible(visible=told)
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")

    def expect_in_both(*, told: bool) -> None:
        page.get_by_role("button", name="Conversation menu").click()
        page.locator("#conversation-menu").get_by_role("button", name="Delete").click()
        expect(page.locator("#delete-dialog").get_by_text(consequence)).to_be_visible(visible=told)
        page.keyboard.press("Escape")
        open_menu()
        expect_in_row(told=told)

    expect_in_both(told=True)
    open_menu()
    gate.set()
    at_rest(page)
    expect(page.locator("#sidebar .conversation-row__active")).to_have_count(0)
    expect_in_row(told=False)
    expect_in_both(told=False)


@pytest.mark.parametrize("is_phone", [False, True])
def test_a_row_of_the_list_has_the_menu_of_the_sidebar(
    site: Site, visitors: Visitors, is_phone: bool
) -> None:
    page = visitors.enter(site, **(PHONE if is_phone else {}))
    page.goto("/conversations/")
    menu = page.locator("#row-menu")

    def choose(title: str, name: str) -> None:
        row(page, title).get_by_role("button", name=f"Actions for {title}").click()
        menu.get_by_role("button", name=name, exact=True).click()

    row(page, "Talk 3").get_by_role("button", name="Actions").click()
    menu.get_by_label("Tag", exact=True).fill("周报")
    menu.get_by_role("button", name="Add").click()
    expect(row(page, "Talk 3").get_by_role("link", name="周报")).to_be_visible()
    choose("Talk 3", "Remove 周报")
    expect(page.get_by_role("status").first).to_have_text("Tag “周报” removed from “Talk 3”.")
    expect(page.locator("main .tag")).to_have_count(0)
    choose("Talk 3", "Rename")
    page.keyboard.type("Better")
    page.keyboard.press("Enter")
    expect(row(page, "Better")).to_be_visible()
    choose("Better", "Archive")
    expect(row(page, "Better")).to_have_count(0)
    page.goto("/conversations/?archived=1")
    choose("Better", "Unarchive")
    expect(row(page, "Better")).to_have_count(0)
    page.goto("/conversations/")
    choose("Better", "Delete")
    page.locator("#row-delete").get_by_role("button", name="Delete").click()
    expect(row(page, "Better")).to_have_count(0)
    page.locator("main").get_by_role("button", name="Undo").click()
    expect(row(page, "Better")).to_be_visible()


def test_the_sidebar_shows_tags_and_its_menu_removes_them(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, **PHONE)
    page.goto("/conversations/")
    page.get_by_text("Select", exact=True).tap()
    row(page, "Talk 2").get_by_role("link", name="Talk 2").tap()
    press(page, "Tag…")
    page.get_by_role("dialog").get_by_label("Tag").fill("weekly")
    page.get_by_role("button", name="Add tag").tap()
    expect(page.get_by_role("status")).to_have_text("“Talk 2” tagged “weekly”.")
    page.goto("/")
    page.get_by_role("button", name="Conversations").tap()
    there = page.locator("#sidebar .conversation-row", has_text="Talk 2")
    expect(there).to_contain_text("weekly")
    there.get_by_role("button", name="Actions for Talk 2").tap()
    page.locator("#row-menu").get_by_role("button", name="Remove weekly").tap()
    expect(there).not_to_contain_text("weekly")
    there.get_by_role("button", name="Actions for Talk 2").tap()
    page.locator("#row-menu").get_by_role("button", name="Delete").tap()
    page.locator("#row-delete").get_by_role("button", name="Delete").tap()
    expect(there).to_have_count(0)
    page.locator("#sidebar-undo").get_by_role("button", name="Undo").tap()
    expect(there).to_be_visible()


def test_with_the_keyboard_alone(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    box(page, "Talk 4").focus()
    page.keyboard.press("Enter")  # does nothing
    page.keyboard.press("Space")
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(row(page, "Talk 4").get_by_role("button", name="Actions")).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("#row-menu").get_by_role("button", name="Pin", exact=True).press("Enter")
    expect(page.get_by_role("status").first).to_have_text("“Talk 4” pinned.")
    expect(page.locator("main h2").first).to_have_text("Pinned")
    page.locator("main").get_by_role("button", name="Undo").press("Enter")
    expect(page.locator("main h2")).to_have_count(0)


@pytest.mark.parametrize(
    ("name", "begins_at"),
    [("Tag…", "#bulk-word"), ("Export…", "[value=html]"), ("Delete…", "[command=close]")],
)
def test_what_is_asked_about_several_is_modal(
    site: Site, visitors: Visitors, name: str, begins_at: str
) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    box(page, "Talk 4").check()
    opener = page.get_by_role("group").get_by_role("button", name=name, exact=True)
    dialog = page.locator("#bulk dialog:modal")
    cancel = dialog.get_by_role("button", name="Cancel")
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.mouse.click(5, 5), cancel.click):
        opener.press("Enter")
        expect(dialog.locator(begins_at)).to_be_focused()
        for _ in range(6):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.matches('body, #bulk dialog:modal *')")
        close()
        expect(dialog).to_have_count(0)
        expect(opener).to_be_focused()
        expect(page.locator("#bulk-count")).to_have_text("1 selected")


def test_on_a_phone_several_are_exported_and_tagged(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, **PHONE)
    page.goto("/conversations/")
    page.get_by_text("Select", exact=True).tap()
    row(page, "Talk 4").get_by_role("link", name="Talk 4").tap()
    press(page, "Export…")
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name="Markdown").tap()
    assert download.value.suggested_filename.endswith(".zip")
    until(page, lambda: not page.evaluate("history.state?.cover"))
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
    press(page, "Tag…")
    page.get_by_role("dialog").get_by_label("Tag").fill("weekly")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("“Talk 4” tagged “weekly”.")


def test_the_keyboard_goes_on_at_the_way_back(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    undo = page.locator("main .undo-note:visible").get_by_role("button", name="Undo")
    said = page.locator("main > .messages")
    page.goto("/conversations/")
    page.goto(urlsplit(row(page, "Talk 4").locator("a").get_attribute("href") or "").path)
    post(site, page, f"{urlsplit(page.url).path}todos/", do="add", **{"text-new": "Look"})
    page.goto("/conversations/")
    for name in ("Archive", "Dismiss unfinished", "Tag…", "Actions for Talk 4"):
        if name.startswith("Actions"):
            row(page, "Talk 4").get_by_role("button", name=name).press("Enter")
            page.locator("#row-menu").get_by_role("button", name="Pin", exact=True).press("Enter")
        else:
            box(page, "Talk 4").press("Space")
            page.get_by_role("group").get_by_role("button", name=name, exact=True).press("Enter")
        if name == "Tag…":
            page.locator("#bulk-word").fill("weekly")
            page.keyboard.press("Enter")
        expect(undo).to_be_focused()
        page.keyboard.press("Enter")
        expect(said).to_be_focused()
        expect(said).to_have_role("status")
    box(page, "Talk 4").press("Space")
    page.get_by_role("group").get_by_role("button", name="Delete…").press("Enter")
    page.locator("#bulk-delete").get_by_role("button", name="Delete").press("Enter")
    expect(undo).to_be_focused()
    page.locator("#sidebar").get_by_role("link", name="Settings").press("Enter")
    expect(page.get_by_role("heading", name="Connections", exact=True)).to_be_focused()
    page.locator("#sidebar").get_by_role("link", name="All conversations").press("Enter")
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_focused()
    undo.press("Enter")
    expect(said).to_be_focused()


def test_on_a_phone_rows_are_chosen_in_a_mode(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, **PHONE)
    page.goto("/conversations/")
    expect(box(page, "Talk 4")).to_be_hidden()
    page.get_by_text("Select", exact=True).tap()
    row(page, "Talk 4").get_by_role("link", name="Talk 4").tap()
    row(page, "Talk 3").get_by_role("link", name="Talk 3").tap()
    expect(page.locator("#bulk-count")).to_have_text("2 selected")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.get_by_role("group").get_by_role("button", name="Unpin")).to_be_hidden()  # none is pinned
    expect(page.get_by_role("group").get_by_role("button", name="Delete")).to_be_in_viewport(ratio=1)
    press(page, "Delete…")
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alertdialog")).to_be_hidden()
    press(page, "Delete…")
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_contain_text("2 conversations deleted.")
    expect(page.locator("main")).not_to_contain_text("Talk 4")
    page.get_by_role("button", name="Undo").tap()
    expect(page.locator("main")).to_contain_text("Talk 4")
    row(page, "Talk 4").get_by_role("link", name="Talk 4").tap()
    expect(page.locator("h1")).to_have_text("Talk 4")


def test_a_tag_is_typed_in_view_above_a_phones_keyboard(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, **PHONE)
    page.goto("/conversations/")
    page.locator("#found .row-more").last.tap()
    field = page.locator("#row-menu [name=word]")
    field.tap()
    page.set_viewport_size({"width": 390, "height": 380})
    expect(field).to_be_in_viewport(ratio=1)
    assert field.evaluate(TOPMOST)
    field.press_sequentially("work")
    expect(page.locator("#row-menu").get_by_role("button", name="Add")).to_be_in_viewport(ratio=1)
    field.press("Enter")
    expect(page.locator("#found .conversation-row").last).to_contain_text("work")


def test_what_is_pressed_above_a_tablets_keyboard_stays_where_it_is(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, viewport={"width": 1180, "height": 820}, has_touch=True, is_mobile=True)
    page.goto("/board/")
    menu = page.locator("#row-menu")
    field = menu.get_by_label("Tag", exact=True)
    page.locator("#sidebar .row-more").last.tap()
    field.tap()
    page.set_viewport_size({"width": 1180, "height": 440})
    field.press_sequentially("work")
    assert (menu.bounding_box() or {})["x"] < 280, "beside its row"
    menu.get_by_role("button", name="Add").tap()
    expect(page.locator("#sidebar-undo")).to_contain_text("tagged “work”")


def test_a_tag_that_was_not_added_is_not_offered_to_another(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/board/")
    field = page.locator("#row-menu").get_by_label("Tag", exact=True)
    for title, typed in (("Talk 1", ""), ("Talk 1", "work"), ("Talk 2", "")):
        row = page.locator("#sidebar .conversation-row", has_text=title)
        row.hover()
        row.locator(".row-more").click()
        expect(field).to_have_value(typed)
        field.fill("work")
        page.keyboard.press("Escape")
        expect(field).to_be_hidden()


def test_a_menu_stays_with_its_button_as_a_phone_is_turned(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, **PHONE)
    page.goto("/conversations/")
    page.locator("#found .row-more").last.tap()
    rename = page.locator("#row-menu").get_by_role("button", name="Rename")
    expect(rename).to_be_in_viewport()
    page.set_viewport_size({"width": 844, "height": 390})
    expect(rename).to_be_in_viewport()
    assert rename.evaluate(TOPMOST)


def test_a_row_of_the_sidebar_is_renamed_in_view_above_a_phones_keyboard(
    site: Site, visitors: Visitors
) -> None:
    page = visitors.enter(site, **PHONE)
    page.goto("/board/")
    page.locator(".bar__menu").tap()
    page.locator("#sidebar .row-more").last.tap()
    page.locator("#row-menu").get_by_role("button", name="Rename").tap()
    field = page.locator("#sidebar .rename")
    expect(field).to_be_focused()
    page.set_viewport_size({"width": 390, "height": 380})
    expect(field).to_be_in_viewport(ratio=1)
    assert field.evaluate(TOPMOST)
    page.keyboard.insert_text("A better name")
    assert field.evaluate(TOPMOST)
    page.keyboard.press("Enter")
    expect(page.locator("#sidebar")).to_contain_text("A better name")


def test_the_menu_goes_from_one_row_to_another(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site)
    page.goto("/settings/usage/")
    menu = page.locator("#row-menu")

    def press(title: str) -> None:
        row = page.locator("#sidebar .conversation-row", has_text=title)
        row.hover()
        row.get_by_role("button", name=f"Actions for {title}").click()

    press("Talk 2")
    expect(menu).to_be_visible()
    press("Talk 4")
    expect(menu).to_be_visible()
    menu.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator("#sidebar .conversation-row").first).to_contain_text("Talk 4")
    expect(page.locator("#sidebar-undo")).to_contain_text("pinned")
    press("Talk 4")
    expect(menu).to_be_visible()
    press("Talk 4")
    expect(menu).to_be_hidden()


@pytest.mark.parametrize("way", ["a message", "Unarchive"])
def test_what_is_brought_back_is_not_offered_to_be_undone(site: Site, visitors: Visitors, way: str) -> None:
    page = visitors.enter(site)
    page.goto("/conversations/")
    page.locator(".record__list").get_by_role("link", name="Talk 3").click()
    expect(page.locator("h1")).to_have_text("Talk 3")
    at_rest(page)
    row = page.locator("#sidebar .conversation-row", has_text="Talk 3")
    row.hover()
    row.get_by_role("button", name="Actions for Talk 3").click()
    page.locator("#row-menu").get_by_role("button", name="Archive", exact=True).click()
    expect(page.locator("#sidebar-undo")).to_contain_text("“Talk 3” archived.")
    if way == "a message":
        send(page, "Hello again")
    else:
        page.locator("#archived").get_by_role("button", name=way).click()
    expect(row).to_be_visible()
    expect(page.locator("#sidebar-undo")).to_be_empty()


def test_without_script(site: Site, visitors: Visitors) -> None:
    page = visitors.enter(site, java_script_enabled=False)
    page.goto("/conversations/")
    box(page, "Talk 4").check()
    press(page, "Archive")
    expect(page.get_by_role("status")).to_have_text("“Talk 4” archived.")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "Talk 4")).to_be_visible()
    row(page, "Talk 4").get_by_role("link", name="Talk 4").click()
    page.get_by_role("button", name=re.compile("Conversation menu")).click()
    page.locator("#conversation-menu").get_by_role("combobox", name="Tag").fill("周报")
    page.locator("#conversation-menu").get_by_role("button", name="Add").click()
    page.get_by_role("button", name=re.compile("Conversation menu")).click()
    page.get_by_role("button", name="Remove 周报").click()
    expect(page.get_by_role("button", name="Remove 周报")).to_have_count(0)


def test_files_that_are_too_large_to_import_are_not_sent(
    site: Site, visitors: Visitors, tmp_path: Path
) -> None:
    visitors.expected += ["400 (Bad Request)"]
    page = visitors.enter(site)
    page.goto("/conversations/import/")
    field = page.locator("[type=file]")
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(26 * 2**20)
    field.set_input_files(large)
    page.get_by_role("button", name="Import").click()
    said = "field => field.validationMessage"
    assert field.evaluate(said) == "These files are too large. You can import up to 25.0\xa0MB at once."
    expect(page).to_have_url(re.compile("/conversations/import/$"))
    page.goto("/settings/profiles/")
    page.locator("[type=file]").set_input_files(large)
    assert page.locator("[type=file]").evaluate(said) == "This file is too large for a profile."
    page.goto("/conversations/import/")
    small = tmp_path / "small.json"
    small.write_text("[]")
    field.set_input_files(small)
    assert not field.evaluate(said)
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".field__error")).to_contain_text("Agentsite did not export this file")
