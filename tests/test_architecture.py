"""The documents name files and code that exist, the walks are short, and no text escapes translation."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = {
    "chat/agent/tools/count_lines.py",
    "tests/agent/tools/test_count_lines.py",
}  # that the recipes make
MAX_HOPS = {"A message": 30, "A to-do": 30, "A tool's output": 25}

TRANSLATES = {"_", "gettext", "gettext_lazy", "ngettext", "pgettext"}

_HOP = re.compile(r"^\d+\. `([^`]+)`(?: `([^`]+)`)?", re.MULTILINE)


def walks() -> dict[str, list[tuple[str, str]]]:
    """The hops of each walk: a file, and the name in it."""
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    found = {title: _HOP.findall(section) for title, _, section in (s.partition("\n") for s in sections)}
    return {title: hops for title, hops in found.items() if hops}


def names(path: Path) -> set[str]:
    """The functions and classes of a module, those of classes as `Class.method`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found


def test_the_walks_are_short() -> None:
    assert {title: len(hops) <= MAX_HOPS[title] for title, hops in walks().items()} == dict.fromkeys(
        MAX_HOPS, True
    )


@pytest.mark.parametrize("title", MAX_HOPS)
def test_every_hop_is_there(title: str) -> None:
    for file, name in walks()[title]:
        path = ROOT / file
        assert path.is_file(), file
        if path.suffix == ".py":
            assert name in names(path), f"{file}: {name}"
        else:
            assert not name or name in path.read_text(encoding="utf-8"), f"{file}: {name}"


def test_the_guide_names_what_is_there() -> None:
    """Files by their paths; `Class.method`s and constants must occur in the code."""
    folders = ("chat", "agentsite", "tests")
    code = "\n".join(
        path.read_text(encoding="utf-8") for name in folders for path in (ROOT / name).rglob("*.py")
    )
    prose = re.sub(r"^ *```\w*\n.*?^ *```$", "", GUIDE, flags=re.MULTILINE | re.DOTALL)
    for path in re.findall(r"`([\w/.-]+\.(?:py|md|js|html|json))`", prose):
        if "/" in path and path not in EXAMPLES and "_source" not in path:
            assert (ROOT / path).exists(), path
    for owner, method in re.findall(r"`([A-Z][a-z]\w+)\.(\w+)`", prose):
        assert re.search(rf"class {owner}\b", code), owner
        assert re.search(rf"def {method}\b|^    {method}\b", code, re.MULTILINE), f"{owner}.{method}"
    for constant in re.findall(r"`([A-Z][A-Z_]{3,})`", prose):
        assert re.search(rf"\b{constant}\b", code), constant


@pytest.mark.parametrize("folder", ["agentsite", "chat"])
def test_what_is_translated_is_outside_of_f_strings(folder: str) -> None:
    """Inside, the program that gathers the texts does not find it."""
    inside = {
        f"{path.name}:{call.lineno}"
        for path in (ROOT / folder).rglob("*.py")
        for text in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in TRANSLATES
    }
    assert inside == set()
