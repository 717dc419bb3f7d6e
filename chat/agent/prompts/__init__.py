"""The texts that the model reads, in files, one folder per language."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal

Language = Literal["en", "zh"]

FOLDER = Path(__file__).parent


@cache
def text(name: str, language: Language) -> Template:
    """The text file `name` in `language`, with `$name` placeholders."""
    return Template((FOLDER / language / f"{name}.txt").read_text(encoding="utf-8").strip())


@cache
def _phrases(language: Language) -> dict[str, Any]:
    return tomllib.loads((FOLDER / language / "phrases.toml").read_text(encoding="utf-8"))


def default_name(language: Language) -> str:
    return str(_phrases(language)["name"])


def phrase(language: Language, key: str, variant: str = "", **values: Any) -> str:
    """The phrase `key` ("todo.refused"), or its override for `variant`, formatted with `values`."""
    group, name = key.split(".")
    phrases = _phrases(language)[group]
    return str(phrases.get(variant, {}).get(name, phrases[name])).format(**values).strip()
