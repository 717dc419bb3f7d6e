"""The documentation links to what exists, and names commands and variables that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).parent.parent
PAGES = sorted(page for folder in (".", "docs", "deploy", "bench") for page in (ROOT / folder).glob("*.md"))
ENVIRONMENT = ROOT / "agentsite" / "environment.py"

_FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(page: Path, text: str) -> list[str]:
    dead = []
    for link in _LINK.findall(_FENCED.sub("", text)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


def code(text: str) -> str:
    """Everything that is set as code, each piece on a line of its own."""
    indented = re.findall(r"^    +(\S.*)$", text, re.MULTILINE)
    return "\n".join([*_FENCED.findall(text), *indented, *re.findall(r"`([^`\n]+)`", _FENCED.sub("", text))])


def stale_commands(text: str) -> set[str]:
    """Targets of make, commands of manage.py, scripts and modules that do not exist."""
    written = code(text)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    stale = set(re.findall(r"(?:^|&& |; )make ([a-z][a-z-]*)", written, re.MULTILINE)) - targets
    stale |= set(re.findall(r"manage\.py ([a-z][\w-]*)", written)) - set(get_commands())
    stale |= {name for name in re.findall(r"\b(scripts/[\w-]+)", written) if not (ROOT / name).exists()}
    modules = re.findall(r"python -m ([a-z]\w*(?:\.\w+)*)", written)
    return stale | {name for name in modules if not _is_module(name)}


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_commands_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert dead_links(page, text) == []
    assert stale_commands(text) == set()


def test_every_picture_is_shown() -> None:
    shown = {
        link for page in PAGES for link in re.findall(r"images/[\w.-]+", page.read_text(encoding="utf-8"))
    }
    assert shown == {f"images/{picture.name}" for picture in (ROOT / "docs" / "images").iterdir()}


def test_a_dead_link_and_a_stale_command_are_found() -> None:
    page = ROOT / "README.md"
    assert dead_links(
        page, "[a](docs/nothing.md) [b](#nothing) [c](docs/models.md#nothing) [d](LICENSE)"
    ) == [
        "docs/nothing.md",
        "#nothing",
        "docs/models.md#nothing",
    ]
    written = "`make nothing`, `make test`, `manage.py nothing`, `python -m bench.nothing`, `scripts/nothing`"
    assert stale_commands(written) == {"nothing", "bench.nothing", "scripts/nothing"}


def test_every_variable_is_documented_in_both_languages() -> None:
    readers = "|".join(re.findall(r"^def ([a-z]\w*)", ENVIRONMENT.read_text(encoding="utf-8"), re.MULTILINE))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "agentsite").glob("*.py"))
    variables = set(re.findall(rf'\b(?:{readers})\(\s*"([A-Z_]+)"', sources))
    assert {"OPENAI_API_KEY", "DATA_DIR", "MAX_TURNS"} <= variables
    for name in ("configuration.md", "configuration.zh-Hans.md"):
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert {variable for variable in variables if f"`{variable}`" not in page} == set(), name
