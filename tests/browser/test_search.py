"""Searching in English and in Chinese, from the keyboard, and landing on the very place."""

from __future__ import annotations

import re
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from chat.demo.reply import Call, Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    PASTE,
    TOPMOST,
    at_rest,
    begin,
    come_to_rest,
    is_open,
    panel,
    send,
    todo,
    turns,
    until,
)

ANSWER = "\n\n".join([f"Paragraph {number} about nothing." for number in range(60)])


@pytest.fixture
def page(scripted: Site, visitors: Visitors) -> Page:
    """On the first page, with a conversation behind that has a plan, a call and a long answer."""
    items = [{"content": "重构订单模块", "status": "in_progress", "activeForm": "正在重构订单模块"}]
    scripted.model.script(
        Reply(
            text="I will **look at** the `zebra` file.",
            tool_calls=[("read_file", {"path": "zebra_notes.txt"})],
        ),
        Reply(tool_calls=[("TodoWrite", {"items": items})]),
        Reply(text=f"{ANSWER}\n\n配置文件里有一个quokka错误。"),
    )
    page = visitors.enter(scripted)
    begin(page, "Look around in the notes")
    at_rest(page)
    wait_until_found(page, "quokka错误")
    page.goto("/")
    return page


def wait_until_found(page: Page, text: str) -> None:
    """A worker indexes the text of a turn within two seconds after its end."""
    key = urlsplit(page.url).path.split("/")[2]

    def is_found() -> bool:
        answer = page.request.get(f"/conversations/?{urlencode({'q': text, 'in': key})}")
        return "search-place" in answer.text()

    until(page, is_found)


def search(page: Page, text: str) -> None:
    """Type into the box, and look at the results."""
    page.locator(".search-box [name='q']").focus()
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/?q=*")


def test_an_identifier_leads_to_the_card_of_the_call(page: Page) -> None:
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.locator("#palette [name='q']")).to_be_focused()
    page.keyboard.type("zebra_notes")
    page.locator("#palette").get_by_text("Search all conversations for “zebra_notes”").click()
    place = page.locator(".search-place[data-kind='call']").first
    expect(place.locator("mark").first).to_have_text("zebra_notes")
    place.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/\?find=zebra_notes#tool-call-\d+$"))
    card = page.locator(".tool-call:target")
    expect(card).to_have_attribute("open", "")
    expect(card).to_be_in_viewport()


def test_chinese_leads_to_the_item_of_the_plan(page: Page) -> None:
    search(page, "订单模")
    place = page.locator(".search-place[data-kind='todo']").first
    expect(place.locator("mark").first).to_have_text("订单模")
    place.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/plan/#item-\w+$"))
    expect(page.locator(".plan-line:target")).to_contain_text("重构订单模块")


def test_latin_in_chinese_leads_to_the_message(page: Page) -> None:
    search(page, "quokka错")
    page.locator(".search-place[data-kind='message']").first.get_by_role("link").click()
    message = page.locator(".message:target")
    expect(message).to_contain_text("一个quokka错误")
    expect(page.get_by_text("一个quokka错误")).to_be_in_viewport()
    assert page.evaluate("[...CSS.highlights.get('found')].map(String)") == ["quokka错"]


def test_an_input_methods_enter_searches_for_nothing(page: Page) -> None:
    box = page.locator(".search-box [name='q']")
    box.fill("ding")
    pressed = "{key: 'Enter', isComposing: true, bubbles: true, cancelable: true}"
    goes_on = box.evaluate(f"box => box.dispatchEvent(new KeyboardEvent('keydown', {pressed}))")
    assert not goes_on, "the browser is kept from sending the form"


