"""Moving between the pages without loading them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, WebSocket, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, come_to_rest, send, todo, unfold, until

SIDEBAR = {"Board": "Board", "All conversations": "Conversations", "Settings": "Connections"}
LISTENERS = """() => {
  window.listening = new Set();
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  const names = new Map();
  const nameOf = (target, type, listener) => {
    if (!names.has(listener)) names.set(listener, names.size);
    return `${target === window} ${type} ${names.get(listener)}`;
  };
  const isOurs = (target) => target === window || target === document;
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    if (isOurs(this) && !options?.once) {
      const name = nameOf(this, type, listener);
      window.listening.add(name);
      options?.signal?.addEventListener("abort", () => window.listening.delete(name), { once: true });
    }
    return addEventListener.call(this, type, listener, options);
  };
  EventTarget.prototype.removeEventListener = function (type, listener, options) {
    if (isOurs(this)) window.listening.delete(nameOf(this, type, listener));
    return removeEventListener.call(this, type, listener, options);
  };
}"""

TYPE_ON = """() => document.addEventListener("keydown", (event) => {
  if (event.key === "Enter") document.getElementById("composer-text").value += " and";
})"""

# How long it takes from a click on a link until the page's content is painted, in milliseconds.
CLOCK = """() => {
  window.taken = [];
  let began = 0;
  addEventListener("click", () => (began = performance.now()), true);
  addEventListener("content", () =>
    requestAnimationFrame(() => setTimeout(() => taken.push(performance.now() - began))));
}"""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


@pytest.fixture
def page(scripted: Site, visitors: Visitors) -> Page:
    return visitors.enter(scripted)


def conversations(page: Page, site: Site, *texts: str) -> list[str]:
    """Conversations with one answered message each; their addresses."""
    addresses = []
    for text in texts:
        site.model.script(Reply(text=f"Answer to {text}.\n\n" + "A line.\n\n" * 40))
        addresses.append(begin(page, text))
        at_rest(page)
    return addresses


def stays(page: Page) -> Callable[[], bool]:
    """Mark the document; whether it still is the same."""
    page.evaluate("document.documentElement.dataset.mark = 'here'")
    return lambda: page.locator("html[data-mark=here]").count() == 1


def row(page: Page, title: str) -> None:
    page.locator("#sidebar").get_by_role("link", name=title).first.click()
    expect(page).to_have_title(title)


def test_above_an_unfolded_list_the_place_is_kept(page: Page, scripted: Site) -> None:
    """As the page is loaded again, and by Back: with the list folded there would be no such place."""
    scripted.model.script(todo("completed", "pending", "pending"), Reply(text="A line.\n\n" * 60))
    begin(page, "Plan it")
    at_rest(page)
    page.click("#todo-panel > summary")
    expect(page.locator("#todo-panel")).to_have_attribute("open", "")
    come_to_rest(page)
    view = page.locator("#scroll")
    view.evaluate("view => (view.scrollTop = view.scrollHeight - view.clientHeight - 90)")
    top = come_to_rest(page)
    expect(page.locator("#to-end")).to_be_visible()
    page.reload()
    page.wait_for_selector(LIVE)
    assert come_to_rest(page) == pytest.approx(top, abs=2)
    page.locator("#sidebar").get_by_role("link", name="Board").click()
    expect(page.locator("#content h1")).to_have_text("Board")
    page.go_back()
    page.wait_for_selector(LIVE)
    assert come_to_rest(page) == pytest.approx(top, abs=2)
    expect(page.locator("#todo-panel")).to_have_attribute("open", "")


def test_content_changes_while_the_page_stays(page: Page, scripted: Site) -> None:
    first, second = conversations(page, scripted, "First talk", "Second talk")
    is_same = stays(page)
    field, heading = page.locator("#composer-text"), page.locator("#content h1")
    page.fill("#composer-text", "A draft of the second")

    row(page, "First talk")
    page.wait_for_selector(LIVE)
    expect(page).to_have_url(first)
    expect(page.locator("#sidebar [aria-current=page]")).to_have_text(re.compile("First talk"))
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    expect(page.locator("#to-end")).to_be_hidden()
    page.locator("#scroll").evaluate("view => view.scrollTop = 200")
    expect(page.locator("#to-end")).to_be_visible()

    for name, title in SIDEBAR.items():
        page.locator("#sidebar").get_by_role("link", name=name).click()
        expect(page).to_have_title(re.compile(title))
        expect(heading).to_be_focused()
        expect(page.locator("#sidebar .conversation-row")).not_to_have_count(0)
        expect(page.locator("#sidebar [aria-current=page]")).to_have_text(re.compile(name))

    for title in ("Conversations", "Board", "First talk"):
        page.go_back()
        expect(page).to_have_title(re.compile(title))
    expect(page.locator("#to-end")).to_be_visible()
    assert page.locator("#scroll").evaluate("view => view.scrollTop") == pytest.approx(200, abs=2)
    page.go_back()
    expect(page).to_have_url(second)
    expect(field).to_have_value("A draft of the second")
    for _forward in range(4):
        page.go_forward()
    expect(page).to_have_title("Connections")
    assert is_same()


def test_what_was_left_is_closed(page: Page, scripted: Site) -> None:
    """Sockets and listeners are as many as on the first page, and the one socket belongs to what is shown."""
    page.add_init_script(f"({LISTENERS})()")
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    first, _second = conversations(page, scripted, "Third talk", "Fourth talk")
    sockets.clear()
    page.goto(first)
    page.wait_for_selector(LIVE)
    at_first = page.evaluate("window.listening.size")
    is_same = stays(page)
    for _round in range(3):
        row(page, "Fourth talk")
        page.wait_for_selector(LIVE)
        for name, title in SIDEBAR.items():
            page.locator("#sidebar").get_by_role("link", name=name).click()
            expect(page).to_have_title(re.compile(title))
        row(page, "Third talk")
        page.wait_for_selector(LIVE)
    until(page, lambda: [each.url for each in sockets if not each.is_closed()] == [socket_of(first)])
    assert page.evaluate("window.listening.size") == at_first
    assert is_same()

    scripted.model.script(Reply(text="Still alive."))
    page.fill("#composer-text", "Hello again")
    page.press("#composer-text", "Enter")
    expect(page.locator("article.turn").last).to_contain_text("Still alive.")


def socket_of(address: str) -> str:
    return address.replace("http", "ws", 1).replace("/conversations/", "/ws/conversations/")


def test_other_pages_are_loaded(page: Page, scripted: Site, visitors: Visitors) -> None:
    conversations(page, scripted, "A talk")
    is_same = stays(page)
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Board").click(modifiers=["ControlOrMeta"])
    expect(opened.value).to_have_title(re.compile("Board"))
    assert is_same()
    expect(page).to_have_title("A talk")

    visitors.expected.append("500 (Internal Server Error)")
    page.route("**/board/", lambda route: route.fulfill(status=500, body="<p>broken"), times=1)
    received: list[str | bytes] = []  # by the page that is loaded
    page.on("websocket", lambda socket: socket.on("framereceived", lambda each: received.append(each)))
    page.get_by_role("link", name="Board").click()
    expect(page).to_have_title(re.compile("Board"))
    assert not is_same()

    is_same = stays(page)
    until(page, lambda: received)  # a page whose socket is refused would be loaded anew
    page.context.clear_cookies()
    page.get_by_role("link", name="All conversations").click()
    page.wait_for_url("**/accounts/**")
    assert not is_same()


def test_a_conversation_is_renamed_in_place(page: Page, scripted: Site) -> None:
    conversations(page, scripted, "Old name")
    title, field = page.locator("#title"), page.locator(".bar .rename")
    title.get_by_role("button").click()
    expect(field).to_be_focused()
    page.keyboard.type("Never mind")
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(title).to_have_text("Old name")
    page.keyboard.press("F2")
    page.keyboard.type("New name")
    page.keyboard.press("Enter")
    expect(page).to_have_title("New name")
    expect(title).to_have_text("New name")
    expect(page.locator("#sidebar [aria-current=page]")).to_contain_text("New name")
    page.reload()
    expect(title).to_have_text("New name")


def test_the_sidebar_can_be_hidden(page: Page, scripted: Site) -> None:
    conversations(page, scripted, "A row")
    sidebar, opener = page.locator("#sidebar"), page.get_by_role("button", name="Conversations", exact=True)
    expect(opener).to_be_hidden()
    page.get_by_role("button", name="Hide the sidebar").click()
    expect(sidebar).to_be_hidden()
    expect(opener).to_be_focused()
    page.reload()
    expect(sidebar).to_be_hidden()
    page.goto("/")
    expect(sidebar).to_be_hidden()
    opener.click()
    expect(sidebar).to_be_visible()
    page.keyboard.press("Control+b")
    expect(sidebar).to_be_hidden()
    page.keyboard.press("Control+b")
    expect(page.get_by_role("button", name="Hide the sidebar")).to_be_focused()
    page.set_viewport_size({"width": 600, "height": 800})
    page.keyboard.press("Control+b")
    expect(page.locator("#sidebar:popover-open")).to_be_visible()
    page.get_by_role("button", name="Hide the sidebar").click()
    expect(sidebar).to_be_hidden()


def test_a_key_begins_a_conversation(page: Page, scripted: Site) -> None:
    page.goto("/board/")
    page.keyboard.press("Control+Shift+o")
    expect(page).to_have_url(f"{scripted.served.address}/")
    expect(page.locator("#composer-text")).to_be_focused()


@pytest.mark.parametrize("arrives", [True, False])
def test_what_is_typed_while_a_page_is_on_its_way_is_for_that_page(
    page: Page, scripted: Site, visitors: Visitors, arrives: bool
) -> None:
    scripted.model.script(Reply(text="Hello."))
    begin(page, "First talk")
    at_rest(page)
    page.fill("#composer-text", "A draft")
    held: list[Route] = []
    page.route(f"{scripted.served.address}/", lambda route: held.append(route), times=1)
    page.locator("#sidebar").get_by_role("link", name="New conversation").click()
    page.keyboard.type("Plann")
    page.keyboard.press("Backspace")
    page.keyboard.type(" it")
    page.keyboard.press("Enter")  # which would send the other
    until(page, lambda: bool(held))
    expect(page.locator("#composer-text")).to_have_value("A draft")
    if arrives:
        held[0].continue_()
        expect(page.locator("#composer-text")).to_have_value("Plan it")
        expect(page.locator("#composer-text")).to_be_focused()
        page.keyboard.type("!")
        expect(page.locator("#composer-text")).to_have_value("Plan it!")
        page.go_back()
        expect(page.locator("#composer-text")).to_have_value("A draft")
    else:
        visitors.expected += ["ERR_FAILED", "Failed to fetch"]
        held[0].abort()
        expect(page.locator("#composer-text")).to_have_value("A draftPlan it")
    page.fill("#composer-text", "")


def test_a_page_that_takes_its_time_is_announced_above_the_drawer(page: Page, scripted: Site) -> None:
    first, *_others = conversations(page, scripted, "First talk", "Second talk")
    page.set_viewport_size({"width": 390, "height": 844})
    held: list[Route] = []
    page.route(first, lambda route: held.append(route), times=1)
    page.get_by_role("button", name="Conversations", exact=True).click()
    sidebar = page.locator("#sidebar")
    drawn = "sidebar => getComputedStyle(sidebar, '::before').animationName"
    assert sidebar.evaluate(drawn) == "none"
    sidebar.locator(f"a[href='{urlsplit(first).path}']").click()
    until(page, lambda: sidebar.evaluate(drawn) == "passing")
    until(page, lambda: held)
    held[0].continue_()
    expect(sidebar).to_be_hidden()


def test_the_sidebar_scrolls_to_the_open_conversation(page: Page, scripted: Site) -> None:
    first, *_others = conversations(page, scripted, *(f"Talk {number}" for number in range(4)))
    page.set_viewport_size({"width": 1280, "height": 400})
    page.goto(first)
    expect(page.locator("#sidebar .conversation-row", has_text="Talk 0")).to_be_in_viewport(ratio=1)


def test_rows_have_a_menu(page: Page, scripted: Site) -> None:
    """On a page with a socket and on one without."""
    conversations(page, scripted, "A row", "Another row")
    for address, name in [(page.url, "Renamed here"), ("/settings/usage/", "Renamed there")]:
        page.goto(address)
        rows = page.locator("#sidebar .conversation-row")
        first = rows.first.get_attribute("data-conversation")
        row = page.locator(f"#sidebar [data-conversation='{first}']")
        row.hover()
        row.get_by_role("button", name="Actions").click()
        menu = page.locator("#row-menu")
        box, below = row.locator(".row-more").bounding_box(), menu.bounding_box()
        assert box
        assert below
        assert 0 <= below["y"] - box["y"] - box["height"] < 12, "the menu opens under its button"
        menu.get_by_role("button", name="Rename").click()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        expect(row).to_contain_text(name)
        expect(row.get_by_role("link")).to_be_focused()
        for act, headings in [("Pin", 2), ("Unpin", 0)]:
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            menu.get_by_role("button", name=act, exact=True).click()
            expect(page.locator(".sidebar__heading")).to_have_count(headings)
            expect(menu).to_be_hidden()  # it may outlive the change, and its button would close it
            row.get_by_role("link").focus()
        row.get_by_role("button", name="Actions").click()
        menu.get_by_label("Tag", exact=True).fill("tidy")
        menu.get_by_role("button", name="Add").click()
        expect(menu).to_be_hidden()
    row.hover()
    row.get_by_role("button", name="Actions").click()
    menu.get_by_role("button", name="Archive").click()
    expect(row).to_have_count(0)
    undo = page.locator("#sidebar-undo")
    expect(undo.get_by_role("status")).to_have_text(f"“{name}” archived.")
    undo.get_by_role("button", name="Undo").click()
    expect(undo.get_by_role("status")).to_have_text("1 conversation restored.")
    row.hover()
    row.get_by_role("button", name="Actions").click()
    menu.get_by_role("button", name="Archive").click()
    expect(row).to_have_count(0)
    last = rows.first
    last.hover()
    last.get_by_role("button", name="Actions").click()
    menu.get_by_role("button", name="Delete").click()
    page.locator("#row-delete").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.goto("/conversations/?archived=1&tag=tidy")
    expect(page.locator(".record__list")).to_contain_text("Renamed there")
    expect(page.locator(".record__list")).to_contain_text("tidy")
    page.goto("/conversations/tags/")
    page.get_by_role("button", name="Delete tidy").click()
    expect(page.get_by_role("status")).to_contain_text("tidy")


MANY = """
import uuid
from chat.models import Conversation, Turn, site_owner
for number in range(31):
    made = Conversation.objects.create(owner=site_owner(), title=f"One of many {number}")
    Turn.objects.create(conversation=made, client_id=uuid.uuid4(), status="completed")
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_the_list_stays_where_it_is_when_a_row_is_changed(
    scripted: Site, visitors: Visitors, width: int
) -> None:
    scripted.served.shell(MANY)
    page = visitors.enter(scripted, viewport={"width": width, "height": 800})
    page.goto("/conversations/")
    expect(
        page.locator("#sidebar").get_by_role("link", name="Older conversations", include_hidden=True)
    ).to_have_count(1)
    row = page.locator("#found .conversation-row", has_text="One of many 12").first
    row.scroll_into_view_if_needed()
    page.locator("#content").evaluate("content => content.scrollTop += 200")
    assert page.locator("#content").evaluate("content => content.scrollTop") > 400
    before = row.bounding_box()
    row.get_by_role("button", name="Actions").click()
    page.locator("#row-menu").get_by_label("Tag", exact=True).fill("tidy")
    page.locator("#row-menu").get_by_role("button", name="Add").click()
    expect(row).to_contain_text("tidy")
    expect(row).to_be_in_viewport()
    after = row.bounding_box()
    assert before
    assert after
    assert after["y"] == pytest.approx(before["y"], abs=100)  # a note and a tag may be above it by now


