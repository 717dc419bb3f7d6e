"""Share links: their content, access and expiry."""

from __future__ import annotations

import datetime
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.files.conversation_workspace import folder_of
from chat.models import BulkAct, Conversation, Message, ShareLink, Step, TodoRevision, ToolCall, Turn
from tests.bodies import body
from tests.export.rich import Rich
from tests.pictures import png
from tests.search.conftest import Talk


@pytest.fixture
def rich(owner: User, collected: None) -> Conversation:
    owner.email, owner.first_name = "olga@example.net", "Olga"
    owner.save()
    conversation = Rich(owner, 3, turns=4, calls=4).conversation
    folder = folder_of(conversation)
    folder.mkdir(parents=True)
    (folder / "result.txt").write_text("42")
    (folder / "draft ü?#.txt").write_text("draft")
    (folder / "elsewhere").symlink_to("/etc/passwd")
    return conversation


@pytest.fixture
def visitor(client: Client) -> Client:
    return client


def share(owners: Client, conversation: Conversation, **form: str) -> str:
    """Create link in the page; its path."""
    before = set(ShareLink.objects.values_list("pk", flat=True))
    answer = owners.post(f"/conversations/{conversation.pk}/share/", form)
    assert answer.status_code == 302
    link = ShareLink.objects.exclude(pk__in=before).get()
    path = f"/shared/{link.token}/"
    assert f'value="http://testserver{path}"' in owners.get(answer.url).content.decode()
    return path


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return body(response).decode()


def test_the_list_and_the_menu_tell_what_is_shared(owners: Client, rich: Conversation) -> None:
    def listed() -> str:
        return owners.get("/conversations/").content.decode()

    assert "shared=1" not in listed()
    for _ in range(2):
        share(owners, rich)
    assert 'href="/conversations/?shared=1"' in listed()
    assert "2 links</span>" in owners.get(f"/conversations/{rich.pk}/").content.decode()
    Conversation.begin(rich.owner, "Another one", uuid.uuid4(), None)
    rich.archived_at = timezone.now()
    rich.save()
    found = owners.get("/conversations/?shared=1").content.decode()
    assert 'aria-current="page">Shared</a>' in found
    assert found.count('name="c"') == 1
    assert 'value="bring_back"' in found
    for link in rich.share_links.all():
        link.revoke()
    assert "Nothing is shared." in owners.get("/conversations/?shared=1").content.decode()
    assert "shared=1" not in listed()
    assert "links</span>" not in owners.get(f"/conversations/{rich.pk}/").content.decode()


def test_anybody_reads_it(owners: Client, visitor: Client, rich: Conversation) -> None:
    path = share(owners, rich)
    for where in (path, f"{path}replay/"):
        response: Any = visitor.get(where)
        page = text_of(response)
        for turn in rich.turns.all():
            assert f'id="turn-{turn.pk}"' in page
        assert not response.cookies
        assert not visitor.cookies
        assert response["X-Robots-Tag"].startswith("noindex")
        assert response["Referrer-Policy"] == "no-referrer"
        assert "no-store" in response["Cache-Control"]


def test_what_was_removed_from_the_list_is_only_in_its_history(
    owners: Client, owner: User, visitor: Client, collected: None
) -> None:
    one = Talk(owner, "Plan it").plan("Write the parser", "Ask Bob").plan("Write the parser").end()
    page = text_of(visitor.get(share(owners, one.conversation)))
    lists = re.findall(r'<ol[^>]*class="plan__list">(.*?)</ol>', page, re.DOTALL)
    assert len(lists) == 2
    assert all("Write the parser" in each and "Ask Bob" not in each for each in lists)
    assert "Ask Bob" in page.partition('class="reading__story"')[2]
    two = Talk(owner, "Plan it").plan("Ask Bob").plan().end()
    page = text_of(visitor.get(share(owners, two.conversation)))
    assert re.search(r'class="reading__count">0/0</p>\s*<p\s+class="plan__empty">No to-dos', page)


