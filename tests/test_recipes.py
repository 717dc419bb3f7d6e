"""The recipes of CONTRIBUTING.md, followed literally in a copy of the tree: their tests pass there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = ("Add a tool", "Add a region", "Add an event")
COPIED = ("agentsite", "chat", "tests", "templates", "static")

# A block: indentation, language, file, and its lines.
_BLOCK = re.compile(r"^( *)```(\w+) (\S+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def follow(recipe: str, tree: Path) -> list[str]:
    """Write the recipe's files and apply its changes; returns the files that are new."""
    section = GUIDE.partition(f"## {recipe}\n")[2].partition("\n## ")[0]
    new = []
    for indent, language, name, block in _BLOCK.findall(section):
        path = tree / name
        text = re.sub(f"^{indent}", "", block, flags=re.MULTILINE)
        if language == "diff":
            change(path, text)
        else:
            assert not path.exists(), name
            path.write_text(text, encoding="utf-8")
            new.append(name)
    return new


def change(path: Path, diff: str) -> None:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line.startswith(" "))
    after = "".join(line[1:] for line in lines)
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{path.name} does not have this once: {before}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_the_recipes_work(tmp_path: Path) -> None:
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    new = [file for recipe in RECIPES for file in follow(recipe, tmp_path)]
    tests = [file for file in new if file.startswith("tests/")]
    assert len(tests) == len(RECIPES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 passed" in ran.stdout
