"""A long message of the user is folded; it is found, copied, printed and shared whole."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, record, send, until

LOG = "\n".join(f"line {number} of the log" for number in range(1, 61))


def question(page: Page) -> Locator:
    return page.locator(".message[data-role=user] .message__body").first


def height(body: Locator) -> float:
    box = body.bounding_box()
    assert box is not None
    return box["height"]


def is_in_view(page: Page, words: str) -> bool:
    """Whether that line is drawn within its message and within the transcript."""
    return bool(page.evaluate(IN_VIEW, words))


IN_VIEW = """(words) => {
  const body = document.querySelector(".message[data-role=user] .message__body");
  const at = body.textContent.indexOf(words);
  const range = new Range();
  range.setStart(body.firstChild, at);
  range.setEnd(body.firstChild, at + words.length);
  const place = range.getBoundingClientRect();
  const boxes = [body, document.getElementById("scroll")].map((each) => each.getBoundingClientRect());
  return boxes.every((box) => box.top <= place.top + 1 && place.bottom <= box.bottom + 1);
}"""


@pytest.fixture
def page(scripted: Site, visitors: Visitors) -> Page:
    """A conversation that begins with a long message."""
    scripted.model.script(Reply(text="I see."))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    begin(page, LOG)
    at_rest(page)
    return page


def test_what_opens_goes_on_beneath_what_was_read(page: Page, scripted: Site) -> None:
    """Also at the end of the transcript, where the browser would keep what is below in place."""
    scripted.model.script(Reply(text="And more."))
    send(page, LOG)
    at_rest(page)
    page.set_viewport_size({"width": 1280, "height": 600})
    last = page.locator(".message[data-role=user]").last
    more = last.locator(".message__more > summary")
    more.scroll_into_view_if_needed()
    before = last.locator(".message__body").bounding_box()
    more.click()
    expect(last.locator(".message__more[open]")).to_be_attached()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    after = last.locator(".message__body").bounding_box()
    assert before
    assert after
    assert after["height"] > 2 * before["height"]
    assert abs(after["y"] - before["y"]) < 2


def test_it_opens_and_folds_by_keyboard(page: Page, scripted: Site) -> None:
    body, more = question(page), page.locator(".message__more > summary")
    folded = height(body)
    expect(more.get_by_text("Show more")).to_be_visible()
    assert is_in_view(page, "line 3 of")
    assert not is_in_view(page, "line 40 of")
    more.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".message__more[open]")).to_be_attached()
    assert height(body) > 4 * folded
    assert is_in_view(page, "line 3 of"), "what follows is read on from there"
    expect(more.get_by_text("Show less")).to_be_visible()
    more.scroll_into_view_if_needed()
    page.keyboard.press("Enter")
    expect(page.locator(".message__more:not([open])")).to_be_attached()
    assert height(body) == folded
    expect(body).to_be_in_viewport()
    page.emulate_media(media="print")
    assert height(body) > 4 * folded
    expect(more).to_be_hidden()
    page.emulate_media(media="screen")
    before = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == before
    scripted.model.script(Reply(text="Yes."))
    send(page, "Short")
    at_rest(page)
    expect(page.locator(".message__more")).to_have_count(1)


def test_it_is_copied_whole(page: Page) -> None:
    page.locator(".message[data-role=user]").first.hover()
    page.get_by_role("button", name="Copy message").first.click()
    expect(page.get_by_role("button", name="Copied").first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == LOG


def test_what_is_found_in_it_is_shown(page: Page) -> None:
    address = page.url
    page.goto("about:blank")
    page.goto(f"{address}#:~:text=line%2040%20of")  # the browser finds it, and scrolls to it as Ctrl+F does
    expect(page.locator(".message__more[open]")).to_be_attached()
    until(page, lambda: is_in_view(page, "line 40 of"))
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(".message__more:not([open])")).to_be_attached()
    message = page.locator(".message[data-role=user]").first.get_attribute("id")
    page.goto(f"{address}?find=line+50+of#{message}")
    expect(page.locator(".message__more[open]")).to_be_attached()
    until(page, lambda: is_in_view(page, "line 50 of"))


def test_it_is_folded_on_a_shared_page(page: Page, scripted: Site, visitors: Visitors) -> None:
    address = page.url
    page.goto(f"{address}share/")
    page.get_by_role("button", name="Create link").click()
    shared = page.get_by_role("textbox", name="Link").input_value()
    guest = visitors.enter(scripted, signed_in=False, java_script_enabled=False)
    for path in (shared, f"{shared}replay/"):
        guest.goto(path)
        folded = height(question(guest))
        guest.get_by_text("Show more").click()
        expect(guest.get_by_text("Show less")).to_be_visible()
        assert height(question(guest)) > 4 * folded
