"""The files of a workspace on the page, and the headers of each response with a file."""

from __future__ import annotations

import io
import os
import re
import uuid
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from agentsite.middleware import POLICY
from chat.files.checkpoints import remove_checkpoints
from chat.files.conversation_workspace import open_workspace, open_workspace_for
from chat.files.pictures import PictureStore
from chat.models import Conversation, Turn
from chat.models.search_index import SearchEntry
from chat.pages.files import PAGE_RUNNING, PAGE_SANDBOXED, PDF_CONFINED, SANDBOXED, SVG_SANDBOXED
from chat.search.documents import Kind
from chat.search.index import index_files
from tests.bodies import body
from tests.pictures import png

HTMX = {"HX-Request": "true"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture
def work(conversation: Conversation, settings: Any) -> Path:
    """The conversation's folder; `kept` was there at its start."""
    settings.WORKSPACE_SEED = None
    folder = Path(settings.WORKSPACES) / str(conversation.pk)
    folder.mkdir(parents=True)
    (folder / "kept").write_text("one\ntwo\n")
    open_workspace(conversation)
    return folder


def where(conversation: Conversation, rest: str = "") -> str:
    return f"/conversations/{conversation.pk}/files/{rest}"


def test_before_anybody_worked_there_is_nothing(owners: Client, conversation: Conversation) -> None:
    page = owners.get(where(conversation))
    assert page.status_code == 200
    assert "No files yet." in page.content.decode()


def test_the_tree_marks_what_changed(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "folder").mkdir()
    (work / "folder" / "new.py").write_text("print()")
    (work / "kept").unlink()
    page = owners.get(where(conversation)).content.decode()
    assert '<li class="file-row" data-kind="file" data-change="new">' in page
    assert '<li class="file-row" data-kind="file" data-change="deleted">' in page
    assert "2 changed" in page
    assert page.startswith("<!doctype html>")
    part = owners.get(where(conversation), headers=HTMX).content.decode()
    assert part.lstrip().startswith('<section id="files"')
    assert 'hx-target="#files-body"' in part
    assert "hx-target" not in page.replace('hx-target="this"', "")


def test_a_text_is_shown_in_colours_line_by_line(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    (work / "a.py").write_text("import os\n'''One\n\ntwo'''\n")
    page = owners.get(where(conversation, "file/?path=a.py")).content.decode()
    quote = "&#x27;" * 3
    string = f'<span class="hl-s">{quote}One</span>', "", f'<span class="hl-s">two{quote}</span>'
    lines = '<span class="hl-kn">import</span> os', *string
    assert "".join(f"<span>{line}\n</span>" for line in lines) + "</pre>" in page


def test_a_change_is_shown_line_by_line(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "kept").write_text("one\nTWO\n")
    assert "as=change" in owners.get(where(conversation, "file/?path=kept")).content.decode()
    page = owners.get(where(conversation, "file/?path=kept&as=change")).content.decode()
    assert 'data-kind="removed"' in page
    assert 'data-kind="added"' in page
    (work / "kept").unlink()
    page = owners.get(where(conversation, "file/?path=kept")).content.decode()
    assert "This file was deleted in this conversation." in page
    assert 'data-kind="added"' not in page
    assert page.count('data-kind="removed"') == 2


def test_nothing_in_a_name_or_a_file_becomes_markup(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    name = HOSTILE.replace("/", "")
    for path in (name, f"{name}.py", f"{name}.html", f"{name}.svg"):
        (work / path).write_text(HOSTILE)
    (work / name.upper()).mkdir()
    pages = [owners.get(where(conversation)), owners.get(where(conversation), headers=HTMX)]
    for path in work.iterdir():
        for query in ({"path": path.name}, {"path": path.name, "as": "change"}):
            pages.append(owners.get(where(conversation, "file/"), query))
            pages.append(owners.get(where(conversation), query))
    for page in pages:
        text = page.content.decode().lower()
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert page["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.xhtml", "a.js", "a.pdf", "a.png", "a", "a.txt"])
def test_a_download_is_never_a_page(
    owners: Client, conversation: Conversation, work: Path, name: str
) -> None:
    (work / name).write_text(HOSTILE)
    response = owners.get(where(conversation, f"download/?path={name}"))
    assert body(response) == HOSTILE.encode()
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == SANDBOXED
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a\nb\r.txt", 'filename="a b .txt"'),
        ('a"b;c.txt', 'filename="a_b;c.txt"'),
        ("文件.csv", "filename*=utf-8''%E6%96%87%E4%BB%B6.csv"),
        ("\u202egnp.exe", 'filename="gnp.exe"'),
        (".profile", 'filename="profile"'),
    ],
)
def test_a_downloads_name_does_no_harm(
    owners: Client, conversation: Conversation, work: Path, name: str, told: str
) -> None:
    (work / name).write_text("x")
    response = owners.get(where(conversation, "download/"), {"path": name})
    assert response["Content-Disposition"] == f"attachment; {told}"
    assert body(response) == b"x"


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_a_picture_is_one_by_its_bytes(
    owners: Client, conversation: Conversation, work: Path, start: bytes, kind: str
) -> None:
    (work / "picture.html").write_bytes(start + bytes(100))
    response = owners.get(where(conversation, "image/?path=picture.html"))
    assert response["Content-Type"] == kind
    assert response["Content-Security-Policy"] == SANDBOXED
    assert response["X-Content-Type-Options"] == "nosniff"
    assert body(response) == start + bytes(100)
    page = owners.get(where(conversation, "file/?path=picture.html")).content.decode()
    assert '<img class="files__picture"' in page


