"""From a site that knows only its demo to a real model: connect, test, choose, chat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from chat.demo.reply import Call, Reply, Request
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn, until
from tests.model_server import ScriptedModel
from tests.serving import serving

NUMBERS = "one, two, three, four, five, six, seven, eight, nine, ten"
KEY = "sk-c4n4ry-0123456789"


def obliging(request: Request) -> Reply:
    """Does what a test asks of it, and else says where it is from."""
    if "greet" in str(request.tools):
        return Reply(tool_calls=[Call("greet", {"name": "Ada"})])
    return Reply(text=NUMBERS if "Count" in str(request.body["messages"][-1]) else "I am the scripted one.")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(answer=obliging) as model:
        yield model


@pytest.fixture
def fresh(browser: Browser) -> Iterator[Site]:
    """A site of this test's own, on which nothing is connected yet."""
    with serving(LOCAL_SERVERS="off") as served:
        yield Site(served, browser)


@pytest.fixture
def beside(browser: Browser, model: ScriptedModel) -> Iterator[Site]:
    """A site that is started where a model server listens."""
    with serving(LOCAL_SERVERS=urlsplit(model.base_url).netloc) as served:
        yield Site(served, browser)


def fill_in(page: Page, model: ScriptedModel) -> None:
    """Open the form from the first page's sidebar, and fill it."""
    page.goto("/")
    page.click("#sidebar >> text=Settings")
    page.click("text=Add a connection")
    page.fill("[name=base_url]", model.base_url)
    page.fill("[name=key]", KEY)
    page.check("[name=inside]")


def outcomes(page: Page) -> list[str]:
    shown = page.locator(".trial__outcome").evaluate_all("all => all.map(each => each.dataset.state)")
    return [str(state) for state in shown]


def test_connect_test_choose_chat(fresh: Site, visitors: Visitors, model: ScriptedModel) -> None:
    page = visitors.enter(fresh)
    fill_in(page, model)
    page.click("main button[type=submit]")
    expect(page.locator("[data-trial]")).to_be_visible(timeout=60_000)
    assert outcomes(page) == ["well", "note", "well", "well", "well"]
    page.click("text=Start a conversation")
    page.wait_for_url(re.compile(r"/$"))
    expect(page.locator(".messages")).to_contain_text("demo is now your default profile.")
    expect(page.locator(".profile-choice__title")).to_have_text("demo")
    begin(page, "Who are you?")
    at_rest(page)
    expect(last_turn(page, "completed")).to_contain_text("I am the scripted one.")
    expect(page.locator(".demo-label")).to_have_count(0)
    assert {request["model"] for request in model.requests} == {"demo"}
    assert KEY not in fresh.served.written()


def connect(page: Page, model: ScriptedModel) -> None:
    fill_in(page, model)
    page.click("main button[type=submit]")
    expect(page.locator("[data-trial]")).to_be_visible(timeout=60_000)


def test_a_model_is_connected_for_everyone(fresh: Site, visitors: Visitors, model: ScriptedModel) -> None:
    page = visitors.enter(fresh)
    connect(page, model)
    expect(page.get_by_label("Use it for everyone")).to_have_accessible_description(re.compile("Focused"))
    page.get_by_label("Use it for everyone").check()
    page.click("text=Start a conversation")
    expect(page.locator(".messages")).to_contain_text("used for everyone, in these profiles: Focused")
    expect(page.locator(".profile-choice__title")).to_have_text("Focused")
    page.goto("/settings/users/add/")
    page.get_by_label("Name").fill("ada")
    page.get_by_role("button", name="Add and get a sign-in link").click()
    theirs = visitors.enter(fresh, signed_in=False)
    theirs.goto(page.get_by_label("Sign-in link").input_value())
    theirs.get_by_role("button", name="Sign in as ada").click()
    theirs.get_by_role("button", name="Not now").click()
    expect(theirs.locator(".demo-label")).to_have_count(0)
    begin(theirs, "Who are you?")
    at_rest(theirs)
    expect(last_turn(theirs, "completed")).to_contain_text("I am the scripted one.")


