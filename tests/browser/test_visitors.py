"""The watch that all these tests keep: what a browser complains of is heard."""

from __future__ import annotations

from tests.browser.site import Site, Visitors
from tests.browser.talk import until


def test_a_breach_of_the_content_security_policy_is_heard(demo: Site, visitors: Visitors) -> None:
    page = visitors.enter(demo)
    page.goto("/")
    page.locator("body").evaluate(
        """body => { const made = document.createElement("script"); made.text = "0"; body.append(made) }"""
    )
    until(page, lambda: visitors.complaints)
    assert "Content Security Policy" in visitors.complaints.pop()


def test_an_error_of_a_script_is_heard(demo: Site, visitors: Visitors) -> None:
    page = visitors.enter(demo)
    page.goto("/")
    page.locator("body").evaluate("() => { setTimeout(() => { throw new Error('no') }) }")
    until(page, lambda: visitors.complaints)
    assert visitors.complaints.pop() == "script: no"