def test_it_tells_nothing_of_its_owner(owners: Client, visitor: Client, rich: Conversation) -> None:
    Turn.objects.filter(pk=rich.turns.latest("pk").pk).update(
        status="failed", status_message="http://10.0.0.7 is down"
    )
    Step.objects.update(endpoint="http://10.0.0.7/v1", reminder="Mind the plan", edit_note="Reworded")
    assert "Mind the plan" in text_of(owners.get(f"/conversations/{rich.pk}/export.html"))
    path = share(owners, rich)
    for where in (path, f"{path}replay/"):
        page = text_of(visitor.get(where)).replace(path, "")  # random letters, which may spell one of these
        for private in ("Olga", "olga@", "10.0.0.7", str(folder_of(rich)), "EUR", str(rich.pk)):
            assert private not in page, private
        assert "Mind the plan" not in page
        assert "Reworded" not in page
        assert not re.search(r"<(form|textarea)\b|id=\"(sidebar|composer|act)\"", page)


def test_it_names_no_file_that_only_a_look_at_the_folder_tells(
    owners: Client, visitor: Client, rich: Conversation
) -> None:
    calls = ToolCall.objects.filter(turn__conversation=rich)
    calls.update(name="bash", detail={"changed": ["only-on-disk.txt"], "changed_more": 2})
    path = share(owners, rich)
    for where in (path, f"{path}replay/"):
        assert "only-on-disk" not in text_of(visitor.get(where))
    assert "only-on-disk" in text_of(owners.get(f"/conversations/{rich.pk}/"))


def test_what_comes_later_is_not_in_it(owners: Client, visitor: Client, rich: Conversation) -> None:
    path = share(owners, rich)
    before = text_of(visitor.get(path))
    later = rich.start_turn("A later secret", uuid.uuid4())
    TodoRevision.write(later, None, "focused", [_item("A later item")])
    assert text_of(visitor.get(path)) == before
    claimed = Turn.claim("worker", later.pk)
    assert claimed is not None
    claimed.end(Turn.Status.COMPLETED)
    last = rich.turns.exclude(pk=later.pk).latest("pk")
    TodoRevision.edit(last, "focused", [_item("Another later item")])
    rich.rename("A later title")
    assert text_of(visitor.get(path)) == before
    assert "A later secret" in text_of(visitor.get(share(owners, rich)))


def test_a_plan_that_was_dismissed_or_taken_back(owners: Client, visitor: Client, owner: User) -> None:
    conversation = Conversation.begin(owner, "Begin", uuid.uuid4(), None)
    turn = Turn.claim("worker")
    assert turn is not None
    turn.end(Turn.Status.COMPLETED)
    TodoRevision.edit(turn, "focused", [_item("Pasted by mistake")])
    assert "Pasted by mistake" in text_of(visitor.get(share(owners, conversation)))
    TodoRevision.edit(turn, "focused", [])
    for where in ("", "replay/"):
        assert "Pasted by mistake" not in text_of(visitor.get(share(owners, conversation) + where))
    TodoRevision.edit(turn, "focused", [_item("Meant")])
    assert "Dismissed" not in text_of(visitor.get(share(owners, conversation)))
    BulkAct.carry_out(owner, "dismiss", [conversation.pk])
    page = text_of(visitor.get(share(owners, conversation)))
    assert "0 of 1 done · Dismissed" in page
    assert "0/1 · Dismissed" in page


def test_a_turn_at_work_is_not_in_it(owners: Client, visitor: Client, rich: Conversation) -> None:
    turn = rich.start_turn("Just begun", uuid.uuid4())
    TodoRevision.write(turn, None, "focused", [_item("Just planned")])
    page = text_of(visitor.get(share(owners, rich)))
    assert "Just begun" not in page
    assert "Just planned" not in page


def test_nothing_to_share_yet(owners: Client, owner: User) -> None:
    fresh = Conversation.begin(owner, "Begin", uuid.uuid4(), None)
    answer = owners.post(f"/conversations/{fresh.pk}/share/", {"days": "7"})
    assert "Nothing to share yet" in answer.content.decode()
    assert not ShareLink.objects.exists()


def test_an_ended_link_says_so_and_an_unknown_one_nothing(
    owners: Client, visitor: Client, rich: Conversation
) -> None:
    expired, revoked = share(owners, rich), share(owners, rich)
    link = ShareLink.objects.earliest("pk")
    ShareLink.objects.filter(pk=link.pk).update(expires_at=timezone.now() - datetime.timedelta(seconds=1))
    other = ShareLink.objects.latest("pk")
    assert visitor.get(revoked).status_code == 200
    assert owners.post(f"/conversations/{rich.pk}/share/{other.pk}/revoke/").status_code == 302
    rests = ("", "replay/", "files/result.txt", f"pictures/{'0' * 32}/")
    for path, heading in ((expired, "This link has expired"), (revoked, "This link was revoked")):
        for rest in rests:
            response = visitor.get(path + rest)
            page = response.content.decode()
            assert response.status_code == 410
            assert f"<h1>{heading}</h1>" in page
            assert "Ask the person who sent it for a new one." in page
            assert rich.title not in page
            assert 'href="/"' not in page
            assert "no-store" in response["Cache-Control"]
            assert not response.cookies
    answers = []
    for path in ("/shared/unknown/", f"/shared/{'x' * 500}/", "/shared/%00%ff/"):
        for rest in rests:
            response = visitor.get(path + rest)
            assert response.status_code == 404
            assert not response.cookies
            answers.append((response.content, sorted(response.headers.items())))
    assert all(answer == answers[0] for answer in answers)


