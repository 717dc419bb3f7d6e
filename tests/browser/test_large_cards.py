"""Cards with large output or arguments: folded on the page, whole once opened, and so they stay."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, bare, begin, last_turn, record, unfold, until

COMMAND = "seq -f 'line %.0f of many' 2000"
MIDDLE = "line 1000 of many"
CONTENT = "".join(f"text {number}\n" for number in range(300))


def card(page: Page, tool: str) -> str:
    return f".tool-call[data-tool='{tool}']"


def test_what_is_opened_is_fetched_and_stays(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        Reply(tool_calls=[("bash", {"command": COMMAND})]),
        Reply(tool_calls=[("write_file", {"path": "a.txt", "content": CONTENT})]),
        Reply(text="I go on and on and on", piece=4, stall_after=4),
    )
    page, plain = visitors.enter(scripted), visitors.enter(scripted, java_script_enabled=False)
    # A plain text names no icon, so the browser asks for favicon.ico.
    visitors.expected.append("status of 404")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/calls/" in request.url else None)
    address = begin(page, "Count")
    ran, wrote = page.locator(card(page, "bash")), page.locator(card(page, "write_file"))
    expect(last_turn(page)).to_contain_text("I go on")
    output = ran.locator(".tool-call__output")
    expect(output).to_contain_text("line 2000 of many")
    expect(output).not_to_contain_text(MIDDLE)
    assert not asked, "nothing is fetched for a card that is closed"

    unfold(page)
    ran.locator("summary").click()
    expect(output).to_contain_text(MIDDLE)
    wrote.locator("summary").click()
    expect(wrote.locator(".diff__line")).to_have_count(300)
    output.locator("pre").evaluate("pre => pre.scrollTop = 500")
    page.click("#stop")
    at_rest(page)
    last_turn(page, "stopped")
    expect(output).to_contain_text(MIDDLE)
    expect(wrote.locator(".diff__line")).to_have_count(300)
    assert output.locator("pre").evaluate("pre => pre.scrollTop") == 500
    assert len(asked) == 2, "once each"

    plain.goto(address)
    unfold(plain)
    plain.locator(card(plain, "bash")).locator("summary").click()
    with plain.expect_popup() as opened:
        plain.get_by_role("link", name="Show all").first.click()
    expect(opened.value.locator("body")).to_contain_text(MIDDLE)
    page.reload()
    at_rest(page)
    assert [bare(html) for html in record(page)] == [bare(html) for html in record(plain)]


def test_a_call_that_ends_while_its_card_is_open(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        Reply(tool_calls=[("bash", {"command": f"echo begun; sleep 1; {COMMAND}"})]), Reply(text="Done")
    )
    page = visitors.enter(scripted)
    begin(page, "Count")
    ran = page.locator(card(page, "bash"))
    ran.locator("summary").click()
    expect(ran.locator(".tool-call__output")).to_contain_text("begun")
    at_rest(page)
    expect(ran.locator(".tool-call__output")).to_contain_text(MIDDLE)


def test_an_answer_that_does_not_come_is_asked_for_again(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(tool_calls=[("bash", {"command": COMMAND})]), Reply(text="Done"))
    page = visitors.enter(scripted)
    visitors.expected += ["503", "htmx:response:error"]
    begin(page, "Count")
    at_rest(page)
    page.route("**/calls/**", lambda route: route.fulfill(status=503, body="away"), times=1)
    ran = page.locator(card(page, "bash"))
    with page.expect_response("**/calls/**"):
        ran.locator("summary").click()
    expect(ran.locator(".tool-call__output")).to_contain_text("line 2000 of many")
    expect(ran.locator(".tool-call__output")).not_to_contain_text("away")
    ran.locator("summary").click()
    ran.locator("summary").click()
    expect(ran.locator(".tool-call__output")).to_contain_text(MIDDLE)


def test_a_search_leads_into_what_was_folded(scripted: Site, visitors: Visitors) -> None:
    command = f"{COMMAND[:-4]}1000; echo a quokka; {COMMAND[:-4]}1000"
    call = ("bash", {"command": command.replace("quokka", "quo''kka")})
    scripted.model.script(Reply(tool_calls=[call]), Reply(text="Done"))
    page = visitors.enter(scripted)
    address = begin(page, "Look around")
    at_rest(page)
    call = page.locator(card(page, "bash")).get_attribute("id")
    page.goto(f"{address}?find=a+quokka#{call}")
    expect(page.locator(".tool-call__output")).to_contain_text("a quokka")
    until(page, lambda: page.evaluate("CSS.highlights.has('found')"))
    [shown] = page.evaluate(
        "[...CSS.highlights.get('found')].map(range => [range.toString(), range.getBoundingClientRect().top])"
    )
    assert shown[0] == "a quokka"
    assert 0 < shown[1] < page.viewport_size["height"]  # type: ignore[index]
