"""Secrets printed by tools are not exported, and redaction leaves the markup intact."""

from __future__ import annotations

import dataclasses
import datetime
import json
import uuid
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import CharField, JSONField, TextField
from django.utils import timezone

from chat.export.file_format import TABLES, Table
from chat.export.json_file import json_pieces
from chat.export.markdown_file import markdown_pieces
from chat.export.page import ReadOnly, html_pieces, page_pieces
from chat.export.record import Record
from chat.export.redaction import KEPT, MAX_SECRETS, PRINTED, REDACTED, WRITTEN, Redaction
from chat.models import Connection, Conversation, ShareLink, Summary, TodoRevision, ToolCall, Turn
from chat.models.connection import Secrets
from tests.export.conftest import exported, imported

KEY = "sk-own-0123456789abcdef"
HEADER = "token-of-a-header-0123"
SHARED = "sk-shared-0123456789abcdef"
ANOTHERS = "sk-anothers-0123456789abcdef"
HOSTILE = '[a](https://example.org/ "zz hx-get=/admin/ hx-trigger=load ") `title="zz` <b hx-ignore>'


@pytest.fixture
def site(settings: Any, owner: User, stranger: User, collected: None) -> dict[str, str]:
    """The secrets that are searched for the owner, by kind."""
    settings.METRICS_TOKEN = "metrics-0123456789abcdef"
    settings.MODEL_API_KEY = "sk-environment-0123456789"
    connect(owner, KEY, Authorization=f"Bearer {HEADER}", X="short-value")
    connect(None, SHARED)
    connect(stranger, ANOTHERS)
    return {
        "SECRET_KEY": settings.SECRET_KEY,
        "METRICS_TOKEN": settings.METRICS_TOKEN,
        "OPENAI_API_KEY": settings.MODEL_API_KEY,
        "own key": KEY,
        "own header": HEADER,
        "shared key": SHARED,
    }


def connect(owner: User | None, key: str = "", **headers: str) -> Connection:
    row = Connection(owner=owner, name="C", base_url="https://api.example.org/v1")
    row.seal_secrets(Secrets(key, headers))
    row.save()
    return row


def worked(conversation: Conversation, *, asked: str, printed: str, said: str) -> Turn:
    """A turn that ran here, with those texts in every field of the user's, of tools', of the model's."""
    turn = conversation.start_turn(asked, uuid.uuid4())
    claimed = Turn.claim("worker", turn.pk)
    assert claimed is not None
    step = claimed.steps.create(number=1, edit_note=said)
    claimed.messages.create(step=step, role="assistant", text=said, reasoning=said, extra={"thought": [said]})
    lists = {"name": "TodoWrite", "arguments": json.dumps({"items": [said]})}
    listed = claimed.tool_calls.create(step=step, index=0, call_id="0", status="succeeded", **lists)
    item = {"id": "0a1b2c3d", "content": said, "status": "pending", "active_form": said, "key": ""}
    TodoRevision.write(claimed, listed, "focused", [item])
    shown = {"changed": [printed], "pictures": [{"name": printed, "digest": ""}]}
    ToolCall.objects.create(
        turn=claimed,
        step=step,
        index=1,
        call_id="1",
        name="bash",
        arguments=json.dumps({"command": said}),
        status="succeeded",
        output=printed,
        detail=shown,
        shortened=printed,
    )
    Summary.objects.create(turn=claimed, number=1, until=claimed, text=said, carried=said)
    claimed.end(Turn.Status.COMPLETED)
    return claimed


def begun(owner: User, title: str = "A title") -> Conversation:
    return Conversation.objects.create(owner=owner, title=title)


