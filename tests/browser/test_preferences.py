"""Language, theme and time zone: of the browser, chosen in Preferences, in every tab and frame."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, last_turn, send

GROUND = "getComputedStyle(document.documentElement).backgroundColor"


def save(page: Page, **choices: str) -> None:
    page.goto("/settings/preferences/")
    for name, value in choices.items():
        page.locator(f"select[name={name}]").select_option(value)
    page.locator("#preferences button[type=submit]").click()
    page.locator(".messages").wait_for()


def test_the_browser_chooses_and_preferences_override(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, locale="zh-CN", timezone_id="Asia/Shanghai", color_scheme="light")
    with page.expect_response(lambda answer: urlsplit(answer.url).path.endswith("/browser/")) as told:
        page.goto("/")
    assert told.value.status == 205
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-zone", "Asia/Shanghai")

    # A worker draws in the same language.
    scripted.model.script(Reply(status=401, body={"error": {"message": "Incorrect API key"}}))
    begin(page, "do it")
    expect(page.locator(".turn[data-status=failed]")).to_contain_text("重试")
    assert not [url for url in sent if "/browser/" in url], "told once"

    light = page.evaluate(GROUND)
    other = page.context.new_page()
    save(other, language="en", theme="dark", time_zone="Europe/Paris")
    expect(page.locator("html")).to_have_attribute("lang", "en")  # the first tab is redrawn
    assert page.evaluate(GROUND) == other.evaluate(GROUND) != light
    expect(page.locator("html")).to_have_attribute("data-zone", "Europe/Paris")
    expect(page.locator("meta[name=theme-color]")).to_have_attribute("content", "#181d1a")
    scripted.model.script(Reply(status=401, body={"error": {"message": "Incorrect API key"}}))
    send(page, "again")
    expect(page.locator(".turn[data-status=failed]").last).to_contain_text("Retry")

    save(other, language="", theme="", time_zone="")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator("html")).not_to_have_attribute("data-theme", re.compile("."))
    assert page.evaluate(GROUND) == light


@pytest.mark.parametrize("is_phone", [False, True])
def test_the_keyboard_goes_on_at_what_is_said(scripted: Site, visitors: Visitors, is_phone: bool) -> None:
    """A field that is wrong raises no keyboard on a screen."""
    visitors.expected.append("status of 400 (Bad Request)")
    page = visitors.enter(scripted, has_touch=is_phone, is_mobile=is_phone)
    page.goto("/settings/preferences/")
    page.locator("#preferences button[type=submit]").press("Enter")
    expect(page.locator(".messages")).to_be_focused()
    page.goto("/settings/preferences/password/")
    page.get_by_label("New password", exact=True).fill("12345678")
    page.get_by_label("Confirm new password").fill("12345678")
    page.keyboard.press("Enter")
    wrong = page.locator("[aria-invalid=true]").first
    expect(wrong).to_be_visible()
    if is_phone:
        expect(wrong).not_to_be_focused()
    else:
        expect(wrong).to_be_focused()


def test_two_browsers_speak_their_own_languages(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="So far", piece=6, stall_after=2))
    chinese = visitors.enter(scripted, locale="zh-CN")
    begin(chinese, "do it")
    expect(last_turn(chinese, "running")).to_contain_text("正在输出")
    english = visitors.enter(scripted, locale="en-US")
    # The Chinese browser remains the latest that told of itself.
    english.route("**/browser/", lambda route: route.fulfill(status=204))
    for page, words, others in ((english, "Writing", "正在输出"), (chinese, "正在输出", "Writing")) * 2:
        page.goto(chinese.url)
        page.wait_for_selector(LIVE)
        expect(last_turn(page, "running")).to_contain_text(words)
        expect(last_turn(page)).not_to_contain_text(others)


def test_recent_times_are_relative_and_stay_fresh(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Done."))
    page = visitors.enter(scripted, timezone_id="Asia/Shanghai")
    begin(page, "do it")
    at_rest(page)
    page.clock.install()
    page.goto("/conversations/")
    listed = page.locator(".record time").first
    expect(listed).to_have_text("just now")
    exact = listed.get_attribute("title") or ""
    day, _space, time = exact.rpartition(" ")
    for forward, text in ((120, "2 min ago"), (3 * 3600, "3 hr ago"), (86_400, f"{day[:-5]}, {time[:5]}")):
        page.clock.fast_forward(forward * 1000)
        expect(listed).to_have_text(text)
    assert listed.get_attribute("title") == exact


# Whether the messages tell their times in the zone of this browser.
IN_ITS_ZONE = """() => {
    const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
    const times = [...document.querySelectorAll(".message__time")];
    return times.every((time) => time.textContent.endsWith(clock.format(new Date(time.dateTime))));
}"""
# The tab leaves the view, and comes back after two minutes.
AWAY = """() => {
    const look = (isAway) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => isAway });
        document.dispatchEvent(new Event("visibilitychange"));
    };
    look(true);
    const now = Date.now;
    Date.now = () => now() + 120_000;
    look(false);
}"""


def test_times_are_those_of_the_browser_in_view(scripted: Site, visitors: Visitors) -> None:
    """Of a user who has another browser in another zone, too."""
    scripted.model.script(Reply(text="Done."), Reply(text="Done again."))
    here = visitors.enter(scripted, timezone_id="UTC")
    begin(here, "do it")
    at_rest(here)
    assert here.evaluate(IN_ITS_ZONE)
    there = visitors.enter(scripted, timezone_id="Asia/Shanghai")
    there.goto(here.url)
    there.wait_for_selector(f"[data-zone='Asia/Shanghai'] {LIVE}")
    assert there.evaluate(IN_ITS_ZONE)
    send(there, "once more")
    at_rest(there)
    assert there.evaluate(IN_ITS_ZONE)
    expect(here.locator(".message__time")).to_have_count(2)
    with here.expect_event("load"):
        here.evaluate(AWAY)
    assert here.evaluate(IN_ITS_ZONE)


def test_lists_of_choices_are_readable_in_the_dark(scripted: Site, visitors: Visitors) -> None:
    """A browser may show one without a ground of its own in the theme's light text on white."""
    page = visitors.enter(scripted, color_scheme="dark")
    page.goto("/settings/preferences/")
    ground = "place => getComputedStyle(place).backgroundColor"
    grounds = page.locator("option").evaluate_all(f"all => all.map({ground})")
    assert set(grounds) == {page.locator("html").evaluate(ground)}


def test_emphasis_is_seen_in_chinese(scripted: Site, visitors: Visitors) -> None:
    """Its fonts have no italics, so that the browser slants them."""
    page = visitors.enter(scripted, locale="zh-CN")
    scripted.model.script(Reply("请注意 *不要* 删除"))
    begin(page, "删除吗")
    emphasis = page.locator(".message__body em")
    expect(emphasis).to_have_text("不要")
    expect(emphasis).to_have_css("font-style", "italic")
    assert "style" in str(emphasis.evaluate("place => getComputedStyle(place).fontSynthesis"))
