"""A long conversation opens at its end; earlier turns come as the user scrolls up or follows a link."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, last_turn

TURNS = 100
CALLS = 11  # of each turn
SECONDS = 3.0  # in which it opens, on a machine that is busy
ELEMENTS = 3000
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
print(made.pk, turns[0].pk, Message.objects.get(text="Question 40", turn__conversation=made).pk)
"""


def opened_in(page: Page) -> float:
    """Seconds from the request until the page was loaded."""
    return float(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")) / 1000


def test_a_long_conversation(scripted: Site, visitors: Visitors) -> None:
    made, first, message = scripted.served.shell(MADE).split()
    address = f"/conversations/{made}/"
    page = visitors.enter(scripted)
    page.goto(address)
    at_rest(page)
    expect(last_turn(page)).to_contain_text(f"Answer {TURNS - 1}")
    assert page.evaluate("document.querySelectorAll('*').length") < ELEMENTS
    assert opened_in(page) < SECONDS
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
