"""Pages that are only read run nothing for their reader, whatever their owner wrote and set up."""

from __future__ import annotations

import datetime
import secrets
import sqlite3
from contextlib import closing
from zoneinfo import ZoneInfo

from playwright.sync_api import APIRequestContext, Page, Request, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, todo

PASSWORD = "correct horse battery staple"
# Were these two cut out of the page, a link's title would become attributes that htmx obeys.
HEADERS = 'X-One: hx-ignore\nX-Two: title="zz'
FETCH = "hx-get={} hx-trigger=load hx-select=#user_form hx-target=this"
POST = "hx-post={} hx-trigger=intersect hx-include=#user_form hx-vals=" + '{{"is_superuser":"on"}}'


def link(words: str, title: str) -> str:
    quoted = title.replace('"', '\\"')
    return f'[{words}](https://example.org/ "zz {quoted} ")'


def mallory(scripted: Site, visitors: Visitors, name: str) -> Page:
    """The page of an ordinary user, whose endpoint has those headers."""
    administrator = visitors.enter(scripted)
    form = {"username": name, "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    post(administrator, "/admin/auth/user/add/", **form)
    page = visitors.enter(scripted, signed_in=False)
    page.goto("/accounts/login/")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_selector("#composer-text")
    post(page, "/settings/connections/add/", base_url="https://9.9.9.9/v1", headers=HEADERS)
    return page


def post(page: Page, where: str, **form: str) -> None:
    """Send a form as the page's user; it leads on, so it was accepted."""
    request: APIRequestContext = page.context.request
    origin = request.get("/").url
    [token] = [each["value"] for each in page.context.cookies() if each["name"] == "csrftoken"]
    sent = {**form, "csrfmiddlewaretoken": token}
    response = request.post(where, form=sent, headers={"Origin": origin.rstrip("/")}, max_redirects=0)
    assert response.status == 302, response.text()


def share(page: Page, site: Site) -> str:
    """Share the conversation of the page; the link."""
    post(page, f"{page.url.removeprefix(site.served.address)}share/")
    page.goto(f"{page.url}share/")
    return page.get_by_role("textbox", name="Link").input_value()


def test_a_date_is_asked_for_only_where_it_counts(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Yes?"))
    page = visitors.enter(scripted)
    begin(page, "Hello")
    at_rest(page)
    page.goto(f"{page.url}share/")
    date = page.get_by_label("Last day")
    expect(date).to_be_hidden()
    page.get_by_label("On a date").check()
    expect(date).to_be_visible()
    date.fill("2020-01-01")
    page.get_by_label("In 7 days").check()
    expect(date).to_be_hidden()
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("textbox", name="Link")).to_be_visible()
    visitors.expected.append("400 (Bad Request)")
    page.get_by_label("On a date").check()
    date.fill("2020-01-01")
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a future date, less than a year away.")
    expect(date).to_have_value("2020-01-01")


def user(site: Site, name: str) -> tuple[int, bool]:
    """The user's key, and whether they are a superuser."""
    with closing(sqlite3.connect(site.served.data / "db.sqlite3", timeout=30)) as rows:
        found = rows.execute("SELECT id, is_superuser FROM auth_user WHERE username = ?", [name]).fetchone()
    return int(found[0]), bool(found[1])


def test_a_replay_does_nothing_in_its_readers_name(scripted: Site, visitors: Visitors) -> None:
    name = f"mallory-{secrets.token_hex(4)}"
    page = mallory(scripted, visitors, name)
    pk, _is_superuser = user(scripted, name)
    form = f"/admin/auth/user/{pk}/change/"
    text = "\n\n".join([link("one", FETCH.format(form)), "words " * 12, link("two", POST.format(form))])
    scripted.model.script(Reply(text=text))
    begin(page, "Hello")
    at_rest(page)
    shared = share(page, scripted)

    administrator = visitors.enter(scripted)
    asked: list[Request] = []
    administrator.on("request", lambda request: asked.append(request))
    administrator.goto(f"{shared}replay/")
    administrator.wait_for_selector("#replay[data-ready]")
    expect(administrator.get_by_role("link", name="two")).to_be_visible(timeout=20_000)
    expect(administrator.locator("#replay")).not_to_have_attribute("data-playing", "")
    administrator.wait_for_load_state("networkidle")
    assert user(scripted, name) == (pk, False)
    paths = [f"{each.method} {each.url.removeprefix(scripted.served.address)}" for each in asked]
    assert [path for path in paths if not path.startswith("GET /static/")] == [
        f"GET {shared.removeprefix(scripted.served.address)}replay/"
    ]


def test_a_shared_page_says_what_it_is_and_begins_with_the_conversation(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(todo("completed", "in_progress"), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page, "Plan it")
    at_rest(page)
    shared = share(page, scripted)
    guest = visitors.enter(scripted, signed_in=False)
    guest.goto(shared)
    expect(guest).to_have_title("Plan it · Shared from Agentsite")
    expect(guest.locator("header")).to_contain_text("Shared from Agentsite")
    summary, plan = guest.locator(".reading__plan-summary"), guest.locator("#plan")
    expect(summary).to_contain_text("1 of 2 done")
    expect(summary.get_by_role("listitem")).to_have_count(2)
    tops = [place.bounding_box() for place in (summary, guest.locator(".turn"), plan)]
    heights = [top["y"] for top in tops if top]
    assert heights == sorted(heights)
    assert len(heights) == 3
    summary.get_by_role("link", name="Plan history").click()
    expect(plan).to_be_in_viewport()
    guest.get_by_role("link", name="Replay").click()
    expect(guest.locator("header")).to_contain_text("Shared from Agentsite")
    expect(guest.locator("header")).to_contain_text("Replay")


def test_revoking_a_link_asks_first(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Done."))
    page = visitors.enter(scripted)
    visitors.expected.append("410 (Gone)")
    begin(page, "Hello")
    at_rest(page)
    shared = share(page, scripted)
    guest = visitors.enter(scripted, signed_in=False)
    page.get_by_role("button", name="Revoke").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog).to_contain_text("This cannot be undone.")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    guest.goto(shared)
    expect(guest.get_by_text("Done.")).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    dialog.get_by_role("button", name="Revoke").click()
    expect(page.locator(".share-link")).to_contain_text("revoked")
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
    guest.reload()
    expect(guest.get_by_role("heading", name="This link was revoked")).to_be_visible()
    expect(guest.get_by_text("Ask the person who sent it for a new one.")).to_be_visible()


def test_times_of_shared_pages_are_those_of_their_reader(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("completed"), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page, "Plan it")
    at_rest(page)
    shared = share(page, scripted)
    plain = visitors.enter(scripted, signed_in=False, java_script_enabled=False)
    for zone in ("Asia/Kolkata", "America/New_York"):
        guest = visitors.enter(scripted, signed_in=False, timezone_id=zone)
        guest.goto(shared)
        plain.goto(shared)
        expect(plain.get_by_text("All times are UTC.")).to_be_visible()
        expect(guest.get_by_text("All times are UTC.")).to_be_hidden()
        for path in ("header time", ".timeline__when [data-clock]"):
            moved = guest.locator(path).first
            moment = datetime.datetime.fromisoformat(str(moved.get_attribute("datetime")))
            assert f"{moment.astimezone(ZoneInfo(zone)):%H:%M}" in str(moved.text_content())
            assert f"{moment:%H:%M}" in str(plain.locator(path).first.text_content())
        guest.goto(f"{shared}replay/")
        expect(guest.locator("header time")).not_to_contain_text("UTC")
        plain.goto(f"{shared}replay/")
        expect(plain.locator("header time")).to_contain_text("UTC")


# What markup or a script could do in the reader's name, were there any: each answers with what became of it.
ATTEMPTS = {
    "fetch": "() => fetch('/').then(() => 'sent', () => 'refused')",
    "beacon": "() => navigator.sendBeacon('/', 'x') ? 'sent' : 'refused'",
    "form": """() => new Promise((done) => {
      addEventListener("securitypolicyviolation", () => done("refused"), { once: true });
      const form = Object.assign(document.createElement("form"), { method: "post", action: "/" });
      document.body.append(form);
      form.submit();
    })""",
    "inline": """() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      return window.ran ? "ran" : "refused";
    }""",
    "htmx": "() => window.htmx ? 'there' : 'refused'",
}


def test_finished_calls_are_folded_on_a_shared_page_too(scripted: Site, visitors: Visitors) -> None:
    writes = [("write_file", {"path": name, "content": "x = 1\n"}) for name in ("a.py", "b.py")]
    scripted.model.script(
        todo("in_progress", text="I look."),
        Reply(tool_calls=writes),
        Reply(tool_calls=[("read_file", {"path": "a.py"}), ("read_file", {"path": "none.py"})]),
        todo("completed"),
        Reply(text="Done."),
    )
    page = visitors.enter(scripted)
    begin(page, "Look at them")
    at_rest(page)
    shared = share(page, scripted)

    guest = visitors.enter(scripted, signed_in=False, java_script_enabled=False)
    guest.goto(shared)
    calls, line = guest.locator(".tool-call"), guest.locator(".call-group__line").last
    expect(line).to_have_text("Read 1 file, changed 2")
    expect(calls).to_have_count(4)
    expect(calls.locator("visible=true")).to_have_count(1)
    expect(calls.locator("visible=true")).to_have_attribute("data-status", "failed")
    markers = guest.locator(".todo-marker").locator("visible=true")
    expect(markers).to_have_count(0)
    line.locator("summary").click()
    expect(calls.locator("visible=true")).to_have_count(4)
    expect(markers).to_have_count(2)
    line.locator("summary").click()
    expect(calls.locator("visible=true")).to_have_count(1)
    guest.goto(f"{shared}#{calls.first.get_attribute('id')}")
    expect(calls.first).to_be_in_viewport()
    guest.emulate_media(media="print")
    expect(calls.locator("visible=true")).to_have_count(4)


def test_a_page_that_is_only_read_can_send_nothing(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Done."))
    page = visitors.enter(scripted)
    conversation = begin(page, "Hello")
    at_rest(page)
    shared = share(page, scripted)
    visitors.expected += ["Content Security Policy", "Refused to", "violates the following"]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    for address in (shared, f"{shared}replay/", f"{conversation}replay/"):
        page.goto(address)
        asked.clear()
        for name, attempt in ATTEMPTS.items():
            if name != "beacon":
                assert page.evaluate(attempt) == "refused", name
            else:
                page.evaluate(attempt)  # which is queued first, and then refused without a word
        page.wait_for_load_state("networkidle")
        assert page.url == address
        assert [each for each in asked if "/static/" not in each] == []