def test_a_connection_is_deleted_while_a_conversation_uses_it(
    fresh: Site, visitors: Visitors, model: ScriptedModel
) -> None:
    """Nothing goes to another provider unasked, and what was typed stays."""
    settings = visitors.enter(fresh)
    connect(settings, model)
    page = visitors.enter(fresh)
    begin(page, "Which fruit?")
    at_rest(page)
    page.click("#model-choice")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.get_by_role("group", name=urlsplit(model.base_url).netloc).get_by_role("option").click()
    button = page.locator("#model-choice")
    settings.goto("/settings/connections/")
    settings.get_by_role("link", name="Edit").click()
    settings.get_by_role("button", name="Delete").click()
    question = settings.get_by_role("alertdialog")
    expect(question).to_have_accessible_description(re.compile("1 conversation uses it .*: “Which fruit\\?”"))
    question.get_by_role("button", name="Delete").click()
    expect(button).to_have_attribute("title", "This model is no longer available. Choose another one.")
    visitors.expected.append("status of 400 (Bad Request)")
    page.fill("#composer-text", "And which colour?")
    page.press("#composer-text", "Enter")
    expect(
        page.locator("#conversation [role=alert]", has_text="The chosen model demo is no longer available.")
    ).to_be_visible()
    expect(page.locator("#composer-text")).to_have_value("And which colour?")
    expect(page.locator("article.turn")).to_have_count(1)
    page.click("#model-choice")
    page.locator("#model-menu [role=option]", has_text="Profile's model").click()
    page.press("#composer-text", "Enter")
    at_rest(page)
    expect(page.locator("article.turn")).to_have_count(2)


def test_a_form_that_is_refused_keeps_the_key(fresh: Site, visitors: Visitors, model: ScriptedModel) -> None:
    visitors.expected.append("status of 400 (Bad Request)")
    page = visitors.enter(fresh)
    fill_in(page, model)
    page.fill("[name=base_url]", "ftp://nowhere")
    page.click("main button[type=submit]")
    expect(page.locator(".field__error")).to_be_visible()
    expect(page.locator("[name=key]")).to_have_value(KEY)
    assert KEY not in page.content()


def test_the_steps_come_one_by_one(fresh: Site, visitors: Visitors, model: ScriptedModel) -> None:
    held = Reply(text=NUMBERS, stall_after=0)
    model.answer = lambda request: held
    page = visitors.enter(fresh)
    fill_in(page, model)
    page.click("main button[type=submit]", no_wait_after=True)
    expect(page.locator(".trial__step")).to_have_count(4)
    assert outcomes(page) == ["well", "note", "well"]
    model.wait_for_requests()
    page.goto("/", wait_until="commit")  # whoever leaves ends the test
    model.wait_for_disconnects()


def test_without_script(fresh: Site, visitors: Visitors, model: ScriptedModel) -> None:
    page = visitors.enter(fresh, java_script_enabled=False)
    fill_in(page, model)
    page.click("main button[type=submit]")
    page.click("main button:has-text('Test')")
    expect(page.locator("[data-trial]")).to_be_visible(timeout=60_000)
    assert outcomes(page)[-2:] == ["well", "well"]
    page.click("text=Start a conversation")
    page.fill("#composer-text", "Who are you?")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")

    def answered() -> bool:
        page.reload()
        return "I am the scripted one." in page.content()

    until(page, answered)


def test_a_server_on_this_machine_is_offered_from_the_start(
    beside: Site, visitors: Visitors, model: ScriptedModel
) -> None:
    page = visitors.enter(beside)

    def offered() -> bool:
        page.goto("/")
        return page.locator(".local-server").count() == 1

    until(page, offered)
    expect(page.locator(".local-server")).to_contain_text(f"found at {urlsplit(model.base_url).netloc}.")
    page.click("text=Use it")
    expect(page.locator(".local-server")).to_have_count(0)
    assert not urlsplit(page.url).fragment
    begin(page, "Who are you?")
    at_rest(page)
    expect(last_turn(page, "completed")).to_contain_text("I am the scripted one.")
