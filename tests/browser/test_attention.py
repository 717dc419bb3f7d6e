"""A running turn says what it does: at its end, in the tab's title and icon, and to who looks elsewhere."""

from __future__ import annotations

import re
import threading

from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, growing, last_turn, send, todo, until
from tests.browser.test_approvals import begin as begin_asking_first

LOOK_AWAY = """state => {
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
# An answer may be drawn from rows newer than the frames that were on their way.
DRAW_LATE = """() => {
  for (const status of ["running", "failed"]) {
    document.querySelector("#transcript > .turn:last-of-type").dataset.status = status;
    document.dispatchEvent(new Event("visibilitychange"));
  }
}"""
# Keeps what the page hands to the browser, and everything that was said to screen readers.
LISTEN = """() => {
  window.sent = [];
  window.said = [];
  window.Notification = class extends EventTarget {
    static permission = "default";
    static async requestPermission() { return (this.permission = "granted"); }
    constructor(title, { body }) { super(); sent.push(`${title}: ${body}`); }
  };
  const listen = () => {
    const place = document.getElementById("announcer");
    if (place) new MutationObserver(() => said.push(place.textContent)).observe(place, { childList: true });
  };
  addEventListener("DOMContentLoaded", listen);
  addEventListener("content", listen);
}"""


def icon(page: Page) -> str:
    """The colour of the dot in the tab's icon; empty for none."""
    drawn: str = page.evaluate("""() => {
      const address = document.querySelector("link[rel='icon']").href;
      return decodeURIComponent(address).match(/<circle.* fill="([^"]+)"/)?.[1] ?? "";
    }""")
    return drawn


# What the clock of the turn shows over more than two of its ticks.
SECONDS = """async () => {
    const shown = [];
    for (let look = 0; look < 25; look++) {
        shown.push(parseInt(document.querySelector(".turn__spent .elapsed").textContent));
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return shown;
}"""


def test_a_list_that_is_refused_is_not_said(scripted: Site, visitors: Visitors) -> None:
    shown, ended = threading.Event(), threading.Event()
    scripted.model.script(
        growing(todo("completed", "in_progress", "in_progress"), "Item 3", shown),
        todo("in_progress", "pending"),
        Reply(text="So be it", stall_after=1, gate=ended),
    )
    page = visitors.enter(scripted)
    page.add_init_script(f"({LISTEN})()")
    begin(page, "Do both at once")
    panel = page.locator("#todo-panel[data-draft]")
    expect(panel).to_contain_text("Item 3")
    drawn = panel.inner_text().count("3")
    expect(panel).to_contain_text("3" * (drawn + 20))  # two seconds on; what happens is said within one
    shown.set()
    until(page, lambda: any("0/2" in text for text in page.evaluate("said")))
    assert not any(re.search(r"\b1/", text) for text in page.evaluate("said"))
    expect(page.locator("#todo-panel")).not_to_have_attribute("data-draft", "")
    ended.set()
    at_rest(page)


