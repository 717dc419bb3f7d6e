"""What axe-core finds on every page and open state, in both languages and themes, wide and narrow."""

from __future__ import annotations

import threading
from importlib.resources import files
from typing import Any

from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Call, Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn, until
from tests.browser.test_account import new_link
from tests.browser.test_approvals import begin as begin_asking_first

AXE = str(files("axe_playwright_python") / "axe.min.js")
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
# In the dark theme only contrast is checked: nothing else depends on the theme.
VIEWS: dict[str, list[tuple[Any, str]]] = {
    "en-US": [(WIDE, "light"), (NARROW, "dark")],
    "zh-CN": [(NARROW, "light"), (WIDE, "dark")],
}
# Looks at the page with everything unfolded, and at each menu and dialog that is not in `seen`; returns what
# axe-core finds, and what was seen.
WALK = """async ([theme, seen]) => {
    const options = { resultTypes: ["violations"], preload: false };
    options.rules = { "target-size": { enabled: true } };
    if (theme === "dark") options.runOnly = ["color-contrast"];
    const found = [];
    const look = async (state, part) => {
        for (const animation of document.getAnimations()) {
            if (animation.effect.getTiming().iterations !== Infinity) animation.finish();
        }
        const { violations } = await axe.run(part ?? document, options);
        for (const { id, help, nodes } of violations) {
            for (const { html, any, target } of nodes) {
                const why = any[0]?.message ?? help;
                found.push(`${state}: ${id}: ${target.join(" ")} ${html.slice(0, 150)} ${why}`);
            }
        }
    };
    const isVisible = (place) => place.checkVisibility({ visibilityProperty: true });
    const isNew = (name) => !seen.includes(name) && seen.push(name);
    const until = async (ready) => {
        const end = performance.now() + 10000;
        while (!ready()) {
            if (performance.now() > end) throw new Error(`not within ten seconds: ${ready}`);
            await new Promise(requestAnimationFrame);
        }
    };
    const lookAtDialog = async (opener) => {
        if (!isNew(opener.ariaLabel ?? opener.outerHTML)) return;
        opener.click();
        await until(() => document.querySelector("dialog[open]"));
        const dialog = document.querySelector("dialog[open]");
        await look(`#${dialog.id}`, dialog);
        dialog.close();
    };
    const folded = [...document.querySelectorAll("main details:not([open])")].filter(isVisible);
    for (const each of folded) each.open = true;
    await look("unfolded");
    for (const each of folded) each.open = false;
    const openers = new Map();
    for (const button of document.querySelectorAll("[popovertarget]:not([popovertargetaction=hide])")) {
        const place = button.popoverTargetElement;
        if (place && isVisible(button) && !openers.has(place)) openers.set(place, button);
    }
    for (const [place, button] of openers) {
        if (place.matches(":popover-open") || !isNew(`#${place.id} ${place.textContent}`)) continue;
        button.click();
        await until(() => place.matches(":popover-open"));
        await new Promise(requestAnimationFrame);
        await look(`#${place.id}`, place);
        const deletes = [...place.querySelectorAll("[command=show-modal]")].filter(isVisible);
        for (const opener of deletes) await lookAtDialog(opener);
        place.hidePopover();
    }
    for (const opener of document.querySelectorAll("a[data-dialog]")) await lookAtDialog(opener);
    return [found, seen];
}"""
PLAN = [
    {"content": "Look around", "status": "completed", "activeForm": "Looking around"},
    {"content": "Write it", "status": "in_progress", "activeForm": "Writing it"},
    {"content": "Check", "status": "pending", "activeForm": "Checking"},
]
TODO = Call("TodoWrite", {"items": PLAN})
WRITE = Call("write_file", {"path": "a.py", "content": "print('a long line' * 30)\n" * 60})
ANSWER = """# Done

A [link](https://example.org/), `code`, a formula $a^2$, a footnote[^1], and

```python
print("a very long line that has to be scrolled sideways, because it is longer than the column is wide")
```

| a | b |
|---|---|
| 1 | 2 |

- [x] checked
- [ ] open

[^1]: The footnote.
"""


LIVE = "#connection[data-state='live']"
PAGES = [
    "/",
    "/conversations/",
    "/conversations/?q=plan",
    "/conversations/?archived=1",
    "/conversations/tags/",
]
PAGES += ["/conversations/import/", "/board/", "/settings/connections/", "/settings/connections/add/"]
PAGES += [
    "/settings/connections/environment/model/?model=scripted",
    "/settings/profiles/",
    "/settings/profiles/1/",
]
PAGES += ["/settings/profiles/add/", "/settings/usage/", "/settings/plans/", "/settings/preferences/"]
PAGES += [
    "/settings/mcp/",
    "/settings/mcp/add/",
    "/settings/users/",
    "/settings/users/add/",
    "/settings/users/1/",
    "/settings/preferences/password/",
    "/accounts/sign-out/",
    "/nowhere/",
]


