"""A profile from its making to its record: set up, chosen, changed between turns, looked at, exported."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import TOPMOST, at_rest, begin, choose_profile, last_turn, record, send, turns, until


@pytest.fixture(autouse=True)
def put_back(scripted: Site, visitors: Visitors) -> Iterator[None]:
    """Take away what was made here: others begin with what is usual."""
    yield
    page = visitors.enter(scripted, java_script_enabled=False)
    page.goto("/settings/profiles/")
    while (own := page.get_by_role("link", name=re.compile("^Reviewer"))).count():
        own.first.click()
        page.get_by_role("button", name="Delete").first.click()
        page.locator("#delete-dialog").get_by_role("button", name="Delete").click()
        page.wait_for_url("**/settings/profiles/")


def make(page: Page, **filled: str) -> None:
    """Fill in the form of a new profile, and save it."""
    page.goto("/settings/profiles/add/")
    page.get_by_label("Name", exact=True).fill("Reviewer")
    page.get_by_label("Agent's name").fill("Ada")
    page.locator(".swatch[data-colour=violet]").click()
    page.get_by_label("Instructions").fill("Be brief.")
    page.get_by_label("Model", exact=True).fill(filled.get("model", ""))
    page.get_by_text("Sampling").click()
    page.get_by_label("Temperature").fill(filled.get("temperature", "0.2"))
    page.get_by_label("Shell commands (bash)").select_option("ask")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages")).to_contain_text("“Reviewer” saved.")


def test_a_refused_number_is_in_view(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    page.goto("/settings/profiles/add/")
    page.get_by_label("Name", exact=True).fill("Too hot")
    fold = page.locator("summary", has_text="Sampling")
    fold.click()
    temperature = page.get_by_label("Temperature")
    temperature.fill("99")
    fold.click()
    expect(temperature).to_be_hidden()
    page.get_by_role("button", name="Save").click()
    expect(temperature).to_be_visible()
    expect(temperature).to_be_focused()


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_a_form_left_open_undoes_nothing(
    scripted: Site, visitors: Visitors, java_script_enabled: bool
) -> None:
    make(visitors.enter(scripted))
    page, other = (visitors.enter(scripted, java_script_enabled=java_script_enabled) for _tab in "ab")
    visitors.expected.append("400 (Bad Request)")
    for tab in (page, other):
        tab.goto("/settings/profiles/")
        tab.get_by_role("link", name="Reviewer").first.click()
        expect(tab.get_by_label("Name", exact=True)).to_have_value("Reviewer")
    page.get_by_label("Shell commands (bash)").select_option("never")
    page.get_by_label("Instructions").fill("Be brief.\nBe kind.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages")).to_contain_text("“Reviewer” saved.")
    other.locator(".swatch[data-colour=teal]").click()
    other.get_by_label("Agent's name").fill("Eve")
    other.get_by_role("button", name="Save").click()
    changed = "was changed elsewhere while the form was open: Instructions, Shell commands (bash)."
    expect(other.get_by_role("alert").last).to_contain_text(changed)
    for _saved in range(2):
        expect(other.get_by_label("Instructions")).to_have_value("Be brief.\nBe kind.")
        expect(other.get_by_label("Shell commands (bash)")).to_have_value("never")
        expect(other.get_by_label("Agent's name")).to_have_value("Eve")
        expect(other.locator(".swatch[data-colour=teal] input")).to_be_checked()
        other.get_by_role("button", name="Save").click()
        expect(other.locator(".messages")).to_contain_text("“Reviewer” saved.")
        other.get_by_role("link", name="Reviewer").first.click()


def test_a_form_that_is_saved_after_the_session_has_ended_undoes_nothing(
    scripted: Site, visitors: Visitors
) -> None:
    visitors.expected.append("400 (Bad Request)")
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    make(other)
    for tab in (page, other):
        tab.goto("/settings/profiles/")
        tab.get_by_role("link", name="Reviewer").first.click()
    session = page.context.cookies()
    page.get_by_label("Agent's name").fill("Eve")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/accounts/login/?next=**")
    other.get_by_label("Shell commands (bash)").select_option("never")
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".messages")).to_contain_text("“Reviewer” saved.")
    page.context.add_cookies(session)  # type: ignore[arg-type]
    page.reload()
    expect(page.get_by_label("Agent's name")).to_have_value("Eve")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").last).to_contain_text("while the form was open: Shell commands (bash).")
    expect(page.get_by_label("Shell commands (bash)")).to_have_value("never")
    expect(page.get_by_label("Agent's name")).to_have_value("Eve")


def test_the_start_page_names_the_model_of_the_profile(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    make(page, model="large")
    page.goto("/")
    name = page.locator(".model-choice__name")
    usual, first = name.inner_text(), page.locator(".profile-choice__title").inner_text()
    choose_profile(page, "Reviewer")
    expect(name).to_have_text("large")
    choose_profile(page, first)
    expect(name).to_have_text(usual)


def test_a_message_waits_for_the_choice_of_its_profile(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="One."), Reply(text="Two."))
    page = visitors.enter(scripted)
    make(page, model="large")
    begin(page, "hello")
    at_rest(page)
    held: list[Route] = []
    page.route("**/profile/", lambda route: held.append(route))
    page.get_by_role("button", name="Profile for the next turn").click()
    page.locator(".profile-menu__choice", has_text="Reviewer").click()
    until(page, lambda: held)
    page.fill("#composer-text", "and now")
    page.press("#composer-text", "Enter")
    page.press("#composer-text", "Enter")
    expect(page.locator("#composer-text")).to_have_value("and now")
    held[0].continue_()
    expect(turns(page)).to_have_count(2)
    expect(last_turn(page, "completed")).to_contain_text("Two.")
    assert scripted.model.requests[-1]["model"] == "large"


def test_the_way_through(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="One."), Reply(text="Two."))
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    make(page)
    address = begin(page, "hello")
    at_rest(page)
    other.goto(address)
    at_rest(other)

    choose_profile(page, "Reviewer")
    expect(page.locator("#profile-menu")).to_be_hidden()
    expect(page.locator("#composer-text")).to_be_focused()
    expect(other.locator(".profile-choice__title")).to_have_text("Reviewer")

    send(page, "and now")
    at_rest(page)
    asked = scripted.model.requests[-1]
    assert asked["temperature"] == 0.2
    assert "Be brief." in asked["messages"][0]["content"]
    expect(turns(page).last.locator(".who > span").last).to_have_text("Ada")
    expect(turns(page).last.locator(".profile-change")).to_contain_text("Switched to Reviewer")
    turns(page).last.locator(".who").click()
    then = turns(page).last.locator(".profile-snapshot")
    expect(then).to_be_visible()
    expect(then).to_contain_text("Be brief.")
    expect(then).to_contain_text("bash: ask")
    page.keyboard.press("Escape")
    expect(then).to_be_hidden()

    live = record(page)
    expect(turns(other)).to_have_count(2)
    page.reload()
    at_rest(page)
    assert record(page) == live


def test_a_model_is_chosen_apart_from_the_profile(scripted: Site, visitors: Visitors) -> None:
    """With the first message and for later ones, found by typing, kept with the conversation."""
    scripted.model.script(Reply(text="One."), Reply(text="Two."))
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    make(page, model="reviewers-own")
    page.goto("/")
    page.get_by_role("button", name="Model for the next turn").click()
    options = page.locator("#model-menu [role=option]:not([hidden])")
    expect(options.first).to_contain_text("Profile's model")
    expect(options.filter(has_text="demo")).to_have_count(1)  # the endpoint's own list
    page.keyboard.type("own")
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#model-menu")).to_be_hidden()
    expect(page.locator(".model-choice__name")).to_have_text("reviewers-own")
    page.fill("#composer-text", "hello")
    page.press("#composer-text", "Enter")
    page.wait_for_url("**/conversations/*/")
    at_rest(page)
    expect(turns(page).last.locator(".who__model").first).to_have_text("reviewers-own")
    assert scripted.model.requests[-1]["model"] == "reviewers-own"
    other.goto(page.url)
    at_rest(other)
    page.get_by_role("button", name="Model for the next turn").click()
    options.filter(has_text="Profile's model").click()
    expect(other.locator(".model-choice__name")).to_have_text("scripted")
    expect(page.locator("#composer-text")).to_be_focused()
    send(page, "and now")
    at_rest(page)
    assert scripted.model.requests[-1]["model"] == "scripted"
    expect(turns(page).last.locator(".profile-change")).to_contain_text("Model switched to scripted")
    expect(turns(page).last.locator(".who__model")).to_have_count(0)


def test_what_is_typed_outlives_what_is_wrong(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    make(page)
    page.goto("/settings/profiles/add/")
    visitors.expected.append("status of 400 (Bad Request)")
    page.get_by_label("Name", exact=True).fill("Reviewer two")
    page.get_by_label("Instructions").fill("Kept.")
    page.get_by_text("Individual tools", exact=True).click()
    page.get_by_label("Individual tools of MCP servers").fill("files__list")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved yet")
    expect(page.get_by_text("A line has no =.")).to_be_visible()
    expect(page.get_by_label("Instructions")).to_have_value("Kept.")
    page.get_by_label("Individual tools of MCP servers").fill("files__list = run")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages")).to_contain_text("“Reviewer two” saved.")


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_a_copy_is_there_once_it_is_saved(
    scripted: Site, visitors: Visitors, java_script_enabled: bool
) -> None:
    make(visitors.enter(scripted), model="large")
    page = visitors.enter(scripted, java_script_enabled=java_script_enabled)
    page.goto("/settings/profiles/")
    rows = page.locator(".profile-row__title")
    expect(rows.filter(has_text="Reviewer")).to_have_text(["Reviewer"])
    for press, titles in (
        ("Cancel", ["Reviewer"]),
        ("Save", ["Reviewer", "Reviewer (copy)"]),
        ("Save", ["Reviewer", "Reviewer (copy)", "Reviewer (copy 2)"]),
    ):
        page.get_by_role("link", name="Duplicate Reviewer", exact=True).click()
        expect(page.get_by_label("Instructions")).to_have_value("Be brief.")
        expect(page.get_by_label("Temperature")).to_have_value("0.2")
        expect(page.locator(".swatch[data-colour=violet] input")).to_be_checked()
        page.locator("main form").get_by_text(press, exact=True).click()
        expect(rows.filter(has_text="Reviewer")).to_have_text(titles)


def test_all_of_it_without_a_script(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="One."), Reply(text="Two."))
    page = visitors.enter(scripted, java_script_enabled=False)
    make(page)
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("Export.*Reviewer")).click()
    page.get_by_label("File", exact=True).set_input_files(download.value.path())
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_label("Agent's name")).to_have_value("Ada")
    expect(page.locator(".messages")).to_contain_text("Reviewer (copy) imported.")

    page.goto("/")
    page.fill("#composer-text", "hello")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    page.get_by_role("button", name="Profile for the next turn").click()
    with page.expect_navigation():
        page.locator(".profile-menu__choice", has_text="Reviewer").first.click()
    expect(page.locator(".profile-choice__title")).to_have_text("Reviewer")


def test_the_models_of_the_chosen_connection_are_suggested(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    asked: list[str] = []
    page.route(
        "**/connections/models/*",
        lambda route: (
            asked.append(route.request.url),
            route.fulfill(content_type="text/html", body='<option value="large">'),
        ),
    )
    page.goto("/settings/profiles/add/")
    page.wait_for_selector("#models[data-htmx-powered]", state="attached")
    assert not asked
    page.get_by_label("Model", exact=True).focus()
    expect(page.locator("#models option")).to_have_attribute("value", "large")
    page.get_by_label("Connection", exact=True).dispatch_event("change")
    until(page, lambda: len(asked) == 2)
    assert asked[0].endswith("/models/?connection=")


def test_a_field_that_the_browser_asks_for_has_its_label_in_view(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 390, "height": 600})
    page.goto("/settings/profiles/add/")
    page.locator("main form").get_by_role("button", name="Save").click()
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    until(page, lambda: page.locator(f"label[for={name.get_attribute('id')}]").evaluate(TOPMOST))