def test_a_link_is_revoked_by_its_owner_alone(
    owners: Client, visitor: Client, rich: Conversation, stranger: User, browser_of: Any
) -> None:
    path = share(owners, rich)
    own = Conversation.objects.create(owner=stranger, title="Mine")
    link = ShareLink.objects.get()
    strangers = browser_of(stranger)
    assert strangers.post(f"/conversations/{own.pk}/share/{link.pk}/revoke/").status_code == 404
    assert visitor.get(path).status_code == 200


def test_a_deleted_conversation_is_shared_no_more(
    owners: Client, visitor: Client, rich: Conversation
) -> None:
    path = share(owners, rich)
    owners.post(f"/conversations/{rich.pk}/delete/")
    assert visitor.get(path).status_code == 404


@pytest.mark.parametrize(
    ("form", "days"),
    [({}, 7), ({"days": "1"}, 1), ({"days": "30"}, 30), ({"days": "until", "until": "+3"}, 3)],
)
def test_how_long_it_leads_somewhere(
    owners: Client, rich: Conversation, form: dict[str, str], days: int
) -> None:
    if form.get("until"):
        form = {**form, "until": (timezone.localdate() + datetime.timedelta(days=days)).isoformat()}
    share(owners, rich, **form)
    left = ShareLink.objects.get().expires_at - timezone.now()
    assert datetime.timedelta(days=days - 1) < left < datetime.timedelta(days=days + 1)


@pytest.mark.parametrize("until", ["", "soon", "2020-01-01", "2999-01-01", "9999-12-31", "2026-02-31"])
def test_a_day_that_cannot_be(owners: Client, rich: Conversation, until: str) -> None:
    form = {"days": "until", "until": until}
    answer = owners.post(f"/conversations/{rich.pk}/share/", form)
    assert answer.status_code == 400
    assert not ShareLink.objects.exists()


def test_only_the_hash_finds_a_token(owners: Client, rich: Conversation) -> None:
    path = share(owners, rich)
    token = path.split("/")[2]
    assert len(token) >= 43
    assert token not in repr(list(ShareLink.objects.values()))


def test_no_files_unless_chosen(owners: Client, visitor: Client, rich: Conversation) -> None:
    path = share(owners, rich)
    page = text_of(visitor.get(path))
    assert "/pictures/" not in page
    assert "result.txt" not in page
    assert visitor.get(f"{path}files/result.txt").status_code == 404
    digest = Message.objects.filter(attachments__digest__gt="").values_list("attachments__digest", flat=True)[
        0
    ]
    assert visitor.get(f"{path}pictures/{digest}/").status_code == 404


def test_files_as_they_were(owners: Client, visitor: Client, rich: Conversation) -> None:
    path = share(owners, rich, with_files="on")
    folder: Path = folder_of(rich)
    page = text_of(visitor.get(path))
    links = re.findall(r'href="(/shared/[^"]*/files/[^"]*)"', page)
    assert len(links) == 2
    answers: list[Any] = [visitor.get(link) for link in links]
    assert sorted(text_of(answer) for answer in answers) == ["42", "draft"]
    for answer in answers:
        assert answer["Content-Disposition"].startswith("attachment")
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Security-Policy"].startswith("sandbox")
        assert "no-store" in answer["Cache-Control"]
    (folder / "result.txt").write_text("43")
    (folder / "new.txt").write_text("new")
    for name in ("result.txt", "new.txt", "elsewhere", "../x", "/etc/passwd", "%2e%2e/%2e%2e/secret_key"):
        assert visitor.get(f"{path}files/{name}").status_code == 404, name
    assert "1 file has changed since" in text_of(visitor.get(path))