def test_results_come_while_one_types(page: Page) -> None:
    """With Markdown as it is read, at an address of their own, and not while an input method composes."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "?q=" in request.url else None)
    page.goto("/conversations/")
    box = page.locator("#search-q")
    box.focus()
    page.keyboard.type("zebra fi")
    place = page.locator(".search-place[data-kind='message']").first
    expect(place.locator("mark")).to_have_text(["zebra", "fi"])
    expect(place).to_contain_text("I will look at the zebra file.")
    expect(place.locator("code")).to_have_text("zebra")
    expect(page).to_have_url(re.compile(r"/conversations/\?q=zebra\+fi$"))
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Status").select_option("failed")
    expect(page.get_by_text("No results.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?q=zebra\+fi&status=failed$"))
    page.get_by_label("Status").select_option("")
    expect(place).to_be_visible()
    tab = page.locator("#list-tabs [aria-current]")
    expect(tab).to_have_text("All")
    page.get_by_label("Plan", exact=True).select_option("unfinished")
    expect(tab).to_have_text("Unfinished")
    page.locator("#list-tabs").get_by_role("link", name="Archive").click()
    expect(page.get_by_text("No results.")).to_be_visible()
    expect(box).to_have_value("zebra fi")
    expect(tab).to_have_text("Archive")
    page.locator("#list-tabs").get_by_role("link", name="All").click()
    expect(place).to_be_visible()
    box.focus()
    before = len(asked)
    compose = """(box, [value, isComposing]) => {
        box.value = value;
        box.dispatchEvent(new InputEvent("input", { bubbles: true, isComposing }));
        if (!isComposing) box.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }));
    }"""
    box.evaluate(compose, ["ding'dan", True])
    box.evaluate(compose, ["订单模", False])
    expect(page.locator(".search-place[data-kind='todo'] mark").first).to_have_text("订单模")
    assert not [url for url in asked[before:] if "ding" in url]
    box.fill("")
    expect(page.locator(".search-place")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/conversations/$"))
    expect(page.locator("#found .conversation-row").first).to_be_visible()
    expect(box).to_be_focused()
    page.locator("#found [name='c']").first.check()
    expect(page.locator("#bulk-count")).not_to_be_empty()  # rows can be chosen as before


# Those that are narrower than what they show.
CUT = """selects => selects.filter(select => {
    const { width } = select.getBoundingClientRect();
    Object.assign(select.style, { fieldSizing: "content", inlineSize: "auto", justifySelf: "start" });
    const natural = select.getBoundingClientRect().width;
    Object.assign(select.style, { fieldSizing: "", inlineSize: "", justifySelf: "" });
    return natural > width;
}).map(select => select.name)"""


def test_filters_are_cleared_where_they_were_set(page: Page) -> None:
    page.goto("/conversations/")
    clear = page.get_by_role("link", name="Clear filters")
    page.locator("summary", has_text="Filters").click()
    expect(clear).to_be_hidden()
    page.get_by_label("Status").select_option("waiting")
    page.get_by_label("Plan", exact=True).select_option(label="Unfinished plan")
    assert page.locator(".search__field select").evaluate_all(CUT) == []
    page.get_by_label("Plan", exact=True).select_option("")
    page.get_by_label("Status").select_option("failed")
    answered = page.locator("#found .conversation-row", has_text="Look around in the notes")
    expect(answered).to_have_count(0)
    clear.click()
    expect(answered.first).to_be_visible()
    expect(page.get_by_label("Status")).to_have_value("")
    expect(page).to_have_url(re.compile(r"/conversations/$"))
    expect(clear).to_be_hidden()


def test_without_a_script_and_narrowed(page: Page, scripted: Site, visitors: Visitors) -> None:
    plain = visitors.enter(scripted, java_script_enabled=False)
    plain.goto("/conversations/")
    plain.locator("main").get_by_role("searchbox").fill("zebra")
    plain.locator("summary", has_text="Filters").click()
    plain.get_by_label("Status").select_option("completed")
    plain.get_by_role("button", name="Search").click()
    expect(plain.locator(".search-result")).not_to_have_count(0)
    expect(plain.get_by_label("Status")).to_have_value("completed")
    plain.get_by_label("Status").select_option("failed")
    plain.get_by_role("button", name="Search").click()
    expect(plain.get_by_text("No results.")).to_be_visible()


@pytest.mark.parametrize(
    ("link", "leads_to"), [("Board", "/board/"), ("Settings", "/settings/connections/"), ("Look around", "/")]
)
def test_a_click_right_after_typing_leads_where_it_says(page: Page, link: str, leads_to: str) -> None:
    page.goto("/conversations/")
    page.locator(".search [name='q']").press_sequentially("zebra")
    expect(page.locator("#found mark").first).to_have_text("zebra")
    page.locator("#sidebar").get_by_role("link", name=link).first.click()
    expect(page.locator("#found")).to_have_count(0)
    expect(page).to_have_url(re.compile(f"{leads_to}$"))


def test_enter_while_what_is_typed_is_searched_for(page: Page) -> None:
    """On a slow line what answers the typing comes after Enter, and must not stop what Enter asked for."""
    page.goto("/conversations/")
    held: dict[bool, Route] = {}
    page.route(
        "**/conversations/?q=*", lambda route: held.update({"hx-request" in route.request.headers: route})
    )
    box = page.locator(".search [name='q']")
    box.press_sequentially("zebra")
    until(page, lambda: True in held)
    box.press("Enter")
    until(page, lambda: False in held)
    expect(page.locator("#content[aria-busy]")).to_be_visible()
    held[True].continue_()
    expect(page.locator("#found mark").first).to_have_text("zebra")
    held[False].continue_()
    expect(page.locator("#content:not([aria-busy])")).to_be_visible()
    expect(page.locator("#found mark").first).to_have_text("zebra")
    expect(page).to_have_url(re.compile(r"/conversations/\?q=zebra&"))


def ask_twice(page: Page) -> None:
    """A conversation of two versions, of which the second, which is shown, says "Nothing here."."""
    begin(page, "Where is it?")
    at_rest(page)
    turns(page).first.hover()
    turns(page).first.get_by_role("button", name="Run again").click()
    expect(page.locator("#transcript")).to_contain_text("Nothing here.")
    at_rest(page)


def follow_to_another_version(page: Page, word: str) -> None:
    """Find the word in a message of the version that is not shown, and follow the link."""
    search(page, word)
    page.locator(".search-place[data-kind='message']").get_by_role("link").click()
    page.wait_for_url("**/conversations/*-*/?version=*")


def test_a_hit_in_another_version_is_a_click_away(scripted: Site, visitors: Visitors) -> None:
    plan = [{"content": "Look", "status": "pending", "activeForm": "Looking"}]
    later = Reply(text=f"{ANSWER}\n\nThe wombat is here.\n\n{ANSWER}")
    scripted.model.script(later, Reply(tool_calls=[("TodoWrite", {"items": plan})]), Reply("Nothing here."))
    page = visitors.enter(scripted)
    ask_twice(page)
    follow_to_another_version(page, "wombat")
    notice = page.locator(".elsewhere")
    expect(notice.get_by_text("“wombat” is in another version of this conversation.")).to_be_in_viewport()
    expect(panel(page)).to_be_visible()
    expect(page.locator("#transcript")).to_contain_text("Nothing here.")
    notice.get_by_role("button", name="Show that version").click()
    expect(page.locator("#transcript")).to_contain_text("The wombat is here.")
    expect(notice).to_have_count(0)
    expect(page.get_by_text("The wombat is here.")).to_be_in_viewport()
    until(page, lambda: page.evaluate("String([...(CSS.highlights.get('found') ?? [])][0])") == "wombat")
    expect(turns(page).first.locator(".versions")).to_have_text("1 of 2")
    page.reload()
    expect(page.get_by_text("The wombat is here.")).to_be_in_viewport()
    page.go_back()
    page.wait_for_url("**/conversations/?q=wombat**")
    page.locator(".search-place[data-kind='message']").get_by_role("link").click()
    expect(page.get_by_text("The wombat is here.")).to_be_in_viewport()
    expect(notice).to_have_count(0)


def test_a_file_in_another_version_is_a_click_away(scripted: Site, visitors: Visitors) -> None:
    writes = Call("write_file", {"path": "bandicoot.md", "content": "A bandicoot."})
    scripted.model.script(
        Reply(tool_calls=[writes]), Reply("Written."), Reply("Nothing here. I had [the notes](bandicoot.md).")
    )
    visitors.expected.append("404 (Not Found)")
    page = visitors.enter(scripted, viewport={"width": 1440, "height": 900})
    ask_twice(page)
    talk = page.url
    wait_until_found(page, "bandicoot.md")
    search(page, "bandicoot.md")
    page.locator(".search-place[data-kind='file']").get_by_role("link").click()
    expect(page.get_by_text("“bandicoot.md” is in another version of this conversation.")).to_be_visible()
    page.get_by_role("button", name="Show that version").click()
    expect(page.get_by_text("A bandicoot.")).to_be_visible()
    expect(page).to_have_url(f"{talk}files/file/?path=bandicoot.md")
    page.go_back()
    page.wait_for_url("**/conversations/?q=bandicoot.md**")

    page.goto(talk)
    at_rest(page)
    page.get_by_role("button", name="Next version").click()
    turns(page).last.get_by_role("link", name="the notes").click()
    beside = page.locator("#files-panel")
    beside.get_by_role("button", name="Show that version").click()
    expect(beside.get_by_text("A bandicoot.")).to_be_visible()
    expect(beside.get_by_role("button", name="Show that version")).to_have_count(0)
    expect(page.locator("#transcript")).to_contain_text("Written.")
    expect(turns(page).first.locator(".versions")).to_have_text("1 of 2")
    expect(page).to_have_url(talk)


LONG_LIST = "\n".join(f"Item {number}" for number in range(14))


SIZES = [(1536, 864), (1229, 691), (1366, 768), (768, 1024), (390, 844)]


def test_the_notices_above_the_composer_are_whole_beside_a_long_list(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted, viewport={"width": 1536, "height": 864})
    scripted.model.script(Reply("The narwhal is here."), Reply("Nothing here."))
    ask_twice(page)
    page.locator("#todo-begin summary").click()
    page.locator("#todo-first").evaluate(PASTE, LONG_LIST)
    expect(panel(page).locator(".todo")).to_have_count(14)
    follow_to_another_version(page, "narwhal")
    is_open(page)
    elsewhere, archived = page.locator(".elsewhere"), page.locator("#archived")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        until(page, lambda: elsewhere.evaluate(TOPMOST))
    page.get_by_role("button", name="Conversation menu").click()
    page.locator("#conversation-menu").get_by_role("button", name="Archive").click()
    expect(archived).to_contain_text("Archived.")
    ways_on = [
        page.locator("#unfinished").get_by_role("button", name=name) for name in ("Continue", "Dismiss")
    ]
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for place in (archived, elsewhere, *ways_on):
            until(page, lambda place=place: place.evaluate(TOPMOST))  # type: ignore[misc]


@pytest.mark.parametrize(("way", "word"), [("within", "capybara"), ("load", "axolotl")])
def test_a_hit_near_the_end_is_in_view_above_an_open_list(
    scripted: Site, visitors: Visitors, way: str, word: str
) -> None:
    page = visitors.enter(scripted, viewport={"width": 1280, "height": 720})
    scripted.model.script(todo(*["completed"] * 6), Reply(ANSWER), Reply("It answers."))
    begin(page, "Plan it")
    at_rest(page)
    send(page, f"And the {word}?")
    at_rest(page)
    wait_until_found(page, word)
    page.locator(".turn__list").click()
    is_open(page)
    if way == "within":
        page.get_by_role("link", name="Board").click()
    else:
        page.goto("/board/")
    search(page, word)
    hit = page.locator(".search-place[data-kind='message']", has_text="And the").get_by_role("link")
    if way == "within":
        hit.click()
    else:
        page.goto(hit.get_attribute("href") or "")
    is_open(page)
    found = turns(page).last.locator("[data-role='user'] .message__body")
    until(page, lambda: found.evaluate(TOPMOST))


# How much of what was found is cut off beneath its excerpt.
CUT_OFF = """mark => mark.getBoundingClientRect().bottom
    - mark.closest(".search-place__text, .option__excerpt").getBoundingClientRect().bottom"""


@pytest.mark.parametrize("lines", [18, 60])
def test_a_hit_is_in_view_below_turns_that_were_not_laid_out(
    scripted: Site, visitors: Visitors, lines: int
) -> None:
    """The heights of turns that nobody has looked at are guesses: less than they are, for these."""
    long = "\n\n".join(f"Line {number}" for number in range(lines))
    scripted.model.script(Reply(long), Reply("Nothing."))
    page = visitors.enter(scripted, viewport={"width": 1440, "height": 900})
    begin(page, "Count")
    at_rest(page)
    send(page, "A pelican at last")
    at_rest(page)
    wait_until_found(page, "pelican")
    page.goto("/board/")
    page.keyboard.press("Control+k")
    page.keyboard.type("pelican")
    hit = page.locator("#palette").get_by_role("option").filter(has_text="pelican").first
    hit.click()
    page.wait_for_url("**#message-*")
    come_to_rest(page)
    expect(page.locator("#transcript").get_by_text("A pelican at last")).to_be_in_viewport(ratio=1)
    page.reload()
    come_to_rest(page)
    expect(page.locator("#transcript").get_by_text("A pelican at last")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_an_excerpt_shows_what_was_found(scripted: Site, visitors: Visitors, width: int) -> None:
    text = (
        "我们还需要给每个人准备好换洗的衣物和常用的药品，" * 9
        + f"也不要忘了水獭{width}，"
        + "其他的路上再买。" * 20
    )
    scripted.model.script(Reply(text=text))
    page = visitors.enter(scripted, viewport={"width": width, "height": 844}, has_touch=True, is_mobile=True)
    begin(page, "What to pack?")
    at_rest(page)
    page.goto(f"/conversations/?q=水獭{width}")
    found = page.locator(".search-place__text mark").last
    until(page, lambda: page.reload() is not None and found.count() == 1)  # once it is indexed
    assert found.evaluate(CUT_OFF) <= 0
    page.goto("/")
    page.keyboard.press("Control+k")
    page.keyboard.insert_text(f"水獭{width}")
    found = page.locator("#palette .option__excerpt mark").last
    expect(found).to_be_attached()
    assert found.evaluate(CUT_OFF) <= 0
