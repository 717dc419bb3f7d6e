"""What a server's program can see and do, with either user running the site."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat.agent.mcp import Program, Server, ServerError
from chat.agent.mcp.connection import Connection
from tests.agent.mcp.conftest import SOURCE
from tests.agent.tools.people import PEOPLE
from tests.agent.tools.people import Server as Site

Look = Callable[..., str]


@pytest.fixture(params=PEOPLE)
def site(request: pytest.FixtureRequest) -> Any:
    made = Site(request.param)
    yield made
    made.close()


@pytest.fixture
def look(site: Site) -> Look:
    """Run Python code in a server that the site starts."""

    def looked(code: str, **given: Any) -> str:
        async def scenario() -> str:
            program = Program(("python3", "-c", SOURCE), site.data / "mcp" / "mine", **given)
            connection = Connection(Server("mine", program))
            try:
                await connection.tried()
                assert connection.tools, connection.fault
                return await connection.call(connection.tools["look"], {"code": code})
            finally:
                await connection.close()

        return str(site.run(scenario))

    return looked


def test_it_is_an_ordinary_user_within_and_without(look: Look, site: Site) -> None:
    assert look("os.getuid(), open('/proc/self/uid_map').read().split()[0]") == "(1000, '1000')"
    assert look("open('/data/mine', 'w').write('x')") == "1"
    assert (site.data / "mcp" / "mine" / "scratch" / "mine").stat().st_uid != 0


def test_it_gets_its_own_environment_and_nothing_of_the_site(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "of-the-site")
    code = "sorted(os.environ), os.environ['TOKEN'], open('/proc/1/environ').read()"
    seen = look(code, environment={"TOKEN": "${SECRET_KEY} $(id) `id`"})
    assert "'TOKEN'" in seen
    assert "'SECRET_KEY'" not in seen
    assert "of-the-site" not in seen
    assert "${SECRET_KEY} $(id) `id`" in seen


def test_words_are_never_expanded(site: Site, look: Look) -> None:
    async def scenario() -> list[str]:
        words = ("python3", "-c", SOURCE, "well", "$HOME", "`id`", "a b", "")
        connection = Connection(Server("mine", Program(words, site.data / "mcp" / "mine")))
        await connection.tried()
        assert connection.tools
        told = await connection.call(connection.tools["look"], {"code": "sys.argv[1:]"})
        await connection.close()
        return [told]

    assert site.run(scenario) == ["['well', '$HOME', '`id`', 'a b', '']"]


@pytest.mark.parametrize("path", ["/etc/shadow", "{secret}", "/proc/1/root{secret}", "{folder}/note"])
def test_it_sees_none_of_the_sites_files(look: Look, site: Site, path: str) -> None:
    path = path.format(secret=site.secret, folder=site.folder)
    with pytest.raises((ServerError, AssertionError), match=r"FileNotFoundError|PermissionError"):
        look(f"open({path!r}).read()")


@pytest.mark.parametrize("path", ["/note", "/usr/note", "/etc/note"])
def test_it_writes_nowhere_but_in_its_folder(look: Look, path: str) -> None:
    with pytest.raises((ServerError, AssertionError), match=r"Read-only|PermissionError"):
        look(f"open({path!r}, 'w')")


def test_a_readable_folder_can_be_read_and_not_written(look: Look, site: Site) -> None:
    folder = site.data / "tools"
    folder.mkdir()
    (folder / "note").write_text("for the server")
    if site.changes_user:
        os.chown(folder, 47000, 47000)
    assert look(f"open('{folder}/note').read()", readable=(str(folder),)) == "for the server"
    with pytest.raises((ServerError, AssertionError), match="Read-only"):
        look(f"open('{folder}/note', 'w')", readable=(str(folder),))


def test_it_has_the_network_only_if_allowed(look: Look) -> None:
    with socket.create_server(("127.0.0.1", 0)) as here:
        port = here.getsockname()[1]
        code = f"__import__('socket').create_connection(('127.0.0.1', {port}), 5) and 'reached'"
        with pytest.raises((ServerError, AssertionError), match=r"ConnectionRefused|Network is unreachable"):
            look(code)
        assert look(code, network=True) == "reached"


def test_its_folder_is_kept_and_is_its_own(look: Look) -> None:
    assert look("open('/data/kept', 'w').write('x')") == "1"
    assert look("sorted(os.listdir('/data'))") == "['kept', 'starts']"


async def test_what_cannot_be_a_word_is_refused(tmp_path: Path) -> None:
    for program in (
        Program((), tmp_path),
        Program(("a\0b",), tmp_path),
        Program(("a",), tmp_path, {"NAME": "x\0--bind\0/\0/host"}),
        Program(("a",), tmp_path, readable=("/nowhere/at/all",)),
    ):
        connection = Connection(Server("mine", program))
        await connection.tried()
        assert connection.fault
        assert "NUL character" in connection.fault.sentence or "no folder" in connection.fault.sentence
        await connection.close()
