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
    """The phrase `key` ("todo.refused"), or its override for `variant`, formatted with `values`.

    `said` in a phrase quotes the value `detail`, if there is one.
    """
    group, name = key.split(".")
    phrases = _phrases(language)[group]
    if detail := values.get("detail"):
        values["detail"] = _phrases(language)["reasons"].get(detail, detail)
    said = phrases["said"].format(**values) if values.get("detail") and "said" in phrases else ""
    return str(phrases.get(variant, {}).get(name, phrases[name])).format(said=said, **values).strip()
