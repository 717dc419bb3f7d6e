"""Code in an answer is copied with one click."""

from __future__ import annotations

from playwright.sync_api import expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin

CODE = "def f(x):\n    return '<b>' + x\n"


def test_code_is_copied_as_it_was_written(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text=f"Here:\n\n```python\n{CODE}```\n"))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    begin(page, "Write a function")
    at_rest(page)
    button = page.locator(".code-block__copy")
    button.click()
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == CODE