class Looks:
    """The pages of a user, in each language, and what axe-core has found on them."""

    def __init__(self, site: Site, visitors: Visitors) -> None:
        self.found: list[str] = []
        self.pages: dict[str, Page] = {}
        self.seen: dict[str, list[str]] = {}  # menus and dialogs, in each view
        for language in VIEWS:
            page = visitors.enter(site, locale=language, reduced_motion="reduce")
            page.context.add_init_script(path=AXE)
            self.pages[language] = page
        self.page = self.pages["en-US"]

    def at(self, address: str, ready: str = "main") -> None:
        """Look at an address."""
        for language, page in self.pages.items():
            page.goto(address)
            page.locator(ready).first.wait_for()
            for size, theme in VIEWS[language]:
                page.set_viewport_size(size)
                page.emulate_media(color_scheme=theme)
                view = f"{language} {size['width']} {theme}"
                found, self.seen[view] = page.evaluate(WALK, [theme, self.seen.get(view, [])])
                self.found += [f"{address} {view}: {each}" for each in found]


def test_axe_finds_nothing(scripted: Site, visitors: Visitors) -> None:
    looks, gate = Looks(scripted, visitors), threading.Event()
    visitors.expected.append("404")
    page = looks.page
    scripted.model.script(
        Reply(
            "I plan.", reasoning="Hm.\n" * 30, tool_calls=[TODO, WRITE, Call("bash", {"command": "exit 3"})]
        ),
        Reply(text=ANSWER),
        Reply(text="So far so good", stall_after=2, gate=gate, tool_calls=[TODO]),
        Reply(status=401, body={"error": {"message": "Incorrect API key"}}),
        Reply(tool_calls=[Call("bash", {"command": "rm -r *"})]),
        Reply(text="Done."),
    )
    page.goto("/")
    address = begin(page, "do it")
    at_rest(page)
    page.goto(f"{address}share/")
    page.get_by_role("button", name="Create link").click()
    link = page.locator(".share-link__address").input_value()
    for path in ("", "plan/", "files/", "files/a.py", "share/"):
        looks.at(f"{address}{path}")
    for public in (link, f"{link}replay/"):
        looks.at(public)

    page.goto(address)
    page.fill("#composer-text", "go on")
    page.press("#composer-text", "Enter")
    last_turn(page, "running")
    page.fill("#composer-text", "and this")
    page.press("#composer-text", "Enter")
    page.locator(".follow-up").wait_for()
    looks.at(address, LIVE)
    looks.at("/board/", LIVE)
    gate.set()
    page.goto(address)
    last_turn(page, "failed")
    looks.at(address, LIVE)

    waiting = begin_asking_first(page)
    page.locator(".approval").wait_for()
    looks.at(waiting, LIVE)
    looks.at("/board/", LIVE)
    page.goto(waiting)
    page.get_by_role("button", name="Allow once").click()
    at_rest(page)
    for each in PAGES:
        looks.at(each)
    assert not looks.found, "\n".join(looks.found)


def test_signing_in(scripted: Site, visitors: Visitors) -> None:
    looks = Looks(scripted, visitors)
    visitors.expected += ["410"]
    for page in looks.pages.values():
        page.context.clear_cookies()
    for address in ("/accounts/login/", "/sign-in/spent/", f"{new_link(scripted.served)}?ask=1"):
        looks.at(address)
    assert not looks.found, "\n".join(looks.found)


FOCUSED = "document.activeElement.checkVisibility() && !document.activeElement.matches('body, #content')"


def press(page: Page, control: Locator) -> None:
    control.focus()
    page.keyboard.press("Enter")


def test_no_redraw_loses_the_focus(scripted: Site, visitors: Visitors) -> None:
    """The control that was used goes away, or is drawn anew; the keyboard is somewhere that can be seen."""
    gate, again = threading.Event(), threading.Event()
    items = [{**item, "status": "pending"} for item in PLAN]
    scripted.model.script(
        Reply("I plan.", tool_calls=[Call("TodoWrite", {"items": items})]),
        Reply("So far so good", stall_after=1, gate=gate, tool_calls=[Call("bash", {"command": "true"})]),
        Reply(tool_calls=[Call("bash", {"command": "false"})]),
        Reply(text="Done."),
        Reply(text="So far so good", stall_after=1, gate=again),
    )
    page = visitors.enter(scripted)
    begin_asking_first(page)
    todos = page.locator("#todo-panel li.todo:not([data-status=skipped])")
    expect(todos).to_have_count(3)
    for name, left in (("Skip", 2), ("Check off", 2)):
        control = todos.last.get_by_role("button", name=name)
        press(page, control)
        expect(todos).to_have_count(left)
        until(page, lambda: page.evaluate(FOCUSED))
    expect(todos.last).to_have_attribute("data-status", "completed")
    page.fill("#composer-text", "and this")
    page.press("#composer-text", "Enter")
    press(page, page.locator(".follow-up").get_by_role("button", name="Unsend"))
    expect(page.locator("#composer-text")).to_be_focused()
    expect(page.locator("#composer-text")).to_have_value("and this")
    page.fill("#composer-text", "")
    gate.set()
    for command, answer in (("true", "Deny"), ("false", "Allow once")):
        card = page.locator(".tool-call[data-status=waiting]", has_text=command)
        press(page, card.get_by_role("button", name=answer))
        expect(card).to_have_count(0)
        until(page, lambda: page.evaluate(FOCUSED))
    at_rest(page)
    until(page, lambda: page.evaluate(FOCUSED))

    begin(page, "once more")
    page.goto("/board/")
    page.locator(LIVE).wait_for()
    again.set()
    ended = page.locator("#board-unseen li", has_text="once more")
    press(page, ended.get_by_role("button", name="Mark as read"))
    expect(ended).to_have_count(0)
    until(page, lambda: page.evaluate(FOCUSED))
