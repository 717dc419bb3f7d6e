"""The palette and the completion: what is offered, on which page, and to whom."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.models import Connection, Conversation, ModelSettings, Tag, Turn
from chat.pages.palette import MAX_CONVERSATIONS, _command_titles, _commands
from chat.search.index import index_title

OPTION = re.compile(r'class="option__title"[^>]*>([^<]*)<')


def offered(browser: Client, address: str, page: str = "/", **query: str) -> list[str]:
    """The titles of the options, asked for on that page."""
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{page}"}
    answer = browser.get(address, query, headers=headers)
    assert answer.status_code == 200
    return OPTION.findall(answer.content.decode())


def test_commands_and_settings_are_found_by_the_start_of_a_word(
    owners: Client, conversation: Conversation
) -> None:
    here = f"/conversations/{conversation.pk}/"
    everything = offered(owners, "/palette/", here)
    assert {"New conversation", "Plan history", "Stop the agent", "Preferences"} <= set(everything)
    assert conversation.title not in everything, "the user is there already"
    assert offered(owners, "/palette/")[0] == conversation.title
    assert "Plan history" not in offered(owners, "/palette/")
    for typed, title in (
        ("pref", "Preferences"),
        ("theme", "Preferences"),
        ("dark", "Preferences"),
        ("sign", "Sign out"),
        ("shortc key", "Keyboard shortcuts"),
    ):
        assert offered(owners, "/palette/", q=typed) == [title, f"Search all conversations for “{typed}”"]
    assert offered(owners, "/palette/", q="!!!") == ["Search all conversations for “!!!”"]


def test_from_the_search_box_conversations_come_first(owners: Client, conversation: Conversation) -> None:
    conversation.rename("Holidays plan")
    index_title(conversation)
    assert offered(owners, "/palette/", q="plan")[0] == "Plan statistics"
    assert offered(owners, "/palette/", q="plan", search="1")[:2] == ["Holidays ", "Plan statistics"]


def test_a_conversation_that_is_archived_says_so(owners: Client, conversation: Conversation) -> None:
    conversation.rename("Holidays plan")
    index_title(conversation)
    assert b">archived<" not in owners.get("/palette/", {"q": "holidays"}).content
    Conversation.objects.filter(pk=conversation.pk).update(archived_at=timezone.now())
    assert b">archived<" in owners.get("/palette/", {"q": "holidays"}).content


def test_tags_are_found(owners: Client, conversation: Conversation) -> None:
    conversation.tags.add(Tag.of(conversation.owner_id, "Spring trips"))
    for typed in ("trips", "#spring"):
        assert offered(owners, "/palette/", q=typed)[0] == "#Spring trips"


def test_the_conversation_that_was_seen_before_comes_first(
    owners: Client, owner: User, conversation: Conversation
) -> None:
    newer = [Conversation.begin(owner, f"Talk {n}", uuid.uuid4(), None) for n in range(MAX_CONVERSATIONS + 1)]
    newest = [each.title for each in reversed(newer)]
    assert offered(owners, "/palette/")[:MAX_CONVERSATIONS] == newest[:MAX_CONVERSATIONS]
    for last, first in ((str(conversation.pk), [conversation.title]), ("", []), ("none", [])):
        expected = (first + newest)[:MAX_CONVERSATIONS]
        assert offered(owners, "/palette/", last=last)[:MAX_CONVERSATIONS] == expected


def test_what_a_page_can_do_is_offered_there_alone(owners: Client, conversation: Conversation) -> None:
    here = f"/conversations/{conversation.pk}/"
    own = {"Rename", "Pin", "Archive", "Delete", "Stop the agent", "Choose a model", "Choose a profile"}
    assert own <= set(offered(owners, "/palette/", here))
    assert not own & set(offered(owners, "/palette/", f"{here}plan/"))
    assert own & set(offered(owners, "/palette/")) == {"Choose a model", "Choose a profile"}
    assert not own & set(offered(owners, "/palette/", "/board/"))
    for kind in ("pin", "archive"):
        owners.post(f"{here}organise/", {"kind": kind})
    assert {"Unpin", "Unarchive"} <= set(offered(owners, "/palette/", here))
    settings_pages = offered(owners, "/palette/", q="settings")
    assert {"Connections", "Profiles", "Usage", "Preferences"} <= set(settings_pages)


def test_models_are_not_offered_where_none_is_chosen(owners: Client, conversation: Conversation) -> None:
    here = f"/conversations/{conversation.pk}/"
    connection = Connection.objects.create(
        owner=conversation.owner, name="Mine", base_url="http://localhost/v1"
    )
    ModelSettings.objects.create(connection=connection, model="granite")
    assert "granite" in offered(owners, "/palette/", here, q="granite")
    assert "granite" in offered(owners, "/palette/", "/board/", q="granite")
    for page in ("plan/", "share/", "files/"):
        assert "granite" not in offered(owners, "/palette/", here + page, q="granite")


def test_a_slash_offers_commands_by_their_name(
    owners: Client, conversation: Conversation, turn: Turn
) -> None:
    here = f"/conversations/{conversation.pk}/"
    names = ["/new", "/model", "/profile", "/plan", "/stop", "/export", "/help"]
    assert offered(owners, "/complete/", here, sign="/") == names
    turn.request_stop()
    assert offered(owners, "/complete/", here, sign="/", q="s") == ["/help"], "nothing is left to stop"
    assert offered(owners, "/complete/", sign="/") == ["/new", "/model", "/profile", "/help"]
    assert offered(owners, "/complete/", sign="@") == offered(owners, "/complete/", sign="?") == []


def test_the_sheet_of_keys_has_every_command(owners: Client, conversation: Conversation) -> None:
    for page in ("/", f"/conversations/{conversation.pk}/"):
        headers = {"HX-Current-URL": f"http://testserver{page}"}
        sheet = owners.get("/keys/", headers=headers).content.decode()
        for name in ("new", "model", "profile", "plan", "stop", "export", "help"):
            assert f"<kbd>/{name}</kbd>" in sheet


def test_files_and_items_are_those_of_the_conversation(
    owners: Client, strangers: Client, conversation: Conversation, turn: Turn, workspaces: Path
) -> None:
    here = f"/conversations/{conversation.pk}/"
    assert offered(owners, "/complete/", here, sign="@") == [], "there is no folder yet"
    folder = workspaces / str(conversation.pk)
    (folder / "src").mkdir(parents=True)
    for name in ("a_note.md", "src/note.py", "src/<b>.txt", "my list.txt"):
        (folder / name).write_text("x")
    assert offered(owners, "/complete/", here, sign="@", q="note") == ["note.py", "a_note.md"]
    assert offered(owners, "/complete/", here, sign="@", q="b>") == ["&lt;b&gt;.txt"]
    found = owners.get(
        "/complete/", {"sign": "@", "q": "list"}, headers={"HX-Current-URL": f"http://testserver{here}"}
    )
    assert 'data-insert="&quot;my list.txt&quot;"' in found.content.decode(), "as from the menu of the file"
    items: list[dict[str, Any]] = [{"id": "1", "content": "Paint the door"}, {"id": "2", "content": "Rest"}]
    conversation.revisions.create(turn=turn, items=items)
    assert offered(owners, "/complete/", here, sign="#", q="DOOR") == ["Paint the door"]
    headers = {"HX-Current-URL": f"http://testserver{here}"}
    for address in ("/complete/", "/palette/"):
        assert strangers.get(address, headers=headers).status_code == 404, address


NAMED = re.compile(r"\b(F\d+|Escape|Enter|Tab|Arrow\w+|Home|End|Page(?:Up|Down)|Delete|Backspace)\b")
LABELS = {"Escape": "Esc", "ArrowUp": "↑", "ArrowDown": "↓", "ArrowLeft": "←", "ArrowRight": "→"}


def test_the_sheet_of_keys_has_every_key_of_the_scripts(owners: Client) -> None:
    """Except those of the replay, a page of its own."""
    sheet = owners.get("/keys/", headers={"HX-Request": "true"}).content.decode()
    shown = set(re.findall("<kbd>(.*?)</kbd>", sheet))
    scripts = [path for path in (settings.BASE_DIR / "static/js").glob("*.js") if path.name != "replay.js"]
    lines = [line for path in scripts for line in path.read_text().splitlines()]
    used = {key for line in lines if re.search(r"\.key\b", line) for key in NAMED.findall(line)}
    assert "F2" in used
    assert {LABELS.get(key, key) for key in used} <= shown


def test_the_composer_names_the_commands(owners: Client, conversation: Conversation) -> None:
    pages = [owners.get(address).content.decode() for address in ("/", f"/conversations/{conversation.pk}/")]
    first, live = (re.findall('data-commands="(.*?)"', page)[0].split() for page in pages)
    assert set(live) == set(_command_titles())
    assert set(first) == {option.name for option in _commands("new_conversation", None)}