def test_forms_are_sent_while_the_page_stays(page: Page, scripted: Site, visitors: Visitors) -> None:
    visitors.expected.append("400 (Bad Request)")
    scripted.model.script(Reply(text="Hello."))
    page.goto("/")
    is_same = stays(page)
    page.fill("#composer-text", "First talk")
    page.press("#composer-text", "Enter")
    page.wait_for_selector(LIVE)
    at_rest(page)
    expect(page).to_have_url(re.compile("/conversations/[0-9a-f-]{36}/$"))
    assert is_same()

    page.goto("/settings/profiles/")
    is_same = stays(page)
    page.get_by_role("link", name="Edit").first.click()
    address = page.url
    page.locator("form.profile-form").evaluate("form => { form.noValidate = true; }")
    page.fill("[name=title]", "")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#content .errorlist, #content [role=alert]").first).to_be_visible()
    expect(page).to_have_url(address)
    page.fill("[name=title]", "Careful worker")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("“Careful worker” saved.")).to_be_visible()
    expect(page).to_have_url(re.compile("/settings/profiles/$"))
    assert is_same()
    page.go_back()
    expect(page.locator("[name=title]")).to_have_value("Careful worker")
    assert is_same()


def test_a_form_that_does_not_arrive_keeps_what_was_typed(
    page: Page, scripted: Site, visitors: Visitors
) -> None:
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch"]
    scripted.model.script(Reply(text="Hello."))
    page.goto("/")
    address = page.url
    is_same = stays(page)
    page.fill("#composer-text", "First talk")
    page.context.set_offline(True)
    page.press("#composer-text", "Enter")
    expect(page.locator("#composer-note")).to_contain_text("Not sent yet.")
    expect(page.locator("#composer-text")).to_have_value("First talk")
    expect(page).to_have_url(address)
    page.context.set_offline(False)
    page.wait_for_selector(LIVE)
    at_rest(page)
    assert is_same()