def test_a_turn_is_followed_without_looking_at_it(scripted: Site, visitors: Visitors) -> None:
    gates = [threading.Event() for _ in range(3)]
    scripted.model.script(
        todo("in_progress", "pending", text="I plan it."),
        Reply(tool_calls=[("bash", {"command": f"until [ -e go ]; do sleep 0.1; done; : {'and on ' * 20}"})]),
        todo("completed", "in_progress"),
        Reply(text="Half of it", piece=4, stall_after=2, gate=gates[0]),
        Reply(text="More", piece=3, stall_after=2, gate=gates[1]),
        Reply(status=401, body={"error": {"message": "Incorrect API key"}}),
    )
    page = visitors.enter(scripted)
    page.add_init_script(f"({LISTEN})()")
    address = begin(page, "Do both")
    title = page.locator("#title").inner_text()

    # At the end of the transcript: the action with its seconds, and those and the tokens of the turn.
    busy = last_turn(page, "running").locator(".turn__busy")
    expect(busy.locator(".turn__doing")).to_contain_text("Running until [ -e go ]; do sleep 0.1; done")
    expect(busy.locator(".turn__doing .elapsed")).to_have_text(re.compile("[1-9] s"))
    expect(busy.locator(".turn__spent")).to_contain_text(" tokens in, ")
    assert busy.evaluate("line => line.clientHeight") < 30, "a long command is cut short"
    assert page.title() == f"▸\u2002{title}"
    running = icon(page)
    assert running
    page.reload()
    expect(busy).to_contain_text(" tokens in, ")
    spent = busy.locator(".turn__spent .elapsed")
    expect(spent).to_have_text(re.compile(r"^([4-9]|\d\d) s$"))
    before = int(spent.inner_text().split()[0])
    page.goto("about:blank")
    page.go_back()  # to a page of the browser's cache
    expect(spent).to_be_visible()
    assert min(page.evaluate(SECONDS)) >= before
    until(page, lambda: page.title() == f"▸\u2002{title}")
    [workspace] = scripted.served.data.glob(f"workspaces/{address.split('/')[-2]}*")
    (workspace / "go").touch()

    # A notification is offered in the menu, and sent for what happens in a tab that is not in view.
    page.get_by_role("button", name="Conversation menu").click()
    choice = page.get_by_label("Notify me when a turn ends or needs me")
    expect(choice).not_to_be_checked()
    choice.check()
    page.keyboard.press("Escape")
    expect(busy.locator(".turn__doing")).to_have_text("Writing")
    page.evaluate(LOOK_AWAY, "hidden")
    gates[0].set()
    last_turn(page, "completed")
    until(page, lambda: page.title() == f"✓\u2002{title}")
    assert icon(page) not in ("", running)
    until(page, lambda: page.evaluate("sent") == [f"{title}: Finished"])
    page.evaluate(LOOK_AWAY, "visible")
    until(page, lambda: page.title() == title)
    until(page, lambda: icon(page) == "")
    until(page, lambda: "Finished" in "".join(page.evaluate("said")[-1:]))

    # A turn that ends in view is no news; one that fails behind is.
    send(page, "Go on")
    expect(last_turn(page, "running")).to_contain_text("M")
    until(page, lambda: "The agent is working" in "".join(page.evaluate("said")))
    gates[1].set()
    at_rest(page)
    until(page, lambda: page.title() == title)
    page.evaluate(LOOK_AWAY, "hidden")
    send(page, "And on")
    last_turn(page, "failed")
    until(page, lambda: page.title() == f"!\u2002{title}")
    until(page, lambda: page.evaluate("sent")[1:] == [f"{title}: Failed"])
    page.evaluate(DRAW_LATE)
    assert page.evaluate("sent")[1:] == [f"{title}: Failed"], "told once"
    said = page.evaluate("said")
    assert len(said) < 10, said


def test_a_question_calls_who_looks_elsewhere(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        Reply(text="Ready."), Reply(tool_calls=[("bash", {"command": "rm old.txt"})]), Reply(text="Gone.")
    )
    page = visitors.enter(scripted)
    page.add_init_script(f"({LISTEN})()")
    begin_asking_first(page, "Are you there?")
    at_rest(page)
    title = page.locator("#title").inner_text()
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_label("Notify me when a turn ends or needs me").check()
    page.keyboard.press("Escape")
    page.evaluate(LOOK_AWAY, "hidden")
    send(page, "Remove it")
    until(page, lambda: page.title() == f"?\u2002{title}")
    until(page, lambda: bool(icon(page)))
    until(page, lambda: page.evaluate("sent") == [f"{title}: Waiting for your answer: bash"])
    until(page, lambda: "Waiting for your answer: bash" in page.evaluate("said"))
    page.evaluate(LOOK_AWAY, "visible")
    assert page.title() == f"?\u2002{title}", "still to be answered"
    page.get_by_role("button", name="Allow once").click()
    at_rest(page)
    until(page, lambda: page.title() == title)


def test_a_browser_that_blocks_notifications_is_no_dead_end(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Done."))
    page = visitors.enter(scripted)
    page.add_init_script(
        f"({LISTEN})(); Notification.permission = 'denied'; localStorage.setItem('notify', 'on')"
    )
    begin(page, "Begin")
    at_rest(page)
    page.get_by_role("button", name="Conversation menu").click()
    choice = page.get_by_role("checkbox", name="Your browser blocks this")
    expect(choice).to_be_disabled()
    expect(choice).not_to_be_checked()
    told = "Notify me when a turn ends or needs me. Your browser blocks this: allow notifications"
    expect(page.locator("#notify")).to_contain_text(told)


def test_an_icon_that_could_not_be_fetched_is_fetched_again(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["net::ERR_FAILED"]
    gate = threading.Event()
    scripted.model.script(Reply(text="Yes?"), Reply(text="Well", stall_after=1, gate=gate))
    page = visitors.enter(scripted)
    page.goto("/")
    page.route("**/icon*.svg", lambda route: route.abort(), times=1)
    begin(page, "hello")
    at_rest(page)
    assert icon(page) == ""
    send(page, "work")
    until(page, lambda: bool(icon(page)))
    gate.set()
    at_rest(page)
