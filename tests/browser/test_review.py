"""Coming back later: the list of conversations, a past one with its final plan, its title, its end."""

from __future__ import annotations

import re

from playwright.sync_api import Route, WebSocket, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, is_folded, is_open, panel, todo, turns


def test_the_list_leads_to_a_past_conversation(scripted: Site, visitors: Visitors) -> None:
    three = todo("completed", "completed", "pending")
    scripted.model.script(three, Reply(text="Two of them are done."), Reply(text="Hello."))
    page = visitors.enter(scripted)
    address = begin(page, "Do three things\nand do them well")
    at_rest(page)
    begin(page, "hello")
    at_rest(page)

    page.goto("/conversations/")
    rows = page.locator("main .conversation-row")
    expect(rows.nth(0).locator(".conversation-row__title")).to_have_text("hello")
    expect(rows.nth(0).locator("progress")).to_have_count(0)
    row = rows.nth(1)
    expect(row).to_contain_text("2/3")
    expect(row.locator("progress")).to_be_visible()
    expect(row.locator("time")).to_have_attribute("datetime", re.compile(r"^20\d\d-"))
    row.get_by_role("link", name="Do three things").click()

    expect(page).to_have_url(address)
    at_rest(page)
    expect(page.locator("#transcript")).to_contain_text("Two of them are done.")
    is_folded(page)
    expect(page.locator("#todo-panel .todo").last).to_be_hidden()
    panel(page).locator("summary").click()
    is_open(page)
    expect(page.locator("#todo-panel .todo").last).to_have_text(re.compile("Item 3"))


def test_rename(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."))
    page = visitors.enter(scripted)
    address = begin(page, "hello")
    at_rest(page)
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("button", name="Rename", exact=True).click()
    page.locator(".rename").fill("A <b>better</b> name")
    page.locator(".rename").press("Enter")
    expect(page.locator("h1")).to_have_text("A <b>better</b> name")
    expect(page).to_have_title("A <b>better</b> name")
    expect(page).to_have_url(address)
    page.goto("/conversations/")
    expect(page.locator("main .conversation-row__title").first).to_have_text("A <b>better</b> name")


def test_delete_asks_first(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."))
    page = visitors.enter(scripted)
    address = begin(page, "To be deleted")
    at_rest(page)
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog).to_contain_text("undo this for 10 minutes")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    page.reload()
    expect(page.locator("#transcript")).to_contain_text("Hello.")

    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{scripted.served.address}/conversations/")
    expect(page.locator("#found")).not_to_contain_text("To be deleted")
    expect(page.get_by_role("status")).to_contain_text("“To be deleted” deleted.")
    visitors.expected.append("status of 404 (Not Found)")
    answer = page.goto(address)
    assert answer is not None
    assert answer.status == 404


def test_the_delete_question_is_modal(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."))
    page = visitors.enter(scripted)
    begin(page, "Stays")
    at_rest(page)
    opener = page.get_by_role("button", name="Conversation menu")
    menu = page.locator("#conversation-menu")
    dialog = page.locator("#delete-dialog")
    cancel = dialog.get_by_role("button", name="Cancel")
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.mouse.click(5, 5), cancel.click):
        opener.click()
        menu.get_by_role("button", name="Delete").click()
        expect(page.locator("#delete-dialog:modal")).to_be_visible()
        expect(menu).to_be_hidden()
        expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        page.keyboard.press("Tab")
        expect(dialog.get_by_role("button", name="Delete")).to_be_focused()
        for _ in range(4):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.matches('body, #delete-dialog *')")
        page.keyboard.type("x/")
        page.keyboard.press("Control+k")
        expect(dialog).to_be_visible()
        close()
        expect(dialog).to_be_hidden()
        expect(opener).to_be_focused()
        expect(menu).to_be_hidden()
    expect(page.locator("#composer-text")).to_have_value("")


def test_delete_ends_what_runs(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="I go on", stall_after=2))
    before = scripted.model.disconnects
    page = visitors.enter(scripted)
    begin(page, "Go on")
    expect(page.locator("#transcript")).to_contain_text("I go on")
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{scripted.served.address}/conversations/")
    scripted.model.wait_for_disconnects(before + 1)


def test_delete_leads_to_the_list_though_the_socket_ends_first(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Hello."))
    page = visitors.enter(scripted)
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    address = begin(page, "hello")
    at_rest(page)

    def answer_late(route: Route) -> None:
        answer = route.fetch(max_redirects=0)
        while not sockets[-1].is_closed():
            sockets[-1].wait_for_event("close")
        route.fulfill(response=answer)

    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    page.route("**/delete/", answer_late)
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Conversations")).to_be_visible()
    assert f"GET {address}" not in asked


def test_thirty_a_page(scripted: Site, visitors: Visitors) -> None:
    scripted.model.answer = lambda request: Reply(text="Yes.")
    page = visitors.enter(scripted)
    page.goto("/")
    token = page.locator("#composer [name='csrfmiddlewaretoken']").input_value()
    for number in range(31):
        form: dict[str, str | float | bool] = {"text": f"Talk {number}", "csrfmiddlewaretoken": token}
        headers = {"Referer": f"{scripted.served.address}/", "Origin": scripted.served.address}
        assert page.request.post("/", form=form, headers=headers, max_redirects=0).status == 302
    page.goto("/conversations/")
    rows = page.locator("main .conversation-row")
    expect(rows).to_have_count(30)
    expect(rows.first).to_contain_text("Talk 30")
    expect(page.get_by_role("link", name="Newer")).to_have_count(0)
    page.get_by_role("link", name="Older", exact=True).click()
    expect(page).to_have_url(f"{scripted.served.address}/conversations/?page=2")
    expect(rows.first).to_contain_text("Talk 0")
    page.get_by_role("link", name="Newer").click()
    expect(rows.first).to_contain_text("Talk 30")
    # All share one worker: the next test's turn must not wait behind these.
    rows.first.get_by_role("link").click()
    at_rest(page)
    expect(turns(page).last).to_have_attribute("data-status", "completed")
