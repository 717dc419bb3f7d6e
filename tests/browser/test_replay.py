"""A conversation played again: in order, at a pace, and by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, panel, send, todo

READ = Reply(tool_calls=[("read_file", {"path": "."})])


@pytest.fixture
def address(scripted: Site, visitors: Visitors) -> str:
    """The replay of a conversation with two lists, a call between them, and two blocks of text."""
    scripted.model.script(
        todo("in_progress", "pending"),
        READ,
        todo("completed", "in_progress"),
        Reply(text="First.\n\nSecond."),
    )
    page = visitors.enter(scripted)
    begin(page, "Do two things")
    at_rest(page)
    return f"{page.url}replay/"


def enter(visitors: Visitors, scripted: Site, address: str, **options: str) -> Page:
    page = visitors.enter(scripted, **options)
    page.goto(address)
    page.wait_for_selector("#replay[data-ready]")
    return page


def pause(page: Page) -> None:
    """Stop it and go to its beginning."""
    page.keyboard.press("Home")
    expect(page.locator("#replay")).not_to_have_attribute("data-playing", "")


def test_it_plays_to_its_end(visitors: Visitors, scripted: Site, address: str) -> None:
    page = enter(visitors, scripted, address)
    expect(page.locator("#replay")).to_have_attribute("data-playing", "")
    expect(page.get_by_text("Second.")).to_be_hidden()
    page.keyboard.press("4")
    expect(page.get_by_text("Second.")).to_be_visible(timeout=60_000)
    expect(page.locator("#replay")).not_to_have_attribute("data-playing", "", timeout=60_000)
    expect(page.locator(".replay__panel #todo-panel:not([open])")).to_contain_text("1/2")


def test_by_hand_things_appear_in_order(visitors: Visitors, scripted: Site, address: str) -> None:
    page = enter(visitors, scripted, address)
    pause(page)
    seen: list[str] = []
    last = int(page.get_by_role("slider").get_attribute("max") or 0)
    for _step in range(last):
        page.keyboard.press("ArrowRight")
        state = str(page.locator("#replay").evaluate(STATE))
        if not seen or seen[-1] != state:
            seen.append(state)
    assert seen == ORDER
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert page.locator("#replay").evaluate(STATE) == "no turn"


# What is in view: question, call with its state, list, blocks of the answer.
STATE = """root => {
  const seen = (selector) => [...root.querySelectorAll(selector)].filter((each) => each.checkVisibility());
  if (!seen(".turn").length) return "no turn";
  const call = seen(".tool-call").map((each) => each.dataset.status)[0] ?? "";
  const list = root.querySelector(".replay__panel .todo-panel");
  const answer = seen("[data-role=assistant] .message__body > *").map((each) => each.textContent.trim());
  return [call, list ? `${list.dataset.done}/2 ${list.dataset.phase}` : "", answer.join(" ")].join("|");
}"""
ORDER = [
    "||",
    "|0/2 working|",
    "running|0/2 working|",
    "succeeded|0/2 working|",
    "succeeded|1/2 working|",
    "succeeded|1/2 working|First.",
    "succeeded|1/2 working|First. Second.",
    "succeeded|1/2 ended|First. Second.",
]


# Of the latest line that tells of a list, and of the list beside it.
COUNTS = """root => {
  const lines = [...root.querySelectorAll(".todo-marker")].filter((line) => line.checkVisibility());
  const { done, total } = root.querySelector(".replay__panel .todo-panel")?.dataset ?? {};
  return [lines.at(-1)?.textContent.match(/[0-9]+[/][0-9]+/)?.[0] ?? "", total ? `${done}/${total}` : ""];
}"""


def test_a_list_changes_with_the_line_that_tells_of_it(
    visitors: Visitors, scripted: Site, address: str
) -> None:
    page = enter(visitors, scripted, address)
    pause(page)
    told: list[str] = []
    for _step in range(12):
        page.keyboard.press("ArrowRight")
        line, shown = page.locator("#replay").evaluate(COUNTS)
        assert line in ("", shown)
        told.append(line)
    assert {"0/2", "1/2"} < set(told)


def test_the_slider_and_the_buttons(visitors: Visitors, scripted: Site, address: str) -> None:
    page = enter(visitors, scripted, address)
    page.get_by_role("button", name="Pause").click()
    slider = page.get_by_role("slider")
    slider.fill(slider.get_attribute("max") or "")
    expect(page.get_by_text("Second.")).to_be_visible()
    slider.fill("0")
    expect(page.locator(".turn")).to_be_hidden()
    page.get_by_role("button", name="Step forward").click()
    expect(page.get_by_text("Do two things").last).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#replay")).to_have_attribute("data-playing", "")
    page.keyboard.press("End")
    expect(page.locator("#replay")).not_to_have_attribute("data-playing", "")
    page.get_by_role("link", name="Conversation", exact=True).click()
    expect(page).to_have_url(re.compile(r"/conversations/[0-9a-f-]{36}/$"))


def test_who_wants_less_motion_steps(visitors: Visitors, scripted: Site, address: str) -> None:
    page = enter(visitors, scripted, address, reduced_motion="reduce")
    expect(page.locator("#replay")).not_to_have_attribute("data-playing", "")
    expect(page.get_by_text("Second.")).to_be_hidden()
    assert page.locator(".turn").evaluate("turn => turn.getAnimations({ subtree: true }).length") == 0


def test_without_a_script_it_is_the_record(visitors: Visitors, scripted: Site, address: str) -> None:
    page = visitors.enter(scripted, java_script_enabled=False)
    page.goto(address)
    expect(page.get_by_text("Replay needs JavaScript")).to_be_visible()
    expect(page.get_by_text("Second.")).to_be_visible()
    expect(page.locator(".replay__dock")).to_be_hidden()


def test_calls_show_while_they_play_and_fold_when_they_are_done(visitors: Visitors, scripted: Site) -> None:
    scripted.model.script(
        Reply(text="I look.", tool_calls=[("read_file", {"path": "."})]),
        Reply(tool_calls=[("read_file", {"path": "."}), ("bash", {"command": "true"})]),
        Reply(text="Done."),
    )
    page = visitors.enter(scripted)
    begin(page, "Look around")
    at_rest(page)
    expect(page.locator(".call-group__line")).to_have_text("Listed 1 folder, ran 1 command")
    page.goto(f"{page.url}replay/")
    page.wait_for_selector("#replay[data-ready]")
    pause(page)
    calls, line = page.locator(".tool-call").locator("visible=true"), page.locator(".call-group__line")
    seen: list[int] = []
    while not line.is_visible():
        page.keyboard.press("ArrowRight")
        if not line.is_visible() and calls.count() not in seen[-1:]:
            seen.append(calls.count())
    assert seen == [0, 1, 2, 3]
    expect(calls).to_have_count(0)
    line.locator("summary").click()
    expect(calls).to_have_count(3)
    line.locator("summary").click()
    page.keyboard.press("ArrowLeft")
    expect(line).to_be_hidden()
    expect(calls).to_have_count(3)
    page.keyboard.press("End")
    expect(page.get_by_text("Done.")).to_be_visible()
    expect(calls).to_have_count(0)


def test_a_jump_leads_there_past_what_was_never_drawn(scripted: Site, visitors: Visitors) -> None:
    words = [f"Sentence {number} of many, which takes its place in the transcript." for number in range(40)]
    page = visitors.enter(scripted)
    for number in range(6):
        scripted.model.script(Reply(text="\n\n".join([*words, f"Answer {number} ends."])))
        (send if number else begin)(page, f"Question {number}")
        expect(page.locator("#transcript")).to_contain_text(f"Answer {number} ends.")
        at_rest(page)
    address = f"{page.url}replay/"
    move = """(slider, share) => {
      slider.value = slider.max * share;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }"""
    for share in (1, 0.6, 0.3):
        page.goto(address)
        page.wait_for_selector("#replay[data-ready]")
        page.get_by_role("slider").evaluate(move, share)
        latest = page.locator("#replay .message__body > p").locator("visible=true").last
        expect(latest).to_be_in_viewport(ratio=1)
        if share == 1:
            expect(latest).to_have_text("Answer 5 ends.")


@pytest.mark.parametrize("size", [(844, 390), (568, 320), (360, 640)])
def test_a_long_plan_leaves_the_bar_in_view(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    scripted.model.script(todo("in_progress", *["pending"] * 14), Reply(text="A long list."))
    page = visitors.enter(scripted)
    begin(page, "Plan")
    at_rest(page)
    address = f"{page.url}replay/"
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.goto(address)
    page.wait_for_selector("#replay[data-ready]")
    page.keyboard.press("End")
    panel(page).locator("summary").click()
    expect(panel(page)).to_have_attribute("open", "")
    for place in (
        page.get_by_role("button", name="Play"),
        page.get_by_role("slider"),
        panel(page).locator("summary"),
    ):
        expect(place).to_be_in_viewport(ratio=1)
    last = panel(page).locator(".todo").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport(ratio=1)


def test_it_shows_the_pictures_and_files_of_an_answer(visitors: Visitors, scripted: Site) -> None:
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><rect width="90" height="30"/></svg>'
    )
    scripted.model.script(
        Reply(tool_calls=[("write_file", {"path": "a.svg", "content": drawing})]),
        Reply(text="![the drawing](a.svg), and [its source](a.svg)"),
    )
    page = visitors.enter(scripted)
    conversation = begin(page, "Draw")
    at_rest(page)
    page = enter(visitors, scripted, f"{conversation}replay/")
    page.keyboard.press("End")
    picture = page.get_by_role("img", name="the drawing")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 90
    page.get_by_role("link", name="its source").click()
    expect(page.get_by_role("heading", name="a.svg")).to_be_visible()
