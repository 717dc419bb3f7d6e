"""The log: lines for people or JSON for machines, and which turn each is about."""

from __future__ import annotations

import json
import logging
import logging.config
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async

from agentsite.logs import JsonLines, PlainLines, Subject, logging_settings
from chat.models import Turn
from chat.turns.log_context import set_log_context
from tests.serving import ROOT

log = logging.getLogger("tests.logs")
Read = Callable[[], list[str]]


@pytest.fixture(params=[PlainLines, JsonLines])
def formatter(request: pytest.FixtureRequest) -> logging.Formatter:
    made: logging.Formatter = request.param()
    return made


@pytest.fixture
def lines(formatter: logging.Formatter, tmp_path: Path) -> Iterator[Read]:
    """What was logged, a line each."""
    file = tmp_path / "log"
    handler = logging.FileHandler(file)
    handler.setFormatter(formatter)
    handler.addFilter(Subject())
    log.addHandler(handler)
    yield lambda: file.read_text().splitlines()
    log.removeHandler(handler)
    handler.close()


async def test_what_is_logged_within_a_turn_names_it(lines: Read, formatter: logging.Formatter) -> None:
    log.warning("before")
    set_log_context(Turn(pk=7, conversation_id="00000000-0000-4000-8000-000000000000"))
    await sync_to_async(log.warning)("from a %s", "thread")
    before, within = lines()
    if isinstance(formatter, JsonLines):
        assert json.loads(before).keys() == {"time", "level", "logger", "message"}
        told = json.loads(within)
        assert (told["message"], told["turn"]) == ("from a thread", 7)
        assert told["conversation"] == "00000000-0000-4000-8000-000000000000"
    else:
        assert before.endswith("WARNING tests.logs: before")
        ids = "[conversation=00000000-0000-4000-8000-000000000000 turn=7]"
        assert within.endswith(f"tests.logs: from a thread {ids}")


@pytest.mark.parametrize("formatter", [JsonLines()])
def test_a_traceback_is_part_of_its_object(lines: Read) -> None:
    try:
        raise ValueError("Grüße\nzwei Zeilen")
    except ValueError:
        log.exception("it broke")
    told = json.loads(lines()[0])
    assert (told["level"], told["message"]) == ("ERROR", "it broke")
    assert told["traceback"].splitlines()[0].startswith("Traceback")
    assert "Grüße" in told["traceback"]


@pytest.mark.parametrize(("style", "formatter"), [("plain", PlainLines), ("json", JsonLines)])
def test_a_style_is_a_valid_configuration(style: str, formatter: type[logging.Formatter]) -> None:
    made = logging.config.DictConfigurator(logging_settings(style))
    made.configure_formatter(made.config["formatters"][style])
    assert isinstance(made.configure_formatter({"()": formatter}), formatter)


def test_clients_that_left_early_are_nobodys_error(tmp_path: Path) -> None:
    code = (
        "import logging; from django.core.exceptions import RequestAborted;"
        "logging.error('left', exc_info=RequestAborted()); logging.error('broke', exc_info=ValueError())"
    )
    ran = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=ROOT,
        env={"LOG_FORMAT": "json", "DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert [json.loads(line)["message"] for line in ran.stderr.splitlines()] == ["broke"]


@pytest.mark.parametrize("style", ["plain", "json"])
def test_an_address_that_opens_something_is_logged_without_its_secret(tmp_path: Path, style: str) -> None:
    code = (
        "from django.test import Client\n"
        "for where in ('/shared/a-secret/x/', '/sign-in/a-secret/x/', '/nowhere/'):"
        " Client(headers={'host': 'localhost'}).get(where)"
    )
    ran = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=ROOT,
        env={"LOG_FORMAT": style, "DATA_DIR": str(tmp_path), "DEBUG": "true"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = re.findall(r"Not Found: [^\s\"]+", ran.stderr)
    assert told == ["Not Found: /shared/…/x/", "Not Found: /sign-in/…/x/", "Not Found: /nowhere/"]
    assert len(ran.stderr.splitlines()) == 3
