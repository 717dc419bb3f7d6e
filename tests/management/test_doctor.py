"""`manage.py doctor`: a line for each part, with a cure for each problem."""

from __future__ import annotations

from pathlib import Path

from chat.demo.reply import Call, Reply, Request
from tests.management.conftest import free_port
from tests.management.site import Site
from tests.model_server import ScriptedModel

NUMBERS = "one, two, three, four, five, six, seven, eight, nine, ten"


def obliging(request: Request) -> Reply:
    """A model that passes doctor's checks."""
    return Reply(tool_calls=[Call("greet", {"name": "Ada"})]) if request.tools else Reply(text=NUMBERS)


def line(written: str, part: str) -> str:
    """The line about one part of the site."""
    return next(line for line in written.splitlines() if line[6:].startswith(f"{part}: "))


def test_all_is_well_with_a_model_that_streams_and_calls_tools(site: Site, scripted: ScriptedModel) -> None:
    scripted.answer = obliging
    done = site.run("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    parts = ["data folder", "database", "channel layer", "sandbox", "model", "tool calls"]
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [f"ok    {part}" for part in parts]
    assert "scripted answers and streams" in line(done.stdout, "model")
    assert len(scripted.requests) == 2


def test_parts_that_are_well_or_turned_off(site: Site, redis_url: str) -> None:
    site.folder.mkdir()
    key = site.folder / "secret_key"
    key.write_text("a key that everybody knows")
    key.chmod(0o644)
    site.settings |= {"REDIS_URL": redis_url, "SANDBOX": "off"}
    done = site.run("doctor")
    assert done.returncode == 0, done.stdout
    assert "scripted replies, no AI" in line(done.stdout, "model")
    assert "OPENAI_BASE_URL" in line(done.stdout, "model")
    assert "Redis answers." in line(done.stdout, "channel layer")
    assert "turned off (SANDBOX=off)" in line(done.stdout, "sandbox")
    assert "secret key is private" in line(done.stdout, "data folder")
    assert key.stat().st_mode & 0o777 == 0o600, "it was closed to others"


def test_a_model_that_is_down_and_workspaces_that_cannot_be_made(site: Site) -> None:
    address = f"http://127.0.0.1:{free_port()}/v1"
    site.settings |= {"OPENAI_BASE_URL": address, "OPENAI_MODEL": "absent"}
    site.folder.mkdir()
    (site.folder / "workspaces").write_text("a file where a folder should be")
    done = site.run("doctor")
    assert done.returncode == 1
    assert line(done.stdout, "model").startswith(
        f"FAIL  model: The model endpoint at {address} cannot be reached"
    )
    assert "is not writable (File exists)" in line(done.stdout, "data folder")
    assert "Traceback" not in done.stdout
    assert done.stderr == ""


def test_a_key_that_is_refused_and_a_data_folder_that_cannot_be(
    site: Site, scripted: ScriptedModel, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    site.settings |= {"DATA_DIR": str(tmp_path / "file" / "data"), "SECRET_KEY": "x" * 50}
    scripted.script(Reply(status=401, body={"error": {"message": "no"}}))
    done = site.run("doctor")
    assert done.returncode == 1
    assert "refused the API key (HTTP 401)" in line(done.stdout, "model")
    assert "is not writable (Not a directory)" in line(done.stdout, "data folder")


def test_a_model_with_no_endpoint(site: Site) -> None:
    site.settings["OPENAI_MODEL"] = "some-model"
    done = site.run("doctor")
    assert done.returncode == 1
    assert "Set OPENAI_API_KEY" in line(done.stdout, "model")


def test_an_endpoint_that_does_not_stream(site: Site, scripted: ScriptedModel) -> None:
    scripted.answer = lambda request: (
        obliging(request) if request.tools else Reply(text=NUMBERS, piece=len(NUMBERS))
    )
    done = site.run("doctor")
    assert done.returncode == 1
    assert "but all at once" in line(done.stdout, "model")
    assert line(done.stdout, "tool calls").startswith("ok")


def test_a_model_that_calls_no_tools(site: Site, scripted: ScriptedModel) -> None:
    scripted.answer = lambda request: Reply(text=NUMBERS)
    done = site.run("doctor")
    assert done.returncode == 1
    assert line(done.stdout, "model").startswith("ok")
    assert "was asked to call a tool and did not" in line(done.stdout, "tool calls")


def test_a_model_is_asked_though_the_database_lacks_its_tables(
    site: Site, scripted: ScriptedModel, tmp_path: Path
) -> None:
    scripted.answer = obliging
    site.settings["DATABASE_URL"] = f"sqlite:///{tmp_path}/fresh.sqlite3"
    done = site.run("doctor")
    assert done.returncode == 1
    assert line(done.stdout, "model").startswith("ok")
    assert line(done.stdout, "database").startswith("FAIL")
    assert "Run: python manage.py migrate" in line(done.stdout, "database")
    assert done.stderr == ""


def test_a_database_and_a_redis_that_do_not_answer(site: Site) -> None:
    site.settings["DATABASE_URL"] = f"postgres://somebody:hidden@127.0.0.1:{free_port()}/chat"
    site.settings["REDIS_URL"] = f"redis://:hidden@127.0.0.1:{free_port()}"
    done = site.run("doctor")
    assert done.returncode == 1
    assert line(done.stdout, "database").startswith("FAIL  database: PostgreSQL does not answer (conn")
    assert "Connection refused" in line(done.stdout, "database")
    assert "Redis does not answer" in line(done.stdout, "channel layer")
    assert "hidden" not in done.stdout
    assert done.stderr == ""