HOSTILE_SVG = f'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">{HOSTILE}</svg>'


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.png", HOSTILE_SVG), ("a.gif", HOSTILE_SVG), ("a.html", HOSTILE_SVG), ("a.svg", HOSTILE)],
)
def test_what_only_calls_itself_a_picture_is_none(
    owners: Client, conversation: Conversation, work: Path, name: str, text: str
) -> None:
    (work / name).write_text(text)
    assert owners.get(where(conversation, f"image/?path={name}")).status_code == 404
    assert "<img class" not in owners.get(where(conversation, f"file/?path={name}")).content.decode()


@pytest.mark.parametrize("name", ["a.svg", "a b.SVG"])
def test_an_svg_file_is_a_picture_that_can_do_nothing(
    owners: Client, conversation: Conversation, work: Path, name: str
) -> None:
    (work / name).write_text(HOSTILE_SVG)
    response = owners.get(where(conversation, "image/"), {"path": name})
    assert body(response) == HOSTILE_SVG.encode()
    assert response["Content-Type"] == "image/svg+xml"
    assert response["Content-Security-Policy"] == SVG_SANDBOXED
    assert response["X-Content-Type-Options"] == "nosniff"
    page = owners.get(where(conversation, "file/"), {"path": name}).content.decode()
    assert '<img class="files__picture"' in page
    assert "as=source" in page
    source = owners.get(where(conversation, "file/"), {"path": name, "as": "source"}).content.decode()
    assert "<img class" not in source
    assert 'class="files__text"' in source
    assert ">Preview</a>" in source


def test_the_policy_of_an_svg_file_runs_and_loads_nothing() -> None:
    rules = SVG_SANDBOXED.split("; ")
    assert {"sandbox", "default-src 'none'", "style-src 'unsafe-inline'"} <= set(rules)
    assert not [rule for rule in rules if "script" in rule or "img" in rule or "allow" in rule]


def test_an_html_file_is_a_page_in_a_frame(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "a.html").write_text(f"<link rel=preconnect href=//example.org>{HOSTILE}")
    page = owners.get(where(conversation, "file/?path=a.html")).content.decode()
    [frame] = re.findall(r"<iframe[^>]*>", page)
    assert 'sandbox="allow-popups allow-popups-to-escape-sandbox"' in frame
    assert f'src="{where(conversation, "web-page/")}?path=a.html&amp;at=' in frame
    source = owners.get(where(conversation, "file/?path=a.html&as=source")).content.decode()
    assert "<iframe" not in source
    assert ">Preview</a>" in source
    response = owners.get(where(conversation, "web-page/?path=a.html"))
    assert response.content.decode() == f"<basefont rel=preconnect href=//example.org>{HOSTILE}"
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert response["Content-Security-Policy"] == PAGE_SANDBOXED
    assert response["X-Frame-Options"] == "SAMEORIGIN"
    assert response["X-DNS-Prefetch-Control"] == "off"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in response["Cache-Control"]


