"""Dependencies point one way. Read from the imports of the whole tree."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TREES = ("agentsite", "chat", "examples")

# What a part of the project may import of the project, itself aside.
BASE = ("chat.database", "chat.measures", "chat.models", "chat.agent")
MAY_IMPORT = {
    "chat.agent": (),
    "chat.database": (),
    "chat.measures": ("chat.agent",),
    "chat.models": ("chat.agent.storable",),
    "chat.demo": (),
    "chat.files": ("chat.models", "chat.agent"),
    "chat.plan": ("chat.models", "chat.agent"),
    "chat.search": ("chat.models", "chat.agent"),
    "chat.connections": BASE,
    "chat.live": ("chat.connections", "chat.plan", "chat.files", *BASE),
    "chat.turns": ("chat.live", "chat.connections", "chat.plan", "chat.files", "chat.search", *BASE),
    "chat.export": ("chat.turns", "chat.live", "chat.plan", "chat.files", "chat.search", *BASE),
    "chat.pages": (
        *("chat.export", "chat.turns", "chat.live", "chat.connections"),
        *("chat.search", "chat.files", "chat.plan"),
        *BASE,
    ),
    "chat.terminal": ("chat.turns", "chat.live", "chat.connections", *BASE),
    "chat.management": (
        *("chat.terminal", "chat.turns", "chat.live", "chat.connections", "chat.demo", "agentsite"),
        *BASE,
    ),
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the product with its dotted name."""
    for tree in TREES:
        for path in sorted((ROOT / tree).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(module: str, path: Path) -> set[str]:
    """Everything that the file imports, also inside functions and for the type checker alone."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def within(name: str, *parts: str) -> bool:
    """Whether a module belongs to one of the parts."""
    return any(name == part or name.startswith(f"{part}.") for part in parts)


def importers(package: str) -> set[str]:
    """The modules that import the package."""
    return {
        module for module, path in modules() if any(within(name, package) for name in imports(module, path))
    }


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_a_part_imports_only_the_parts_beneath_it(part: str) -> None:
    wrong = {
        f"{module} imports {name}"
        for module, path in modules()
        if within(module, part)
        for name in imports(module, path)
        if within(name, "chat", "agentsite") and name != "chat" and not within(name, part, *MAY_IMPORT[part])
    }
    assert wrong == set()


def test_only_sockets_workers_and_the_site_import_channels() -> None:
    assert {
        module
        for module in importers("channels")
        if not within(module, "chat.live", "chat.turns", "agentsite")
    } == set()


def test_only_the_agent_imports_openai() -> None:
    found = importers("openai")
    assert {module for module in found if not within(module, "chat.agent.model")} == set()


def test_only_its_own_part_of_the_agent_imports_mcp() -> None:
    found = importers("mcp") | importers("mcp_types")
    assert {module for module in found if not within(module, "chat.agent.mcp")} == set()


def test_the_agent_imports_no_django() -> None:
    assert {module for module in importers("django") if within(module, "chat.agent")} == set()


@pytest.mark.parametrize(
    "package", ["django", "channels", "openai", "mcp", "chat.models", "chat.live", "chat.demo"]
)
def test_importing_the_agent_loads_none_of_it(package: str) -> None:
    code = f"import sys, chat.agent, chat.agent.mcp; sys.exit({package!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_reader_of_imports_sees_relative_and_inner_ones(tmp_path: Path) -> None:
    code = "from . import a\nfrom ..b import c\ndef f():\n    import d.e\n"
    path = tmp_path / "m.py"
    path.write_text(code, encoding="utf-8")
    assert imports("x.y.m", path) == {"x.y", "x.y.a", "x.b", "x.b.c", "d.e"}