def forms(conversation: Conversation) -> dict[str, str]:
    """The record in every form in which it leaves the site or is shown to others."""
    ended = Record.ended(conversation)
    public = {"link": _link(conversation), "back": "/"}
    read_only = ReadOnly(lambda digest: "", is_public=True, replays=True)
    return {
        "json": "".join(json_pieces(conversation)),
        "markdown": "".join(markdown_pieces(conversation)),
        "html": "".join(html_pieces(conversation)),
        "shared": "".join(page_pieces(ended, read_only, "reading/shared.html", **public)),
        "replay": "".join(page_pieces(ended, read_only, "reading/replay.html", **public)),
    }


def _link(conversation: Conversation) -> ShareLink:
    day = datetime.timedelta(days=1)
    return conversation.share_links.first() or ShareLink.make(conversation, timezone.now() + day)


class Markup(HTMLParser):
    """The tags of a page with the names of their attributes, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _value in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", ()))


FILES_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def drawn(record: Record) -> Iterator[str]:
    """The pages of a record, each without its stylesheet."""
    read_only = ReadOnly(lambda digest: "", is_public=True, replays=True)
    more: dict[str, Any] = {
        "link": _link(record.conversation),
        "back": "/",
        "styles": "",
        "now": timezone.now(),
    }
    for template in ("shared", "replay", "file"):
        yield "".join(page_pieces(record, read_only, f"reading/{template}.html", **more))


def pieces_of(pages: list[str], length: int) -> Iterator[set[str]]:
    """Every piece of that length, in sets of those that do not overlap on a page."""
    for start in range(length):
        cut = {page[at : at + length] for page in pages for at in range(start, len(page), length)}
        yield {piece for piece in cut if len(piece) == length}


@pytest.fixture
def hostile(owner: User, collected: None) -> Conversation:
    """A conversation whose texts would become markup, and whose tool printed the page of a link to it."""
    conversation = begun(owner)
    worked(conversation, asked=HOSTILE, printed=HOSTILE, said="Plain words.")
    page = next(drawn(Record.whole(conversation)))
    worked(conversation, asked=HOSTILE, printed=page, said=HOSTILE)
    return conversation


def test_no_header_cuts_a_piece_out_of_the_markup(owner: User, hostile: Conversation) -> None:
    pages = list(drawn(Record.whole(hostile)))
    markup = [Markup(page).found for page in pages]
    connection = connect(owner)
    for pieces in pieces_of(pages, 8):
        connection.seal_secrets(Secrets("", {f"X-{number}": piece for number, piece in enumerate(pieces)}))
        connection.save()
        again = list(drawn(Record.whole(hostile)))
        assert [Markup(page).found for page in again] == markup
        assert f'http-equiv="Content-Security-Policy" content="{FILES_POLICY}"' in again[-1]


def test_a_secret_that_is_removed_leaves_the_markup_alone(hostile: Conversation) -> None:
    record = Record.whole(hostile)
    pages = list(drawn(record))
    markup = [Markup(page).found for page in pages]
    for pieces in pieces_of(pages[:1], 8):
        redaction = dataclasses.replace(record.redaction, secrets=dict.fromkeys(pieces, REDACTED))
        redacted = list(drawn(dataclasses.replace(record, redaction=redaction)))
        assert all(REDACTED in page for page in redacted)
        assert f'http-equiv="Content-Security-Policy" content="{FILES_POLICY}"' in redacted[-1]
        assert [Markup(page).found for page in redacted] == markup


def test_what_tools_printed_is_searched(owner: User, site: dict[str, str]) -> None:
    for name, secret in site.items():
        conversation = begun(owner, f"The title: {secret}")
        said = f'I found "{secret}" there'
        turn = worked(conversation, asked="Begin", printed=f"KEY={secret}\n", said=said)
        for form, text in forms(conversation).items():
            assert secret not in text, (name, form)
            assert text.count(REDACTED) > 5, (name, form)
            assert "Begin" in text
        call = turn.tool_calls.get(name="bash")
        assert json.loads(call.arguments) == {"command": said}, "the rows stay as they are"
        [call] = [row for row in _calls(conversation) if row["name"] == "bash"]
        assert json.loads(call["arguments"]) == {"command": f'I found "{REDACTED}" there'}
        assert call["detail"]["changed"] == [f"KEY={REDACTED}\n"]
        imported(exported(conversation), owner)


def _calls(conversation: Conversation) -> list[dict[str, Any]]:
    file = json.loads("".join(json_pieces(conversation)))
    return [call for turn in file["turns"] for call in turn["tool_calls"]]


def test_no_guess_of_a_users_is_answered(owner: User, site: dict[str, str]) -> None:
    everything = " ".join(site.values())
    conversation = begun(owner, f"Title {everything}"[:200])
    worked(conversation, asked=everything, printed="Nothing.", said=everything)
    conversation.follow_ups.create(client_id=uuid.uuid4(), text=everything, status="taken_back")
    for form, text in forms(conversation).items():
        assert REDACTED not in text, form
    # A tool printed them, but the user's own text stays.
    worked(conversation, asked=everything, printed=everything, said="Done.")
    messages = [turn["messages"][0]["text"] for turn in json.loads(forms(conversation)["json"])["turns"]]
    assert messages == [everything, everything]


def test_what_was_imported_is_not_searched(owner: User, site: dict[str, str]) -> None:
    guess = "metrics-0123456789abcdeX"
    conversation = begun(owner, guess)
    worked(conversation, asked=guess, printed=guess, said=guess)
    file = "".join(json_pieces(conversation)).replace(guess, site["METRICS_TOKEN"])
    made = imported(json.loads(file), owner)
    for form, text in forms(made).items():
        assert REDACTED not in text, form
    worked(made, asked="Go on", printed=site["METRICS_TOKEN"], said="Done.")
    outputs = [call["output"] for call in _calls(made)]
    assert outputs == ["", site["METRICS_TOKEN"], "", REDACTED]


def test_what_is_short_or_not_the_owners_is_not_compared(owner: User, site: dict[str, str]) -> None:
    connect(owner, "sk-nineteen-letters", A="hx-ignore", B='title="zz', C="two short-words")
    conversation = begun(owner)
    printed = f'sk-nineteen-letters hx-ignore title="zz two short-words {ANOTHERS}'
    worked(conversation, asked="Begin", printed=printed, said="Done.")
    assert _calls(conversation)[1]["output"] == printed


def test_a_user_with_many_headers_pays_alone(owner: User, site: dict[str, str]) -> None:
    values = [f"value-of-a-header-{number:04}" for number in range(3 * MAX_SECRETS)]
    connect(owner, **{f"X-{number}": value for number, value in enumerate(values)})
    redaction = Redaction.of(begun(owner))
    assert len(redaction.secrets) <= MAX_SECRETS + 1
    assert set(site.values()) <= redaction.secrets.keys()


def test_the_folder_of_a_conversation_is_not_told(owner: User, workspaces: Any) -> None:
    conversation = begun(owner)
    folder = f"{workspaces}/{conversation.pk}"
    worked(conversation, asked="Begin", printed=f"{folder}/a.txt", said=f"It is in {folder}.")
    assert _calls(conversation)[1]["output"] == "/workspace/a.txt"
    assert str(workspaces) not in "".join(markdown_pieces(conversation))


def test_a_secret_is_in_no_representation(owner: User, site: dict[str, str]) -> None:
    record = Record.whole(begun(owner))
    assert not [secret for secret in site.values() if secret in repr(record)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.model.__name__)
def test_every_field_with_text_is_redacted_or_named_as_kept(table: Table[Any]) -> None:
    texts = {
        name
        for name in map(table.attribute, table.fields)
        if isinstance(field := table.model._meta.get_field(name), CharField | TextField | JSONField)
        and not field.choices
    }
    named = [*(name for kind in (PRINTED, WRITTEN, KEPT) for name in kind.get(table.model, ()))]
    assert texts <= set(named)
    assert len(named) == len(set(named))
