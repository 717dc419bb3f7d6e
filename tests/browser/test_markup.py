"""Whatever model, tools or person write stays text: nothing of it is ever run, fetched or swapped."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, is_open, last_turn, panel, record

IMAGE = "<img src=x onerror=alert(1)>"
ATTACKS = [
    IMAGE,
    "<script>alert(2)</script>",
    '</hx-partial><hx-partial hx-target="#composer" hx-swap="outerHTML"><b id="swapped"></b></hx-partial>',
    '<button hx-get="/conversations/" hx-trigger="load" hx-target="body" id="loaded">press</button>',
    '<a href="javascript:alert(3)" onclick="alert(4)">link</a>',
    '<iframe src="https://example.org/"></iframe><style>body { display: none }</style>',
    "</article></main></details><h1 id='escaped'>out</h1>",
]
MARKDOWN = """![picture](https://example.org/tracker.png) [run](javascript:alert(5)) [data](data:text/html,x)
[fine](https://example.org/ok) <https://example.org/auto> [odd](vbscript:x) [ref]

[ref]: javascript:alert(6)

```html"><script>alert(7)</script>
<img src=y onerror=alert(8)>
```
"""
FOREIGN = "#transcript, #todo-slot, .bar, .sidebar"
LIVING = [
    "script",
    "img",
    "iframe",
    "style",
    "object",
    "#swapped",
    "#loaded",
    "#escaped",
    "[onerror]",
    "[onclick]",
]


def is_clean(page: Page) -> None:
    """Nothing that somebody wrote has become an element, and the page stands as it was built."""
    for selector in [*LIVING, "[hx-get]", "hx-partial", "a[href^='javascript']", "a[href^='data']"]:
        assert page.locator(FOREIGN).locator(selector).count() == 0, selector
    expect(page.locator("#composer-text")).to_be_visible()
    expect(page.locator("main#conversation")).to_have_count(1)


EVERYTHING = "\n\n".join(ATTACKS)
NAME = "<img src=x onerror=alert(9)>.html"
PLAN = [{"content": text, "status": "pending", "activeForm": text} for text in ATTACKS]
CALLS = [
    ("write_file", {"path": NAME, "content": EVERYTHING}),
    ("read_file", {"path": NAME}),
    ("read_file", {"path": "."}),
    ("bash", {"command": f"cat '{NAME}'"}),
    ("<script>alert(10)</script>", {"</pre><img src=x onerror=alert(11)>": EVERYTHING}),
    ("TodoWrite", {"items": [{"content": IMAGE, "status": IMAGE, "activeForm": IMAGE}]}),
]
PLANNED = Reply(text=EVERYTHING, reasoning=EVERYTHING, tool_calls=[("TodoWrite", {"items": PLAN})], piece=5)
ANSWER = Reply(text=f"{MARKDOWN}\n\n{EVERYTHING}", piece=3)


def test_text_of_model_todos_tools_and_person(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(PLANNED, Reply(tool_calls=CALLS), ANSWER)
    page = visitors.enter(scripted)
    begin(page, EVERYTHING)
    at_rest(page)
    last_turn(page, "completed")
    is_clean(page)
    panel(page).locator("summary").click()
    is_open(page)
    for text in ATTACKS:
        expect(page.locator("#todo-panel .todo__text", has_text=text)).to_have_count(1)
    expect(page.locator("h1")).to_have_text(IMAGE)
    expect(page.locator(".message[data-role='user'] .message__body")).to_contain_text(ATTACKS[2])
    expect(page.locator(".tool-call__subject", has_text=NAME)).to_have_count(3)
    answer = page.locator(".message[data-role='assistant'] .message__body").last
    expect(answer).to_contain_text(ATTACKS[2])
    expect(answer).to_contain_text("picture (example.org)")
    links = answer.locator("a").evaluate_all("all => all.map(link => link.href)")
    addresses = ["https://example.org/tracker.png", "https://example.org/ok", "https://example.org/auto"]
    assert links == [*addresses, "https://example.org/"]
    live = record(page)
    page.reload()
    at_rest(page)
    is_clean(page)
    assert record(page) == live


def test_titles_and_the_endpoint_s_errors(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(status=400, body={"error": {"message": f"Not this: {EVERYTHING}"}}))
    page = visitors.enter(scripted)
    begin(page, EVERYTHING)
    expect(last_turn(page, "failed").locator(".turn__sentence")).to_contain_text(IMAGE)
    is_clean(page)
    page.goto("/conversations/")
    expect(page.locator("main .conversation-row__title").get_by_text(IMAGE, exact=True).first).to_be_visible()
    assert page.locator("main img").count() == 0