def test_a_page_that_does_not_arrive_leaves_the_one_that_is_there(
    page: Page, scripted: Site, visitors: Visitors
) -> None:
    said = "Could not reach the server. Try again."
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch"]
    scripted.model.script(Reply(text="Hello."))
    address = begin(page, "First talk")
    at_rest(page)
    is_same = stays(page)
    page.fill("#composer-text", "A draft")
    page.context.set_offline(True)
    page.locator("#sidebar").get_by_role("link", name="Board").click()
    expect(page.get_by_role("alert").get_by_text(said)).to_be_visible()
    expect(page).to_have_url(address)
    expect(page.locator("#composer-text")).to_have_value("A draft")
    page.context.set_offline(False)
    page.wait_for_selector(LIVE)
    page.locator("#sidebar").get_by_role("link", name="Board").click()
    expect(page.locator("#board-running")).to_be_visible()
    expect(page.get_by_text(said)).to_have_count(0)
    page.go_back()
    expect(page.locator("#composer-text")).to_have_value("A draft")
    assert is_same()


def test_settings_that_do_not_arrive_are_still_unsaved(page: Page, visitors: Visitors) -> None:
    said = "Could not reach the server. Try again."
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch", "Leave without saving?"]
    page.goto("/settings/profiles/")
    page.get_by_role("link", name="Edit").first.click()
    page.fill("[name=title]", "Careful worker")
    page.context.set_offline(True)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").get_by_text(said)).to_be_visible()
    assert not asked
    page.context.set_offline(False)
    page.locator("#sidebar").get_by_role("link", name="Board").click()
    until(page, lambda: asked == ["Leave without saving? Your changes will be lost."])
    expect(page.locator("[name=title]")).to_have_value("Careful worker")