def test_the_scripts_of_a_page_run_in_a_frame_alone(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    (work / "a.html").write_text(HOSTILE)
    page = owners.get(where(conversation, "file/?path=a.html&as=running")).content.decode()
    [frame] = re.findall(r"<iframe[^>]*>", page)
    assert 'sandbox="allow-scripts allow-forms allow-modals"' in frame
    address = where(conversation, "web-page/?path=a.html&scripts")
    running = owners.get(address, headers={"Sec-Fetch-Dest": "iframe"})
    assert running["Content-Security-Policy"] == PAGE_RUNNING
    for other in ("document", "object", ""):
        response = owners.get(address, headers={"Sec-Fetch-Dest": other})
        assert response["Content-Security-Policy"] == PAGE_SANDBOXED, other


def test_the_policy_of_a_running_page_loads_nothing() -> None:
    rules = dict(rule.split(" ", 1) for rule in PAGE_RUNNING.split("; "))
    assert rules == {
        "sandbox": "allow-scripts allow-forms allow-modals",
        "default-src": "'none'",
        "script-src": "'unsafe-inline' data:",
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "font-src": "data:",
        "media-src": "data: blob:",
        "form-action": "'none'",
        "frame-ancestors": "'self'",
    }


def test_the_policy_of_a_page_runs_and_loads_nothing() -> None:
    rules = dict(rule.split(" ", 1) for rule in PAGE_SANDBOXED.split("; "))
    assert rules == {
        "sandbox": "allow-popups allow-popups-to-escape-sandbox",
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "font-src": "data:",
        "frame-ancestors": "'self'",
    }


@pytest.mark.parametrize("path", ["no.html", "binary.html", "../../etc/passwd", ""])
def test_what_is_no_page_is_not_there(
    owners: Client, conversation: Conversation, work: Path, path: str
) -> None:
    (work / "binary.html").write_bytes(bytes(9))
    assert owners.get(where(conversation, "web-page/"), {"path": path}).status_code == 404


BINARY = {
    "a.pdf": b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\n%%EOF\n",
    "a.bin": b"\x01\x02\x03Catalog" * 9,
    "a.pickle": b"Catalog\0b",
}


@pytest.mark.parametrize(
    ("encoding", "text", "name"),
    [
        ("gbk", "姓名,成绩\n朱镕基,95", "GB18030"),
        ("big5", "姓名,成績\n張三,95", "Big5"),
        ("shift_jis", "名前,点数\n田中,95", "Shift_JIS"),
        ("euc-kr", "이름,점수\n김철수,95", "EUC-KR"),
        ("cp1251", "Привет,Как дела\nМосква,95", "Windows-1251"),
        ("cp1252", "Straße,Größe\nÄrger,“viel”", "Windows-1252"),
        ("utf-16", "姓名,成绩\n张三,95", "UTF-16"),
        ("utf-8-sig", "姓名,成绩\n张三,95", ""),
    ],
)
def test_a_text_of_another_encoding_is_shown_and_compared(
    owners: Client, conversation: Conversation, work: Path, encoding: str, text: str, name: str
) -> None:
    (work / "a.csv").write_bytes(text.encode(encoding))
    page = owners.get(where(conversation, "file/"), {"path": "a.csv"}).content.decode()
    for cell in text.replace("\n", ",").split(","):
        assert f">{cell}</t" in page
    assert ("read as" in page) == bool(name)
    assert name in page
    page = owners.get(where(conversation, "file/"), {"path": "a.csv", "as": "change"}).content.decode()
    assert text.split("\n")[1] in page


def test_a_log_is_shown_without_the_codes_of_its_colours(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    (work / "run.log").write_text("\x1b[32m3 passed\x1b[0m, \x1b[1;31m1 failed\x1b[0m\n")
    for way in ({}, {"as": "change"}):
        page = owners.get(where(conversation, "file/"), {"path": "run.log", **way}).content.decode()
        assert "3 passed, 1 failed" in page
        assert "\x1b" not in page


def test_a_table_with_many_columns_is_cut_at_its_rows(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    (work / "wide.csv").write_text(
        "\n".join(",".join(f"r{row}c{n}" for n in range(31)) for row in range(500))
    )
    page = owners.get(where(conversation, "file/"), {"path": "wide.csv"}).content.decode()
    assert "<td>r1c30</td>" in page
    assert "Only the first 322 rows are shown." in page


@pytest.mark.parametrize("name", BINARY)
def test_what_is_no_text_has_no_preview(
    owners: Client, conversation: Conversation, work: Path, name: str
) -> None:
    (work / name).write_bytes(BINARY[name])
    page = owners.get(where(conversation, "file/"), {"path": name}).content.decode()
    if name != "a.pdf":
        assert "No preview: this file is neither text nor an image." in page
    assert ">Download</a>" in page
    for query in ({"path": name}, {"path": name, "as": "change"}, {"path": name, "as": "source"}):
        page = owners.get(where(conversation, "file/"), query).content.decode()
        assert "Catalog" not in page


def test_a_pdf_file_opens_in_a_tab_of_its_own(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "文 件.pdf").write_bytes(BINARY["a.pdf"])
    page = owners.get(where(conversation, "file/"), {"path": "文 件.pdf"}).content.decode()
    [link] = re.findall(r'href="([^"]*/files/pdf/[^"]*)" target="_blank"', page)
    response = owners.get(link)
    assert body(response) == BINARY["a.pdf"]
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == "inline; filename*=utf-8''%E6%96%87%20%E4%BB%B6.pdf"
    assert response["Content-Security-Policy"] == PDF_CONFINED
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert "no-store" in response["Cache-Control"]
    (work / "page.pdf").write_text(HOSTILE)
    assert owners.get(where(conversation, "pdf/"), {"path": "page.pdf"}).status_code == 404
    assert (
        "/files/pdf/" not in owners.get(where(conversation, "file/"), {"path": "page.pdf"}).content.decode()
    )


def test_a_changed_pdf_has_no_lines(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "kept").write_bytes(BINARY["a.pdf"])
    for query in ({"path": "kept"}, {"path": "kept", "as": "change"}):
        page = owners.get(where(conversation, "file/"), query).content.decode()
        assert "This is not a text file, so its lines cannot be compared." in page
        assert "Catalog" not in page


def test_a_log_with_control_characters_is_text(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    (work / "a.log").write_bytes(b"\x1b[32mpassed\x1b[0m\x07\f\r\n" * 9 + b"one\x01two, three, four, five\n")
    page = owners.get(where(conversation, "file/"), {"path": "a.log"}).content.decode()
    assert 'class="files__text"' in page


@pytest.mark.parametrize("path", ["../kept", "/etc/passwd", "link", "pipe", "folder", "nothing", "", "a\0b"])
@pytest.mark.parametrize("action", ["file", "image", "download"])
def test_what_is_no_file_of_the_workspace_is_not_given(
    owners: Client, conversation: Conversation, work: Path, path: str, action: str
) -> None:
    (work / "link").symlink_to("/etc/passwd")
    (work / "folder").mkdir()
    os.mkfifo(work / "pipe")
    response = owners.get(where(conversation, f"{action}/"), {"path": path})
    assert response.status_code == 404
    assert "root:" not in response.content.decode()


def test_a_large_text_is_cut_and_says_so(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "a.txt").write_text("界" * 200_000)
    page = owners.get(where(conversation, "file/?path=a.txt")).content.decode()
    assert "Only the first 256 KiB are shown." in page
    assert len(page) < 200_000
    assert len(body(owners.get(where(conversation, "download/?path=a.txt")))) == 600_000


def test_all_at_once_as_a_zip_file(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "more").write_bytes(os.urandom(300_000))
    response = owners.get(where(conversation, "zip/"))
    assert response["Content-Disposition"] == 'attachment; filename="Look around.zip"'
    assert response["Content-Security-Policy"] == SANDBOXED
    packed = zipfile.ZipFile(io.BytesIO(body(response)))
    assert set(packed.namelist()) == {"kept", "more"}


def test_files_are_brought_in(owners: Client, conversation: Conversation, work: Path) -> None:
    files = [SimpleUploadedFile("a.txt", b"one"), SimpleUploadedFile("a.txt", b"two")]
    response = owners.post(where(conversation, "upload/"), {"files": files})
    assert (response.status_code, response["Location"]) == (302, where(conversation))
    assert (work / "uploads" / "a.txt").read_text() == "one"
    assert (work / "uploads" / "a-2.txt").read_text() == "two"
    assert conversation.turns.count() == 1


def test_what_the_user_does_is_not_shown_as_a_change(
    owners: Client, conversation: Conversation, failed: Turn, work: Path
) -> None:
    owners.post(where(conversation, "upload/"), {"files": SimpleUploadedFile("a.txt", b"one\n")})
    owners.post(where(conversation, "rename/"), {"path": "kept", "name": "better"})
    page = owners.get(where(conversation)).content.decode()
    assert "better" in page
    assert "data-change" not in page
    (work / "uploads" / "a.txt").write_text("two\n")
    owners.post(where(conversation, "delete/"), {"path": "better"})
    page = owners.get(where(conversation)).content.decode()
    assert "better" not in page
    assert page.count('data-change="changed"') == page.count("data-change") == 1
    compared = owners.get(where(conversation, "file/?path=uploads/a.txt&as=change")).content.decode()
    assert "one" in compared
    assert "two" in compared


def test_an_upload_of_nothing_changes_nothing(owners: Client, conversation: Conversation, work: Path) -> None:
    assert owners.post(where(conversation, "upload/")).status_code == 302
    assert "data-change" not in owners.get(where(conversation)).content.decode()


def test_what_is_too_large_to_bring_in_is_refused_with_a_sentence(
    owners: Client, conversation: Conversation, work: Path, settings: Any
) -> None:
    settings.MAX_UPLOAD_BYTES = 10
    response = owners.post(where(conversation, "upload/"), {"files": SimpleUploadedFile("a", b"x" * 11)})
    assert response.status_code == 400
    assert "These files are too large" in response.content.decode()
    assert not (work / "uploads").exists()


def test_many_files_take_a_moment_and_no_more_queries(
    owners: Client, conversation: Conversation, work: Path, django_assert_max_num_queries: Any
) -> None:
    for number in range(3000):
        (work / f"file-{number}").touch()
    with django_assert_max_num_queries(8):
        page = owners.get(where(conversation)).content.decode()
    assert page.count('<li class="file-row"') == 1000
    assert "2001 more items are not shown." in page


def test_a_file_is_renamed_and_deleted(
    owners: Client, conversation: Conversation, failed: Turn, work: Path
) -> None:
    open_workspace(conversation).write("src/notes.txt", b"x")
    index_files(conversation, ["src/notes.txt"])
    data = {"path": "src/notes.txt", "name": " ideas.txt ", "folder": "src"}
    response = owners.post(where(conversation, "rename/"), data)
    assert response["Location"] == where(conversation, "?path=src")
    assert (work / "src" / "ideas.txt").read_text() == "x"
    assert indexed(conversation) == ["src/ideas.txt"]
    response = owners.post(where(conversation, "delete/"), {"path": "src/ideas.txt", "folder": "."})
    assert response["Location"] == where(conversation, "?path=.")
    assert list((work / "src").iterdir()) == []
    assert indexed(conversation) == []


def test_a_file_that_is_renamed_where_it_is_open_is_shown_again(
    owners: Client, conversation: Conversation, failed: Turn, work: Path
) -> None:
    open_workspace(conversation).write("a &.md", b"*Written.*")
    data = {"path": "a &.md", "folder": "", "as": "source"}
    for headers, status in ((None, 400), (HTMX, 200)):
        refused = owners.post(where(conversation, "rename/"), data | {"name": "kept"}, headers=headers)
        assert refused.status_code == status
        page = refused.content.decode()
        assert '<span class="files__path">a &amp;.md</span>' in page
        assert 'role="alert" data-typed="kept">kept already exists. Choose another name.</p>' in page
        assert "*Written.*" in re.sub("<[^>]+>", "", page), "its source"
        assert f'hx-get="{where(conversation, "file/?path=a%20%26.md&amp;as=source")}"' in page
    renamed = owners.post(where(conversation, "rename/"), data | {"name": "b.md"})
    assert renamed["Location"] == where(conversation, "file/?path=b.md&as=source")
    assert "*Written.*" in re.sub("<[^>]+>", "", owners.get(renamed["Location"]).content.decode())
    gone = owners.post(where(conversation, "rename/"), data | {"name": "c.md"})
    assert gone.status_code == 404
    assert "This file is not there any more" in gone.content.decode()
    assert sorted(path.name for path in work.iterdir()) == ["b.md", "kept"]


def indexed(conversation: Conversation) -> list[str]:
    return [
        entry.place
        for entry in SearchEntry.objects.filter(index_state__conversation=conversation, kind=Kind.FILE)
    ]


def test_a_change_that_is_refused_says_why(
    owners: Client, conversation: Conversation, failed: Turn, work: Path
) -> None:
    (work / "other").write_text("x")
    response = owners.post(where(conversation, "rename/"), {"path": "other", "name": "kept"})
    assert response.status_code == 400
    assert "kept already exists. Choose another name." in response.content.decode()
    part = owners.post(where(conversation, "delete/"), {"path": "gone"}, headers=HTMX)
    assert part.status_code == 200
    assert "gone does not exist." in part.content.decode()
    assert f'hx-get="{where(conversation)}?path=."' in part.content.decode()
    opened = owners.get(where(conversation, "file/"), {"path": "gone"})
    assert opened.status_code == 404
    assert "This file is not there any more" in opened.content.decode()
    assert "no-store" in opened["Cache-Control"], "it may come back with another version"
    assert sorted(path.name for path in work.iterdir()) == ["kept", "other"]


def test_files_stay_as_they_are_while_the_agent_works(
    owners: Client, conversation: Conversation, turn: Turn, work: Path
) -> None:
    for change in ("rename/", "delete/"):
        response = owners.post(where(conversation, change), {"path": "kept", "name": "new"})
        assert response.status_code == 400
        assert "The agent is working with these files." in response.content.decode()
    assert [path.name for path in work.iterdir()] == ["kept"]


def test_a_picture_is_shown_as_it_was_sent(owners: Client, conversation: Conversation, work: Path) -> None:
    digest = PictureStore(conversation.pk).keep("uploads/a.png", png()).digest
    query = {"path": "uploads/a.png", "picture": digest}
    page = owners.get(where(conversation, "file/"), query)
    assert f'src="/conversations/{conversation.pk}/pictures/{digest}/"' in page.content.decode()
    assert owners.get(where(conversation, "file/"), query | {"picture": "0" * 64}).status_code == 404


def test_markdown_is_shown_as_a_document(owners: Client, conversation: Conversation, work: Path) -> None:
    (work / "Notes.MD").write_text(f"# Plan\n\n- [x] **done**\n\n{HOSTILE}\n")
    page = owners.get(where(conversation, "file/"), {"path": "Notes.MD"}).content.decode()
    assert "<h1>Plan</h1>" in page
    assert "<strong>done</strong>" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "path=Notes.MD&amp;as=source" in page
    source = owners.get(where(conversation, "file/"), {"path": "Notes.MD", "as": "source"}).content.decode()
    assert "<h1>Plan</h1>" not in source
    assert 'class="files__text"' in source
    assert "Preview" in source


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'name,note\nOwl,"two\nlines, <b>"\n'),
        ("a.csv", '\ufeffname;note\r\nOwl;"two\nlines, <b>"\r\n'),
        ("a.TSV", 'name\tnote\nOwl\t"two\nlines, <b>"\n'),
    ],
)
def test_csv_is_shown_as_a_table(
    owners: Client, conversation: Conversation, work: Path, name: str, text: str
) -> None:
    (work / name).write_text(text, newline="")
    page = owners.get(where(conversation, "file/"), {"path": name}).content.decode()
    assert '<th scope="col">name</th><th scope="col">note</th>' in page
    assert "<tr><td>Owl</td><td>two\nlines, &lt;b&gt;</td></tr>" in page
    assert "rows are shown" not in page


@pytest.mark.parametrize(
    ("imported", "words"),
    [
        (False, "not there any more: it was deleted or renamed"),
        (True, "comes without its files"),
    ],
)
def test_a_file_that_is_not_there_says_why(
    owners: Client, conversation: Conversation, work: Path, imported: bool, words: str
) -> None:
    Conversation.objects.update(imported_at=timezone.now() if imported else None, path_version=1)
    assert words in owners.get(where(conversation, "file/?path=gone.txt")).content.decode()


def test_a_file_of_another_version_says_so_and_leads_to_it(
    owners: Client, conversation: Conversation, failed: Turn, work: Path
) -> None:
    open_workspace_for(failed, [failed.pk])
    (work / "a &.md").write_text("Written.")
    again = Turn.claim("worker", conversation.run_again(failed.pk, uuid.uuid4(), "In other words").pk)
    assert again is not None
    open_workspace_for(again, [failed.pk, again.pk])
    again.end(Turn.Status.FAILED)
    address = where(conversation, "file/?path=a+%26.md")
    page = owners.get(address).content.decode()
    assert "“a &amp;.md” is in another version of this conversation." in page
    gone = owners.get(where(conversation, "file/?path=gone.txt")).content.decode()
    assert "not there any more: it was deleted or renamed" in gone
    assert "another version" not in gone

    show = f"/conversations/{conversation.pk}/turns/{failed.pk}/show/"
    assert f'action="{show}"' in page
    shown = owners.post(show, {"file": "a &.md"}, follow=True)
    assert shown.redirect_chain == [(address, 302)]
    assert "Written." in shown.content.decode()
    remove_checkpoints(conversation.pk)
    unknown = owners.get(where(conversation, "file/?path=gone.txt")).content.decode()
    assert "not in this version of the conversation: it is in another one, or was deleted" in unknown
    Conversation.objects.update(workspace=work)
    chosen = owners.get(where(conversation, "file/?path=gone.txt")).content.decode()
    assert "not there any more: it was deleted or renamed" in chosen, "all versions have the folder's files"


def test_columns_of_numbers_are_aligned_at_their_end(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    rows = ["item,sold,price,share,date", "Owl,12,1.5e3,12 %,2026-11-02", "Hen,,€ 2,−3%,2026-11-03"]
    (work / "shop.csv").write_text("\n".join(rows))
    page = owners.get(where(conversation, "file/"), {"path": "shop.csv"}).content.decode()
    headers = re.findall(r'<th scope="col"( class="cell--right")?>(\w+)', page)
    assert [name for right, name in headers if right] == ["sold", "price", "share"]
    assert '<td>Owl</td><td class="cell--right">12</td>' in page


def test_a_table_is_bounded(owners: Client, conversation: Conversation, work: Path) -> None:
    cases = {
        "long": "a,b\n" + "1,2\n" * 5000,
        "wide": ",".join("x" * 9000) + "\n",
        "uneven": "a\n" + "," * 60_000,
    }
    found = {}
    for case, text in cases.items():
        (work / f"{case}.csv").write_text(text)
        page = owners.get(where(conversation, "file/"), {"path": f"{case}.csv"}).content.decode()
        found[case] = (page.count("</td>"), 'class="files__text"' in page)
        assert ("Only the first 500 rows are shown." in page) == (case == "long")
    assert found == {"long": (1000, False), "wide": (0, False), "uneven": (0, True)}


def test_what_is_no_table_is_shown_as_it_is_written(
    owners: Client, conversation: Conversation, work: Path
) -> None:
    (work / "bad.csv").write_text('a,"' + "x" * 140_000)  # a cell longer than the parser takes
    page = owners.get(where(conversation, "file/"), {"path": "bad.csv"}).content.decode()
    assert 'class="files__text"' in page
    assert "Preview" not in page
    (work / "empty.csv").write_text("")
    page = owners.get(where(conversation, "file/"), {"path": "empty.csv"}).content.decode()
    assert "The file is empty." in page
