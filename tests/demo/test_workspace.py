"""The sample files."""

from __future__ import annotations

from pathlib import Path

from chat.demo.workspace import SHOP_FLAW, seed


def test_three_files_go_into_an_empty_directory(tmp_path: Path) -> None:
    seed(tmp_path / "new" / "workspace")
    seeded = sorted(path.name for path in (tmp_path / "new" / "workspace").iterdir())
    assert seeded == ["README.md", "data.csv", "shop.py"]
    assert (tmp_path / "new" / "workspace" / "shop.py").read_text().count(SHOP_FLAW) == 1


def test_a_directory_with_anything_in_it_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    seed(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".hidden"]