def test_an_answer_that_is_no_such_page_is_shown(page: Page, visitors: Visitors) -> None:
    visitors.expected.append("404 (Not Found)")
    page.goto("/settings/profiles/")
    page.get_by_role("link", name="Edit").first.click()
    page.locator("form.profile-form").evaluate("form => { form.action = '/settings/profiles/99999/'; }")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    page.get_by_role("link").first.click()
    expect(page.locator("#content")).to_be_visible()


def test_what_is_typed_after_a_form_was_sent_is_not_sent(page: Page, scripted: Site) -> None:
    scripted.model.script(Reply(text="Hello."))
    page.goto("/")
    page.fill("#composer-text", "First talk")
    page.evaluate(TYPE_ON)
    page.keyboard.press("Enter")
    page.wait_for_selector(LIVE)
    expect(page.locator("[data-role='user'] .message__body")).to_have_text("First talk")
    at_rest(page)


def test_moving_about_is_quick(page: Page, scripted: Site) -> None:
    """Up to 150 ms until it is painted on a quiet machine. As it may be busy, loads are timed beside it."""
    addresses = conversations(page, scripted, "First talk", "Second talk")
    moving, loading = [], []
    for address in (*addresses, "/board/", "/conversations/"):
        page.goto(address)
        until(page, lambda: page.evaluate(LOADED))
        loading.append(page.evaluate(LOADED))
        page.evaluate(CLOCK)
        for clicks, title in enumerate(
            ("Settings", "First talk", "Board", "Second talk", "All conversations"), 1
        ):
            page.locator("#sidebar").get_by_role("link", name=title).first.click()
            until(page, lambda clicks=clicks: page.evaluate("taken.length") == clicks)
        moving += page.evaluate("taken")
    move, load = statistics.median(moving), statistics.median(loading)
    print(f"moving: p50 {move:.0f} ms, max {max(moving):.0f} ms; loading: p50 {load:.0f} ms")  # noqa: T201
    assert move < 2 * load


