"""A long conversation opens at its end; earlier turns come as the user scrolls up or follows a link."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, last_turn

TURNS = 100
CALLS = 11  # of each turn
MESSAGES = 1000  # of a conversation without calls
SECONDS = 3.0  # in which either opens, on a machine that is busy; alone on it less than 0.7
ELEMENTS = 3000
KEY = 0.016  # seconds of the page's main thread for a key in the composer
MADE = f"""
import uuid
from chat.models import Conversation, Message, Step, ToolCall, Turn, site_owner
made = Conversation.objects.create(owner=site_owner(), title="Long")
turns = []
for number in range({TURNS}):
    turns.append(Turn.objects.create(conversation=made, client_id=uuid.uuid4(), status="completed"))
Message.objects.bulk_create(Message(turn=t, role="user", text=f"Question {{n}}") for n, t in enumerate(turns))
steps = Step.objects.bulk_create(Step(turn=turn, number=1) for turn in turns)
ToolCall.objects.bulk_create(
    ToolCall(turn=step.turn, step=step, index=index, call_id=f"c{{index}}", name="bash", status="succeeded",
             arguments='{{"command": "ls"}}', output="a.txt\\n" * 20)
    for step in steps for index in range({CALLS})
)
Message.objects.bulk_create(
    Message(turn=step.turn, step=step, role="assistant", text=f"Answer {{n}}") for n, step in enumerate(steps)
)
talk = Conversation.objects.create(owner=site_owner(), title="Talk")
turns = []
for number in range({MESSAGES // 2}):
    turns.append(Turn.objects.create(conversation=talk, client_id=uuid.uuid4(), status="completed"))
steps = Step.objects.bulk_create(Step(turn=turn, number=1) for turn in turns)
Message.objects.bulk_create(Message(turn=turn, role="user", text="Question") for turn in turns)
Message.objects.bulk_create(
    Message(turn=step.turn, step=step, role="assistant", text="An *answer*. " * 40) for step in steps
)
first = made.turns.order_by("pk").first()
print(made.pk, talk.pk, first.pk, Message.objects.get(text="Question 40", turn__conversation=made).pk)
"""


def opened_in(page: Page) -> float:
    """Seconds from the request until the page was loaded."""
    return float(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")) / 1000


def seconds_of_a_key(page: Page) -> float:
    """Of the page's main thread, for one key in the composer."""
    session = page.context.new_cdp_session(page)

    def busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy()
    page.locator("#composer-text").press_sequentially("What became of the answer?", delay=30)
    spent = busy() - before
    page.fill("#composer-text", "")
    return spent / len("What became of the answer?")


def opens_quickly(page: Page, address: str) -> None:
    page.goto(address)
    at_rest(page)
    opened, elements = opened_in(page), page.evaluate("document.querySelectorAll('*').length")
    key = seconds_of_a_key(page)
    print(f"opened in {opened:.2f} s, {elements} elements, {1000 * key:.1f} ms a key")  # noqa: T201
    assert opened < SECONDS
    assert elements < ELEMENTS
    assert key < KEY


def test_a_long_conversation(scripted: Site, visitors: Visitors) -> None:
    made, talk, first, message = scripted.served.shell(MADE).split()
    address = f"/conversations/{made}/"
    page = visitors.enter(scripted)
    opens_quickly(page, f"/conversations/{talk}/")
    opens_quickly(page, address)
    expect(last_turn(page)).to_contain_text(f"Answer {TURNS - 1}")
    shown = page.locator("article.turn")
    before = shown.count()
    assert 0 < before < 10

    # Scrolling up brings earlier turns, and what was in view stays where it was.
    top = shown.first
    top.scroll_into_view_if_needed()
    text = top.locator(".message").first.inner_text()
    page.locator("#scroll").evaluate("view => view.scrollTop = 0")
    expect(page.locator("article.turn").nth(before)).to_be_attached()
    kept = page.locator(".message", has_text=text).first
    expect(kept).to_be_in_viewport()
    assert shown.count() < 3 * before

    # Back leads to what was in view among these.
    page.locator("#sidebar").get_by_role("link", name="Board").click()
    expect(page).to_have_title(re.compile("Board"))
    page.go_back()
    at_rest(page)
    expect(kept).to_be_in_viewport()

    # A new turn is drawn at the end, in a tab that has not seen the beginning.
    scripted.model.script(Reply(text="One more"))
    page.fill("#composer-text", "And then?")
    page.click("#send")
    expect(last_turn(page)).to_contain_text("One more")
    at_rest(page)

    # A link to a message that is not on the page brings it.
    page.goto(f"{address}#message-{message}")
    expect(page.locator(f"#message-{message}")).to_be_in_viewport()
    expect(page.locator(f"#message-{message}")).to_contain_text("Question 40")

    # Without a script, all of it is a click away.
    plain = visitors.enter(scripted, java_script_enabled=False)
    plain.goto(address)
    plain.get_by_role("link", name="Show earlier messages").click()
    expect(plain.locator(f"#turn-{first}")).to_contain_text("Question 0")
    expect(plain.locator("article.turn")).to_have_count(TURNS + 1)
