"""What a user does on the pages, and what they wait to see."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Reply, call_data, chunk, sse

LIVE = "#conversation #connection[data-state='live']"
# An Enter that an input method takes for itself.
COMPOSING = """(text, how) => text.dispatchEvent(new KeyboardEvent("keydown", {
    key: "Enter", bubbles: true, cancelable: true, ...how }))"""
# What a user pastes; true where the browser is to put it in.
PASTE = """(place, text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    return place.dispatchEvent(event);
}"""
# Whether nothing lies above an element.
TOPMOST = """place => {
    const { left, right, top, bottom } = place.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    return [[x, y], [left + 3, y], [right - 3, y], [x, top + 3], [x, bottom - 3]].every((point) =>
        place.contains(document.elementFromPoint(...point)));
}"""
TAG = re.compile(r'<([a-z0-9-]+)((?: [^\s=<>]+(?:="[^"]*")?)+)>')
ATTRIBUTE = re.compile(r'[^\s=]+(?:="[^"]*")?')
BETWEEN = re.compile(r">\s+<")
SPENT = re.compile(r'<time class="elapsed".*?</time>(<span>[^<]+</span>)?')
RECENT = re.compile(r"(<time [^>]*data-recent[^>]*>)[^<]*")
CHANGING = re.compile(
    r' (?:data-htmx-powered(?:="[^"]*")?|(?:open|data-live|data-rendered)(?:="")?|data-(?:from|at|v)="[^"]*")'
    r"(?=[ >])"
)


def begin(page: Page, text: str) -> str:
    """Start a conversation from the first page; its address."""
    page.goto("/")
    page.fill("#composer-text", text)
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    page.wait_for_selector(LIVE)
    return page.url


def another_tab(page: Page) -> Page:
    """A second tab of the same browser on the conversation that `page` shows, once it is live."""
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(LIVE)
    return other


def choose_profile(page: Page, title: str) -> None:
    """Choose who answers next, on the first page or in a conversation, and see that it is so."""
    page.locator("#profile-button").click()
    page.locator(".profile-menu__choice").filter(has=page.get_by_text(title, exact=True)).click()
    expect(page.locator(".profile-choice__title")).to_have_text(title)


def send(page: Page, text: str) -> None:
    """Send one more message of an open conversation, and see it in the transcript."""
    before = turns(page).count()
    page.fill("#composer-text", text)
    page.click("#send")
    expect(turns(page)).to_have_count(before + 1)


def at_rest(page: Page) -> None:
    """Wait until the agent has nothing to do and the page is live."""
    page.wait_for_selector(f"#conversation[data-status='idle'] {LIVE[14:]}", timeout=60_000)


def place(page: Page) -> dict[str, float]:
    """Where the view is: pixels above it, and pixels below it."""
    measured: dict[str, float] = page.locator("#scroll").evaluate(
        "view => ({ top: view.scrollTop, below: view.scrollHeight - view.scrollTop - view.clientHeight })"
    )
    return measured


def come_to_rest(page: Page) -> float:
    """Wait for the end of a scroll; pixels above the view then."""
    seen: list[float] = []

    def still() -> bool:
        seen.append(place(page)["top"])
        return seen[-4:] == [seen[-1]] * 4

    until(page, still)
    return seen[-1]


def turns(page: Page) -> Locator:
    return page.locator("article.turn[data-status]")  # which one that is still empty lacks


def last_turn(page: Page, status: str = "") -> Locator:
    """The latest turn, once it has the status."""
    if status:
        expect(turns(page).last).to_have_attribute("data-status", status)
    return turns(page).last


def panel(page: Page) -> Locator:
    return page.locator("details#todo-panel")


def is_open(page: Page) -> None:
    """Wait until the panel stands open."""
    expect(page.locator("details#todo-panel[open]")).to_be_visible()


def is_folded(page: Page) -> None:
    """Wait until the panel is there, as one line."""
    expect(page.locator("details#todo-panel:not([open])")).to_be_visible()


def unfold(page: Page) -> None:
    """Show the calls that are folded to lines."""
    lines = page.locator(".call-group__line:not([hidden], [open]) > summary")
    for _each in range(lines.count()):
        lines.first.click()


def record(page: Page) -> list[str]:
    """Turns and panel as HTML, without what htmx adds, a user unfolds, or nobody sees."""
    drawn = page.locator("article.turn, #todo-panel").evaluate_all("all => all.map(one => one.outerHTML)")
    return [bare(html) for html in drawn]


def bare(html: str) -> str:
    """HTML without blanks between elements, how long ago it was, and what htmx adds or a user unfolds.

    With attributes by name: what is morphed has new ones last. Without seconds, which each page counts by
    itself, and tokens so far, which live pages estimate.
    """
    plain = SPENT.sub("", RECENT.sub(r"\1", BETWEEN.sub("><", CHANGING.sub("", html))))
    return TAG.sub(lambda tag: f"<{' '.join([tag[1], *sorted(ATTRIBUTE.findall(tag[2]))])}>", plain)


def until(page: Page, ready: Callable[[], Any]) -> None:
    """Return once `ready` gives something true; raises AssertionError after a minute."""
    for _look in range(3000):
        if ready():
            return
        page.wait_for_timeout(20)  # the page's events arrive only while Playwright is at work
    raise AssertionError("it did not come to pass")


def todo(*states: str, **more: Any) -> Reply:
    """A reply that writes a list with items in these states."""
    items = [
        {"content": f"Item {n}", "status": state, "activeForm": f"Doing {n}"}
        for n, state in enumerate(states, 1)
    ]
    return Reply(tool_calls=[("TodoWrite", {"items": items})], **more)


def growing(reply: Reply, word: str, until_set: threading.Event) -> Reply:
    """The reply, with the last letter of this word in its call's arguments repeated until the event is set.

    A page that asks for the rows in the meantime misses what a silent model has written of a call. Here it
    is sent more.
    """
    [call] = reply.calls
    head, _word, tail = call.text.partition(word)

    def more(arguments: str) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]})

    def chunks() -> Iterator[bytes]:
        yield from sse(chunk({"tool_calls": [{"index": 0, **call_data(call, head + word)}]}))
        while not until_set.is_set():
            yield from sse(more(word[-1]))
        yield from sse(more(tail), chunk(finish_reason="tool_calls"), "[DONE]")

    return Reply(raw=chunks(), delay=0.1)