def look_at_the_board(page: Page) -> None:
    """And come back."""
    page.locator("#sidebar").get_by_role("link", name="Board").click()
    expect(page).to_have_title(re.compile("Board"))
    page.go_back()
    at_rest(page)


def test_back_leads_to_the_place_that_was_left_among_unfolded_calls(page: Page, scripted: Site) -> None:
    looks = Reply(tool_calls=[("bash", {"command": f"echo {number}"}) for number in range(6)])
    words = "\n\n".join(f"Paragraph {number}." for number in range(40))
    scripted.model.script(looks, looks, Reply(text=words))
    begin(page, "look around")
    at_rest(page)
    unfold(page)
    call = page.locator(".tool-call").nth(7)
    call.evaluate("one => one.scrollIntoView({ block: 'start' })")
    expect(call).to_be_in_viewport()
    top = "one => Math.round(one.getBoundingClientRect().top)"
    before = call.evaluate(top)
    look_at_the_board(page)
    expect(call).to_be_in_viewport()
    assert abs(call.evaluate(top) - before) < 3


PAINTED = "() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))"


TOP = "one => Math.round(one.getBoundingClientRect().top)"


def in_a_long_answer(page: Page, scripted: Site) -> tuple[Locator, int]:
    """Scroll into the second of four long answers: the answer, and where its top is in the window."""
    words = "\n\n".join(f"Paragraph {number}." for number in range(120))
    scripted.model.script(todo("completed"), *[Reply(text=words)] * 4)
    begin(page, "a long answer")
    at_rest(page)
    for number in (2, 3, 4):
        send(page, f"long answer {number}")
        at_rest(page)
    answer = page.locator(".message[data-role=assistant]", has_text="Paragraph 9.").nth(1)
    answer.evaluate("""one => {
        document.getElementById("scroll").scrollBy(0, one.getBoundingClientRect().top + one.offsetHeight / 5);
    }""")
    page.evaluate(PAINTED)
    return answer, answer.evaluate(TOP)