def test_what_a_link_shows_is_said(owners: Client, rich: Conversation) -> None:
    page = f"/conversations/{rich.pk}/share/"
    share(owners, rich, with_files="on")
    assert "with 2 files" in text_of(owners.get(page))
    for each in folder_of(rich).iterdir():
        each.unlink()
    share(owners, rich, with_files="on")
    assert "with images, no files" in text_of(owners.get(page))
    for message in Message.objects.filter(turn__conversation=rich, attachments__digest__gt=""):
        message.attachments.all().delete()
    assert "with images" not in text_of(owners.get(page))


def test_pictures_of_what_is_shared(owners: Client, visitor: Client, rich: Conversation) -> None:
    path = share(owners, rich, with_files="on")
    page = text_of(visitor.get(path))
    sources = set(re.findall(r'<img src="(/shared/[^"]*)"', page))
    assert sources
    for source in sources:
        response = visitor.get(source)
        assert response["Content-Type"] == "image/png"
        assert not response.cookies
    assert visitor.get(f"{path}pictures/{'0' * 32}/").status_code == 404


REPLY = (
    "![chart](chart.png) [the result](/workspace/result.txt) ![lost](lost.png) [gone](gone.md) "
    "`result.txt` `gone.md`"
)


def test_replies_show_shared_pictures_and_link_to_shared_files(
    owners: Client, visitor: Client, rich: Conversation
) -> None:
    folder: Path = folder_of(rich)
    (folder / "chart.png").write_bytes(png(4, 4))
    (folder / "chart.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    Message.objects.filter(role="assistant").exclude(text="").update(text=REPLY)
    for path in (share(owners, rich, with_files="on"), f"{share(owners, rich, with_files='on')}replay/"):
        page = text_of(visitor.get(path))
        token = path.split("/")[2]
        image = f"/shared/{token}/images/chart.png"
        assert f'<a href="{image}"><img class="picture" src="{image}" alt="chart" loading="lazy"></a>' in page
        assert f'<a href="/shared/{token}/files/result.txt">the result</a>' in page
        assert '<span class="image-left-out">[lost]</span> gone' in page
        assert f'<a href="/shared/{token}/files/result.txt"><code>result.txt</code></a>' in page
        assert "<code>gone.md</code></p>" in page
        answer = visitor.get(image)
        assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("image/png", "nosniff")
        assert answer["Content-Security-Policy"].startswith("sandbox")
        assert "Content-Disposition" not in answer
        assert "script" not in visitor.get(f"/shared/{token}/images/chart.svg")["Content-Security-Policy"]
        for name in ("result.txt", "lost.png", "../x"):
            assert visitor.get(f"/shared/{token}/images/{name}").status_code == 404, name
    page = text_of(visitor.get(share(owners, rich)))
    assert '<span class="image-left-out">[chart]</span> the result' in page
    assert "/images/" not in page


def test_uploads_lead_to_shared_files(owners: Client, visitor: Client, rich: Conversation) -> None:
    question = Message.objects.filter(role="user").earliest("pk")
    for name in ("result.txt", "gone.txt"):
        question.attachments.create(path=name, size=2)
    path = share(owners, rich, with_files="on")
    page = " ".join(text_of(visitor.get(path)).split())
    assert f'<a class="attachment__file" href="{path}files/result.txt">result.txt</a>' in page
    assert '<span class="attachment__file">gone.txt</span>' in page
    assert '<a class="attachment__file"' not in text_of(visitor.get(share(owners, rich)))


def test_a_file_with_the_same_content_is_the_same(
    owners: Client, visitor: Client, rich: Conversation
) -> None:
    path = share(owners, rich, with_files="on")
    result: Path = folder_of(rich) / "result.txt"
    result.unlink()  # as when another version of a turn is shown
    assert "1 file has changed since" in text_of(visitor.get(path))
    result.write_text("42")
    assert "has changed since" not in text_of(visitor.get(path))
    assert text_of(visitor.get(f"{path}files/result.txt")) == "42"
    result.write_text("43")
    assert "1 file has changed since" in text_of(visitor.get(path))
    assert visitor.get(f"{path}files/result.txt").status_code == 404


def test_links_have_a_bound(owners: Client, rich: Conversation) -> None:
    for _number in range(20):
        share(owners, rich)
    answer = owners.post(f"/conversations/{rich.pk}/share/")
    assert "already has 20 links" in answer.content.decode()


def _item(content: str) -> dict[str, str]:
    return {"id": uuid.uuid4().hex[:8], "content": content, "status": "pending", "active_form": "", "key": ""}
