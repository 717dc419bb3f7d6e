"""A conversation as markdown, and as a page that needs nothing."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chat.export.markdown_file import code, fenced, inline, markdown_pieces, prose, quoted
from chat.export.page import html_pieces
from chat.files.conversation_workspace import folder_of
from chat.models import BulkAct, Conversation, Message, Step, TodoRevision, ToolCall, Turn
from tests.bodies import body
from tests.export.rich import TEXTS, Rich
from tests.pictures import png

PARSER = MarkdownIt("commonmark")
HOSTILE = st.one_of(
    st.sampled_from([text for text in TEXTS if text]),
    st.text(alphabet=st.sampled_from("`~>#-*+_=[]()<!|\\\n\r\t 1.a中\u2028"), min_size=1, max_size=60),
)
AFTER = "after it"


def blocks(text: str) -> list[str]:
    """The kinds of the blocks that a text has at its top."""
    top = [token for token in PARSER.parse(text) if token.level == 0 and token.nesting >= 0]
    return [token.type for token in top]


@given(HOSTILE)
def test_a_quote_holds_what_is_in_it(text: str) -> None:
    assert blocks(f"{quoted(text)}\n\n{AFTER}\n") == ["blockquote_open", "paragraph_open"]


@given(HOSTILE)
def test_a_reply_ends_where_it_ends_and_has_no_heading_of_the_file(text: str) -> None:
    tokens = PARSER.parse(f"{prose(text)}\n\n{AFTER}\n")
    assert [token.content for token in tokens[-3:] if not token.level or token.type == "inline"][-2] == AFTER
    assert tokens[-3].level == 0
    headings = [token for token in tokens if token.type == "heading_open" and token.level == 0]
    assert all(token.tag in ("h4", "h5", "h6") for token in headings)


def test_a_reply_is_written_as_it_is() -> None:
    text = "# Done\n\n- **One**\n\n```py\n# no heading\n```"
    assert prose(text) == "#### Done\n\n- **One**\n\n```py\n# no heading\n```"
    assert prose("```\nopen") == "> ```\n> open"


@given(HOSTILE)
def test_a_fence_holds_what_is_in_it(text: str) -> None:
    assert blocks(f"{fenced(text, 'text')}\n\n{AFTER}\n") == ["fence", "paragraph_open"]


@given(HOSTILE)
def test_a_line_is_only_text(text: str) -> None:
    tokens = PARSER.parseInline(f"a {inline(text)} b")[0].children or []
    assert {token.type for token in tokens} <= {"text", "text_special"}
    assert "".join(token.content for token in tokens) == f"a {' '.join(text.split())} b"


@given(HOSTILE)
def test_a_line_may_begin_with_any_text(text: str) -> None:
    """It begins no list, heading or quote, and does not turn the line above into a heading."""
    if not text.split():
        return
    assert blocks(f"{inline(text)}\n\n{AFTER}\n") == ["paragraph_open", "paragraph_open"]
    assert blocks(f"above\n{inline(text)}\n") == ["paragraph_open"]
    items = [token.type for token in PARSER.parse(f"- {inline(text)}\n") if token.nesting > 0]
    assert items == ["bullet_list_open", "list_item_open", "paragraph_open"]


@given(HOSTILE)
def test_code_is_only_code(text: str) -> None:
    tokens = PARSER.parseInline(f"a {code(text)} b")[0].children or []
    assert [token.type for token in tokens if token.type != "text"] in (["code_inline"], [])


@pytest.fixture
def rich(owner: User, collected: None) -> Conversation:
    return Rich(owner, 3, turns=6, calls=4).conversation


def test_markdown_has_all_of_it(rich: Conversation) -> None:
    text = "".join(markdown_pieces(rich))
    tokens = PARSER.parse(text)
    of_file = ("h1", "h2", "h3")
    top = [
        n for n, token in enumerate(tokens) if token.tag in of_file and token.nesting == 1 and not token.level
    ]
    titles = [tokens[n + 1].content for n in top]
    assert [title for title in titles if re.fullmatch(r"Turn \d+", title)] == [
        f"Turn {n}" for n in range(1, 7)
    ]
    assert len([title for title in titles if title.startswith("Plan ")]) >= 1
    assert "Undelivered messages" in titles
    calls = ToolCall.objects.filter(turn__conversation=rich).exclude(name="TodoWrite")
    assert calls
    lines = text.splitlines()
    for call in calls:
        assert any(line.startswith(f"**{code(call.name)}**") for line in lines), call.name
    assert not [token for token in tokens if token.type == "fence" and token.info == "json"]
    assert titles.index("Turn 1") < titles.index("Plan history") < len(titles) - 1
    known = {"Plan history", "Undelivered messages", "User", rich.title}
    strange = [
        title for title in titles if title not in known and not re.match(r"(Turn|Plan) \d|P\d|Ada", title)
    ]
    assert strange == [], "no heading of the conversation's own texts is one of the file's"


def test_markdown_says_what_was_interrupted(owner: User) -> None:
    conversation = Conversation.begin(owner, "Do it", uuid.uuid4(), None)
    turn = Turn.claim("worker")
    assert turn is not None
    step = Step.objects.create(turn=turn, number=1)
    call = ToolCall.objects.create(turn=turn, step=step, index=0, name="TodoWrite")
    item = {"id": "a", "key": "", "active_form": "", "content": "Mend a.py", "status": "in_progress"}
    TodoRevision.write(turn, call, "focused", [item])
    assert "- [ ] Mend a.py _(in progress)_" in "".join(markdown_pieces(conversation))
    turn.end(Turn.Status.STOPPED)
    assert "- [ ] Mend a.py _(interrupted)_" in "".join(markdown_pieces(conversation))


def test_markdown_says_what_was_dismissed(owner: User) -> None:
    conversation = Conversation.begin(owner, "Do it", uuid.uuid4(), None)
    turn = Turn.claim("worker")
    assert turn is not None
    item = {"id": "a", "key": "", "active_form": "", "content": "Mend a.py", "status": "pending"}
    TodoRevision.edit(turn, "focused", [item])
    turn.end(Turn.Status.COMPLETED)
    assert "Dismissed" not in "".join(markdown_pieces(conversation))
    BulkAct.carry_out(owner, "dismiss", [conversation.pk])
    text = "".join(markdown_pieces(conversation))
    assert "**Plan** · 0 of 1 done · Dismissed" in text
    assert "0/1 · Dismissed" in text


def test_markdown_is_for_people(owner: User) -> None:
    """The conversation comes first, calls are a line with what matters, long outputs are cut."""
    conversation = Conversation.begin(owner, "Fix-it, please!", uuid.uuid4(), None)
    turn = Turn.claim("worker")
    assert turn is not None
    step = Step.objects.create(turn=turn, number=1)
    log = "\n".join(f"line {n}" for n in range(1, 101))
    item = {"id": "a", "key": "", "active_form": "", "content": "Mend a.py"}
    calls = [
        ("TodoWrite", '{"items": []}', "(0/1 completed)", {}),
        ("read_file", '{"path": "a.py"}', "secret = 1", {}),
        ("edit_file", '{"path": "a.py"}', "Edited a.py", {"before": "x = 1\n", "after": "x = 2\n"}),
        ("bash", '{"command": "make\\ntest"}', log, {}),
    ]
    for index, (name, arguments, output, detail) in enumerate(calls):
        call = ToolCall.objects.create(
            turn=turn, step=step, index=index, name=name, arguments=arguments, output=output, detail=detail
        )
        ToolCall.objects.filter(pk=call.pk).update(status="succeeded")
        if name == "TodoWrite":
            TodoRevision.write(turn, call, "focused", [{**item, "status": "in_progress"}])
    Message.objects.create(
        turn=turn, step=step, role="assistant", text="Done.", reasoning="Hm.", complete=True
    )
    turn.end(Turn.Status.COMPLETED)
    text = "".join(markdown_pieces(conversation))
    beginning, _turn, rest = text.partition("## Turn 1\n")
    assert beginning.startswith("# Fix-it, please!\n")
    assert beginning.endswith("**Plan** · 0 of 1 done\n\n- [ ] Mend a.py _(in progress)_\n\n")
    assert "### User\n\n> Fix-it, please!\n\n" in rest
    assert "_To-dos updated · 0/1_\n\n**`read_file`** `a.py`\n\n**`edit_file`** `a.py`\n\n" in rest
    assert "```diff\n-x = 1\n+x = 2\n```\n\n**`bash`** `make test`\n\n```text\nline 1\n" in rest
    assert "line 16\n… 78 more lines …\nline 95\n" in rest
    assert rest.count("### ") == 3  # User, the agent, the plan
    assert "secret" not in rest
    assert rest.index("Done.") < rest.index("## Plan history")


def test_html_has_all_of_it(rich: Conversation) -> None:
    page = "".join(html_pieces(rich))
    for turn in rich.turns.all():
        assert f'id="turn-{turn.pk}"' in page
        for call in turn.tool_calls.all():
            assert page.count(f'id="{call.dom_id}"') == 1
    for revision in rich.revisions.all():
        assert page.count(f'id="revision-{revision.pk}"') == 1
    for follow_up in rich.follow_ups.exclude(status="delivered"):
        assert str(follow_up.get_status_display()) in page
    assert "Update your todos." in page
    assert "data:image/png;base64," in page


def test_what_a_command_changed_is_in_both(rich: Conversation) -> None:
    calls = ToolCall.objects.filter(turn__conversation=rich)
    calls.update(name="bash", detail={"changed": ["a `b`.txt", "c.txt"], "changed_more": 2})
    assert "\nChanged: `` a `b`.txt ``, `c.txt` and 2 more\n" in "".join(markdown_pieces(rich))
    page = "".join(html_pieces(rich))
    assert "Changed: <code>a `b`.txt</code>, <code>c.txt</code> and 2 more" in page


def test_html_embeds_the_pictures_of_replies(rich: Conversation) -> None:
    folder = folder_of(rich)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chart.png").write_bytes(png(4, 4))
    (folder / "big.png").write_bytes(png(5, 5) + bytes(16 * 2**20))
    text = "![chart](chart.png) ![chart again](chart.png) ![big](big.png) ![lost](x.png) [data](data.csv)"
    Message.objects.filter(role="assistant").exclude(text="").update(text=text)
    page = "".join(html_pieces(rich))
    embedded = re.findall(r'<img class="picture" src="data:image/png;base64,[^"]+" alt="([^"]+)"', page)
    assert set(embedded) == {"chart", "chart again"}
    left_out = '<span class="image-left-out">[{}]</span>'
    assert f"{left_out.format('big')} {left_out.format('lost')} data</p>" in page


def test_html_asks_for_nothing(rich: Conversation) -> None:
    page = "".join(html_pieces(rich))
    assert not re.search(r"<(script|link|iframe|form|button|input|object|embed)\b", page)
    sources = re.findall(r'\b(?:src|srcset|action|poster|background)="([^"]*)"', page)
    assert {source.partition(",")[0] for source in sources} <= {"data:image/png;base64"}
    inside = [
        each for each in re.findall(r'href="([^"]*)"', page) if not each.startswith("http://example.org")
    ]
    targets = {each.removeprefix("#") for each in inside}
    assert all(each.startswith("#") for each in inside)
    assert targets <= set(re.findall(r'\bid="([^"]*)"', page)), "each leads to somewhere in the file"
    assert str(rich.pk) not in page


@pytest.mark.parametrize(
    ("ending", "kind"), [("md", "text/markdown"), ("html", "text/html"), ("json", "application/json")]
)
def test_it_is_kept_and_never_shown(owners: Client, rich: Conversation, ending: str, kind: str) -> None:
    Conversation.objects.update(title='../a"b\r\nX: y/<c>\u202e中')
    response: Any = owners.get(f"/conversations/{rich.pk}/export.{ending}")
    assert response.status_code == 200
    assert response["Content-Type"] == f"{kind}; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"].startswith("sandbox")
    assert response["Content-Disposition"].startswith("attachment; filename")
    assert not re.search(r"[/\\\r\n<>]|%2F|%5C|%0|%E2%80%AE", response["Content-Disposition"])
    assert body(response)


def test_its_name_is_the_whole_title(owners: Client, rich: Conversation) -> None:
    Conversation.objects.update(title="How TCP/IP and HTTP/2 work")
    response = owners.get(f"/conversations/{rich.pk}/export.md")
    assert response["Content-Disposition"] == 'attachment; filename="How TCP-IP and HTTP-2 work.md"'


def test_a_note_about_edits_is_in_the_readers_language(owner: User, collected: None) -> None:
    conversation = Conversation.begin(owner, "Two things", uuid.uuid4(), None)
    turn = Turn.claim("worker")
    assert turn is not None
    items: list[dict[str, Any]] = [
        {"id": name, "key": "", "active_form": "", "content": f"Item {name}", "status": "pending"}
        for name in "ab"
    ]
    first = Step.objects.create(turn=turn, number=1)
    call = ToolCall.objects.create(turn=turn, step=first, index=0, name="TodoWrite", arguments="{}")
    TodoRevision.write(turn, call, "focused", items)
    edited = TodoRevision.edit(turn, "focused", items[:1], ["b"])
    said = (
        'The user changed the todo list: took out "Item b", which is not to be done. Now it is:\n[ ] Item a'
    )
    edited.delivered_in_step = Step.objects.create(turn=turn, number=2, edit_note=said)
    edited.save()
    Message.objects.create(
        turn=turn, step=edited.delivered_in_step, role="assistant", text="Done.", complete=True
    )
    turn.end(Turn.Status.COMPLETED)
    with override("en"):
        assert 'took out "Item b"' in "".join(markdown_pieces(conversation))
    with override("zh-hans"):
        for pieces in (markdown_pieces, html_pieces):
            text = "".join(pieces(conversation))
            assert "用户修改了任务列表：去掉“Item b”，不用再做。现在的列表是：" in text
            assert "The user changed" not in text
        assert "现在的列表是：</summary>[ ] Item a\n" in text, "on the page the list is folded"