def stands_at(page: Page, answer: Locator, before: int) -> None:
    """Wait until the answer is where it was, and see that it stays there."""
    until(page, lambda: answer.count() and abs(answer.evaluate(TOP) - before) < 3)
    page.evaluate(PAINTED)
    assert abs(answer.evaluate(TOP) - before) < 3


def test_back_leads_to_the_place_that_was_left_in_a_long_answer(page: Page, scripted: Site) -> None:
    answer, before = in_a_long_answer(page, scripted)
    look_at_the_board(page)
    stands_at(page, answer, before)


@pytest.mark.parametrize("way", ["sidebar", "menu"])
def test_on_a_phone_back_leads_to_the_place_that_was_left(
    scripted: Site, visitors: Visitors, way: str
) -> None:
    page = visitors.enter(scripted, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    answer, before = in_a_long_answer(page, scripted)
    if way == "sidebar":
        page.get_by_role("button", name="Conversations").tap()
        page.locator("#sidebar").get_by_role("link", name="Board").tap()
        expect(page.locator("#board-running")).to_be_visible()
    else:
        page.get_by_role("button", name="Conversation menu").tap()
        page.locator("#conversation-menu").get_by_role("link", name="Plan history").tap()
        expect(page.locator("#plan-stage")).to_be_visible()
    page.go_back()
    stands_at(page, answer, before)


def test_a_refused_link_leaves_the_others_to_be_copied(
    page: Page, scripted: Site, visitors: Visitors
) -> None:
    visitors.expected.append("400 (Bad Request)")
    scripted.model.script(Reply(text="Hello."))
    address = begin(page, "First talk")
    at_rest(page)
    is_same = stays(page)
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("link", name="Share").click()
    page.get_by_role("button", name="Create link").click()
    copy = page.get_by_role("button", name="Copy", exact=True)
    expect(copy).to_be_visible()
    page.get_by_label("On a date").check()
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("alert").get_by_text("Enter the day the link expires.")).to_be_visible()
    expect(copy).to_be_visible()
    expect(page).to_have_url(f"{address}share/")
    assert is_same()


