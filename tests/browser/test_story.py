"""One piece of work as a user meets it: asked about, gone on with, changed, killed, finished, kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from chat.demo.reply import Call, Reply
from tests.browser.line import Line
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, is_folded, is_open, last_turn, send, turns
from tests.model_server import ScriptedModel
from tests.serving import Served, serving

FILES = ["Read the files", "重构解析器", "Run the tests", "Write notes", "Tidy up"]
WHEN = re.compile(r"[\d/]{8,10}|[\d:]{8}|\bjust now\b|\b\d+ min ago\b")
STORY = [
    "Please refactor five files",
    "Revision 1 0/5 step 1 · Read the files added 重构解析器 added Run the tests added Write notes added "
    "Tidy up added",
    "read_file . Done",
    "Revision 2 1/5 step 2 · Read the files done 重构解析器 started",
    "Revision 3 2/5 step 3 · 重构解析器 done Run the tests started",
    "Ended",
    "keep the new version",
    "Revision 4 2/5 step 1 · Saved again without changes",
    "Revision 5 2/6 You changed the list Write the changelog added",
    "Revision 6 2/5 You changed the list Tidy up skipped",
    "read_file . Done",
    "Revision 7 5/5 step 2 · Run the tests done Write notes done Write the changelog done",
    "Ended, resumed after a server restart",
]
PLACES = [
    ("refactor", "Please refactor five files"),
    ("keep the new", "keep the new version"),
    ("重构", "重构解析器"),
    ("解析器", "重构解析器"),
    ("read_file", "read_file"),
    ("quokka", "The quokka test"),
    ("changelog", "Write the changelog"),
    ("改完了", "全部改完了"),
]


def listed(*states: str, texts: list[str] = FILES) -> Call:
    """A list of these texts, so many of them in these states and the rest pending."""
    known = [*states, *["pending"] * len(texts)]
    items = [
        {"content": text, "status": state, "activeForm": f"At: {text}"}
        for text, state in zip(texts, known, strict=False)
    ]
    return Call("TodoWrite", {"items": items})


def entries(page: Page) -> Locator:
    """What the timeline tells, one after the other."""
    return page.locator(".timeline > li")


@pytest.fixture
def model() -> Any:
    with ScriptedModel() as model:
        yield model


def test_a_plan_through_thick_and_thin(
    browser: Browser, visitors: Visitors, model: ScriptedModel, tmp_path: Path
) -> None:
    with serving(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted") as served:
        with Line(served.port) as line:
            page = visitors.enter(Site(served, browser), address=line.address)
            address = begin_and_ask(page, model)
            change_and_kill(page, model, served, line)
            page.close()
        page = visitors.enter(Site(served, browser))
        page.goto(address.replace(line.address, ""))
        the_timeline_tells_it(page)
        search_finds_each_part(page)
        page.goto(address.replace(line.address, ""))
        the_export_comes_back_as_it_was(page, tmp_path)
        page.close()


def begin_and_ask(page: Page, model: ScriptedModel) -> str:
    """Two of five are done when the agent asks."""
    model.script(
        Reply(text="I plan.", tool_calls=[listed("in_progress")]),
        Reply(tool_calls=[Call("read_file", {"path": "."}), listed("completed", "in_progress")]),
        Reply(tool_calls=[listed("completed", "completed", "in_progress")]),
        Reply(text="The quokka test fails. Which version shall stay?"),
    )
    address = begin(page, "Please refactor five files")
    at_rest(page)
    is_folded(page)
    expect(page.locator("#todo-panel .todo-panel__line")).to_contain_text("2/5")
    expect(page.locator("#unfinished")).to_contain_text("2 of 5 done")
    return address


def change_and_kill(page: Page, model: ScriptedModel, served: Served, line: Line) -> None:
    """The user adds an item and skips one while the agent works; the server dies; the rest is done."""
    waits = Reply(text="I go on", piece=7, stall_after=2)
    model.script(Reply(tool_calls=[listed("completed", "completed", "in_progress")]), waits)
    send(page, "keep the new version")
    expect(last_turn(page)).to_contain_text("I go on")
    is_open(page)
    page.fill("#todo-add", "Write the changelog")
    page.press("#todo-add", "Enter")
    expect(page.locator("#todo-panel .todo")).to_have_count(6)
    page.locator("#todo-panel .todo").nth(4).hover()
    page.locator("#todo-panel .todo").nth(4).get_by_role("button", name="Skip").click()
    expect(page.locator("#todo-panel .todo:not([data-status=skipped])")).to_have_count(5)
    kept = [*FILES[:4], "Write the changelog"]
    done = listed(*["completed"] * 5, texts=kept)
    model.script(Reply(tool_calls=[Call("read_file", {"path": "."}), done]), Reply(text="全部改完了。"))
    line.cut()
    served.kill()
    served.start()
    line.mend()
    expect(last_turn(page, "completed")).to_contain_text("全部改完了。", timeout=60_000)
    at_rest(page)
    is_folded(page)
    expect(page.locator("#todo-panel .todo-panel__line")).to_contain_text("5/5")
    expect(turns(page)).to_have_count(2)


def the_timeline_tells_it(page: Page) -> None:
    page.wait_for_selector(LIVE)
    page.locator("#todo-panel .todo-panel__line").click()
    page.get_by_role("link", name="Plan history").click()
    page.wait_for_selector("#plan")
    told = [" ".join(WHEN.sub("", text).split()) for text in entries(page).all_inner_texts()]
    assert told == STORY


def search_finds_each_part(page: Page) -> None:
    for words, shown in PLACES:
        page.goto("/conversations/")
        page.locator("main").get_by_role("searchbox").fill(words)
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text(shown)


def the_export_comes_back_as_it_was(page: Page, tmp_path: Path) -> None:
    first = exported(page, tmp_path / "first.json")
    page.goto("/conversations/import/")
    page.locator("input[type='file']").set_input_files(tmp_path / "first.json")
    page.get_by_role("button", name="Import").click()
    page.wait_for_url("**/conversations/*-*/")
    second = exported(page, tmp_path / "second.json")
    assert second["conversation"].pop("title") == f"{first['conversation'].pop('title')} (copy)"
    assert second == first


def exported(page: Page, path: Path) -> dict[str, Any]:
    """The conversation that is open, as its file has it, but for when that was made."""
    page.wait_for_selector(LIVE)
    page.get_by_role("button", name="Conversation menu").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    download.value.save_as(path)
    return {**json.loads(path.read_text()), "exported_at": None}
