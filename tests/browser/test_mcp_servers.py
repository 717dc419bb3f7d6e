"""A superuser adds an MCP server, reads and accepts its tools; the agent calls one."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from chat.demo.reply import Call, Reply, Request
from tests.agent.mcp.conftest import SOURCE
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn
from tests.model_server import ScriptedModel
from tests.serving import serving

PROGRAM = (
    f"python3\n-c\nimport base64; exec(base64.b64decode('{base64.b64encode(SOURCE.encode()).decode()}'))"
)


def calls_the_tool(request: Request) -> Reply:
    if request.body["messages"][-1]["role"] == "tool":
        return Reply(text=f"It said: {request.body['messages'][-1]['content']}")
    return Reply(tool_calls=[Call("mine__echo", {"text": "hello"})])


@pytest.fixture
def fresh(browser: Browser) -> Iterator[Site]:
    with (
        ScriptedModel(answer=calls_the_tool) as model,
        serving(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted", LOCAL_SERVERS="off") as served,
    ):
        yield Site(served, browser)


def test_a_server_is_added_its_tools_accepted_and_called(fresh: Site, visitors: Visitors) -> None:
    page = visitors.enter(fresh)
    page.goto("/settings/mcp/")
    page.get_by_role("link", name="Add an MCP server").click()
    page.get_by_label("Name").fill("mine")
    expect(page.get_by_label("Address")).to_be_hidden()
    page.get_by_label("Transport").select_option("http")
    expect(page.get_by_label("Address")).to_be_visible()
    expect(page.get_by_label("Command")).to_be_hidden()
    page.get_by_label("Transport").select_option("stdio")
    page.get_by_label("Command").fill("no-such-program")
    page.get_by_role("button", name="Save and connect").click()
    expect(page.locator("main")).to_contain_text("Not working: It ended with exit code 127.")

    page.get_by_label("Command").fill(PROGRAM)
    page.get_by_role("button", name="Save and connect").click()
    expect(page.locator("main")).to_contain_text("2 tools awaiting approval")
    expect(page.locator(".definition").first).to_contain_text("Say it again.")
    page.get_by_role("button", name="Accept 2 definitions").click()
    expect(page.locator("main")).to_contain_text("2 tools offered")

    page.goto("/")
    begin(page, "Say hello")
    page.get_by_role("button", name="Allow once").click()
    at_rest(page)
    expect(last_turn(page, "completed")).to_contain_text("It said: hello")