def test_links_that_are_created_and_revoked_add_nothing_to_the_history(page: Page, scripted: Site) -> None:
    scripted.model.script(Reply(text="Hello."))
    address = begin(page, "First talk")
    at_rest(page)
    is_same = stays(page)
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("link", name="Share").click()
    links = page.locator(".share-link[data-live=true]")
    for number in (1, 2):
        page.get_by_role("button", name="Create link").click()
        expect(links).to_have_count(number)
    links.first.get_by_role("button", name="Revoke").first.click()
    page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    expect(links).to_have_count(1)
    page.go_back()
    expect(page).to_have_url(address)
    expect(page.locator("#composer-text")).to_be_visible()
    assert is_same()


@pytest.mark.parametrize("width", [390, 1280])
def test_back_leads_past_what_was_deleted(scripted: Site, visitors: Visitors, width: int) -> None:
    page = visitors.enter(scripted, viewport={"width": width, "height": 800})
    visitors.expected.append("status of 404 (Not Found)")
    scripted.model.script(Reply("Yes."))
    address = begin(page, "To be deleted")
    at_rest(page)
    page.goto("/board/")
    page.wait_for_selector("#board")
    if width < 960:
        page.locator(".bar__menu").click()
    page.locator(f"#sidebar a[href='{urlsplit(address).path}']").click()
    page.wait_for_url(address)
    page.wait_for_selector(LIVE)
    page.get_by_role("button", name="Conversation menu").click()
    page.locator("#conversation-menu").get_by_role("button", name="Delete").click()
    page.locator("#delete-dialog").get_by_role("button", name="Delete").click()
    found = page.get_by_role("heading", name="Conversations", exact=True)
    expect(found).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="This conversation was deleted")).to_be_visible()
    page.go_back()
    expect(page.locator("#board")).to_be_visible()
    expect(page).to_have_url(re.compile("/board/$"))
    page.go_forward()
    expect(page.get_by_role("heading", name="This conversation was deleted")).to_be_visible()
    page.go_forward()
    expect(found).to_be_visible()


def test_back_leads_past_a_form_of_what_was_deleted(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    visitors.expected.append("status of 404 (Not Found)")
    page.goto("/settings/profiles/")
    page.get_by_role("link", name="Duplicate").first.click()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name=re.compile(r"\(copy\)$")).first.click()
    page.get_by_role("button", name="Delete").click()
    page.locator("#delete-dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/settings/profiles/")
    page.go_back()
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Profiles")).to_be_visible()


def test_back_without_a_network_stays(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(Reply("Yes."))
    visitors.expected.append("ERR_INTERNET_DISCONNECTED")
    address = begin(page, "To be read")
    at_rest(page)
    page.goto("/board/")
    page.locator(f"#sidebar a[href='{urlsplit(address).path}']").click()
    page.wait_for_url(address)
    page.wait_for_selector(LIVE)
    page.fill("#composer-text", "A draft")
    page.context.set_offline(True)
    page.evaluate("history.back()")
    expect(page.locator(".warning")).to_contain_text("Could not reach the server")
    expect(page).to_have_url(address)
    expect(page.locator("#transcript")).to_contain_text("Yes.")
    expect(page.locator("#composer-text")).to_have_value("A draft")
    page.context.set_offline(False)
    page.wait_for_selector(LIVE)
    page.evaluate("history.back()")
    expect(page.locator("#board")).to_be_visible()
    page.go_forward()
    expect(page.locator("#composer-text")).to_have_value("A draft")
