"""An HTML file as a page: what it refers to is inside, and what could contact a server is out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from chat.agent.pictures import data_url
from chat.agent.workspace import Workspace, WorkspaceError
from chat.files import web_page
from chat.files.web_page import web_page_of
from tests.pictures import png


@pytest.fixture
def page(workspace: Workspace) -> Path:
    (workspace.path / "site" / "parts").mkdir(parents=True)
    return workspace.path / "site" / "index.html"


def shown(workspace: Workspace, page: Path, text: str) -> str:
    page.write_text(text)
    return web_page_of(workspace, "site/index.html")


@pytest.mark.parametrize(
    "element",
    [
        '<link rel="stylesheet" href="parts/a.css">',
        "<LINK HREF=parts/a.css?v=2 REL=stylesheet />",
        "<link type='text/css' rel='stylesheet'\nhref = './parts/a%2Ecss'>",
    ],
)
def test_stylesheets_of_the_workspace_are_inside(workspace: Workspace, page: Path, element: str) -> None:
    (page.parent / "parts" / "a.css").write_text("p { color: red } /* </style><script> */")
    assert (
        shown(workspace, page, f"<p>{element}</p>")
        == r"<p><style>p { color: red } /* <\/style><script> */</style></p>"
    )


def test_pictures_of_the_workspace_are_inside(workspace: Workspace, page: Path) -> None:
    data = png()
    (page.parent / "parts" / "a & b.png").write_bytes(data)
    found = shown(
        workspace, page, "<img alt=x src='parts/a &amp; b.png' width=9><img src=/a.png><img src=no.png>"
    )
    assert found == f'<img alt=x src="{data_url("image/png", data)}" width=9><img src=/a.png><img src=no.png>'
    found = shown(workspace, page, "<img data-src=b.png src='parts/a &amp; b.png'>")
    assert found.startswith('<img data-src=b.png src="data:image/png')


def test_scripts_of_the_workspace_are_inside_where_they_run(workspace: Workspace, page: Path) -> None:
    (page.parent / "parts" / "a.js").write_text("let a = '</script>'")
    text = (
        "<script defer src=parts/a.js></script><script src='//a.example/b.js'></script><script>c()</script>"
    )
    assert shown(workspace, page, text) == text
    inside = data_url("text/javascript;charset=utf-8", b"let a = '</script>'")
    found = web_page_of(workspace, "site/index.html", scripts=True)
    assert found == text.replace("src=parts/a.js", f'src="{inside}"')


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("<script>a()</script>", True),
        ("<SCRIPT\nsrc=a.js>", True),
        ("<p class=x onclick = 'a()'>", True),
        ("<p>one = 2 and <scripted> <b title=on>", False),
    ],
)
def test_whether_a_page_has_scripts(text: str, runs: bool) -> None:
    assert web_page.has_scripts(text) is runs


@pytest.mark.parametrize(
    "element",
    [
        '<link rel="preconnect" href="https://example.org">',
        "<LiNk/rel=dns-prefetch href=//example.org>",
        "<link\nrel=stylesheet href='https://example.org/a.css'>",
        "<link rel=stylesheet href=../../../etc/passwd>",
        "<link rel=stylesheet href=no.css>",
        "<link>",
        '<meta http-equiv="refresh" content="0;url=https://example.org">',
        "<META http-equiv=x-dns-prefetch-control content=on>",
        "<base href=https://example.org>",
        "<!-- <link> --><svg><link/></svg>",
        '<link rel="stylesheet" title=">" href="https://example.org">',
    ],
)
def test_what_could_contact_a_server_is_out(workspace: Workspace, page: Path, element: str) -> None:
    found = shown(workspace, page, f"<b>{element}</b>").lower()
    assert "<basefont" in found
    assert not [name for name in ("<link", "<meta", "<base ", "<base>") if name in found]


def test_other_elements_stay(workspace: Workspace, page: Path) -> None:
    text = "<!doctype html><p>1 < 2 <linked> <metal> &lt;link> <a>no</a> link meta base"
    assert shown(workspace, page, text) == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('<a href="#part">', '<a href="#part">'),
        (
            '<a id=x href="Über uns.html#x">',
            '<a id=x target="_blank" rel="noreferrer" href="../file/?path=site/%C3%9Cber%20uns.html">',
        ),
        ("<a href='../a.csv'>", '<a target="_blank" rel="noreferrer" href="../file/?path=site/../a.csv">'),
        (
            "<a href=https://example.org/a.html>",
            '<a target="_blank" rel="noreferrer" href=https://example.org/a.html>',
        ),
        ("<a href='http://[x'>", '<a target="_blank" rel="noreferrer" href=\'http://[x\'>'),
    ],
)
def test_where_links_lead(workspace: Workspace, page: Path, given: str, expected: str) -> None:
    assert shown(workspace, page, given) == expected


def test_a_page_has_a_size(workspace: Workspace, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = png()
    (page.parent / "a.png").write_bytes(data)
    monkeypatch.setattr(web_page, "MAX_INLINED_BYTES", len(data) + 1)
    found = shown(workspace, page, "<img src=a.png>" * 2)
    assert found.endswith('"><img src=a.png>')
    assert found.startswith('<img src="data:image/png;base64,')


def test_a_page_has_a_number_of_files(
    workspace: Workspace, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (page.parent / "a.png").write_bytes(png())
    monkeypatch.setattr(web_page, "MAX_INLINED_FILES", 2)
    found = shown(workspace, page, "<img src=no.png><img src=//a.example/b.png>" + "<img src=a.png>" * 2)
    assert found.startswith('<img src=no.png><img src=//a.example/b.png><img src="data:image/png;base64,')
    assert found.endswith('"><img src=a.png>')


def test_what_is_no_text_is_no_page(workspace: Workspace, page: Path) -> None:
    page.write_bytes(b"<p>\0")
    with pytest.raises(WorkspaceError, match="not text"):
        web_page_of(workspace, "site/index.html")
    with pytest.raises(WorkspaceError):
        web_page_of(workspace, "site/nothing.html")


@pytest.mark.parametrize(
    "piece",
    [
        "<script src ",
        "<script src='",
        "<a ",
        "<img src ",
        "<link rel=stylesheet ",
        "<a href ",
        "<a href='",
        "<link/",
        " ",
    ],
)
def test_a_hostile_page_takes_no_longer(workspace: Workspace, page: Path, piece: str) -> None:
    page.write_text("<a " + piece * (web_page.MAX_PAGE_BYTES // len(piece)))
    begun = time.process_time()
    web_page.has_scripts(web_page_of(workspace, "site/index.html", scripts=True))
    assert time.process_time() - begun < 2
