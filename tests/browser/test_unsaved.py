"""What was typed and not saved is not lost without a question."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, turns, until


def questions_of(page: Page) -> list[str]:
    """The kinds of dialogs that the browser shows from now on; the visitor then stays on the page."""
    kinds: list[str] = []
    page.on("dialog", lambda dialog: kinds.append(dialog.type))
    return kinds


def change(page: Page) -> None:
    page.get_by_label("Time zone").select_option("Europe/Paris")


def test_a_changed_form_asks_before_it_is_left(scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("dialog: ")
    page = visitors.enter(scripted)
    asked = questions_of(page)
    page.goto("/settings/preferences/")
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    page.go_back()
    change(page)
    page.get_by_role("link", name="Board").click()
    until(page, lambda: asked == ["confirm"])
    page.evaluate("location.href = '/healthz'")
    until(page, lambda: asked == ["confirm", "beforeunload"])
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Paris")
    page.evaluate("window.confirm = () => true")
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    page.get_by_role("link", name="Settings").click()
    expect(page.locator("h1")).to_have_text("Connections")
    assert len(asked) == 2


def test_what_was_taken_back_asks_nothing(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    asked = questions_of(page)
    page.goto("/settings/preferences/")
    zone, notify = page.get_by_label("Time zone"), page.get_by_role("checkbox").first
    before = zone.input_value()
    change(page)
    zone.select_option(before)
    notify.click()
    notify.click()
    page.get_by_role("link", name="Profiles").click()
    page.get_by_role("link", name="Add a profile").click()
    page.get_by_label("Name", exact=True).fill("Reviewer")
    page.get_by_label("Name", exact=True).fill("")
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    assert asked == []


def test_saving_and_cancelling_ask_nothing(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    asked = questions_of(page)
    page.goto("/settings/preferences/")
    change(page)
    page.locator("#preferences button[type=submit]").click()
    expect(page.locator(".messages")).to_have_text("Preferences saved.")
    page.get_by_role("link", name="Profiles").click()
    page.get_by_role("link", name="Add a profile").click()
    page.get_by_label("Name", exact=True).fill("Reviewer")
    page.get_by_role("link", name="Cancel").click()
    expect(page.locator("h1")).to_have_text("Profiles")
    assert asked == []


def test_escape_keeps_an_edited_message(scripted: Site, visitors: Visitors) -> None:
    scripted.model.answer = lambda request: Reply("Answer.")
    page = visitors.enter(scripted)
    asked = questions_of(page)
    begin(page, "One")
    at_rest(page)
    dialog = page.get_by_role("dialog")

    def edit() -> None:
        turns(page).first.hover()
        turns(page).first.get_by_role("link", name="Edit").click()

    edit()
    dialog.get_by_label("Message").fill("One, edited")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    edit()
    expect(dialog.get_by_label("Message")).to_have_value("One, edited")
    dialog.get_by_role("link", name="Cancel").click()
    edit()
    expect(dialog.get_by_label("Message")).to_have_value("One")
    dialog.get_by_label("Message").fill("One, edited again")
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog).to_be_hidden()
    at_rest(page)
    expect(turns(page).first).to_contain_text("One, edited again")
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    assert asked == []


def test_an_edited_message_outlives_a_look_at_another_page(scripted: Site, visitors: Visitors) -> None:
    scripted.model.answer = lambda request: Reply("Answer.")
    page = visitors.enter(scripted)
    address = begin(page, "One")
    at_rest(page)
    message = page.get_by_role("dialog").get_by_label("Message")

    def edit() -> None:
        turns(page).first.hover()
        turns(page).first.get_by_role("link", name="Edit").click()

    edit()
    message.fill("One, edited")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    page.go_back()
    at_rest(page)
    edit()
    expect(message).to_have_value("One, edited")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_count(0)
    page.keyboard.press("Escape")
    page.goto("/")
    page.goto(address)
    edit()
    expect(message).to_have_value("One, edited")
    page.get_by_role("dialog").get_by_role("link", name="Cancel").click()
    page.reload()
    edit()
    expect(message).to_have_value("One")


def test_a_form_that_is_saved_after_the_session_has_ended_comes_back(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    page.goto("/settings/connections/add/")
    session = page.context.cookies()
    page.get_by_label("Address", exact=True).fill("https://models.example/v1")
    page.get_by_label("Key", exact=True).fill("sk-secret")
    page.get_by_label("For everyone").check()
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Save and test").click()
    page.wait_for_url("**/accounts/login/?next=**")
    assert "sk-secret" not in str(page.evaluate("Object.values(sessionStorage)"))
    page.context.add_cookies(session)  # type: ignore[arg-type]
    page.reload()
    expect(page.get_by_label("Address", exact=True)).to_have_value("https://models.example/v1")
    expect(page.get_by_label("For everyone")).to_be_checked()
    expect(page.get_by_role("alert")).to_contain_text("this is not saved yet")
