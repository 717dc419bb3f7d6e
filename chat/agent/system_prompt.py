"""The system prompt: the agent's name, planning rules, workspace, and its owner's instructions."""

from __future__ import annotations

import datetime

from chat.agent.prompts import Language, default_name, text
from chat.agent.todo import TodoPolicy, as_policy


def build_system_prompt(
    name: str = "",
    instructions: str = "",
    *,
    todo_policy: str | TodoPolicy = "focused",
    language: Language = "en",
    workspace: str = "",
    today: datetime.date | None = None,
) -> str:
    """The system prompt; `workspace` is the directory as the tools name it. Raises ValueError."""
    where = text("workspace", language).substitute(workspace=workspace) if workspace else ""
    prompt = text("system", language).substitute(
        name=name or default_name(language),
        today=(today or datetime.date.today()).isoformat(),
        workspace=where or text("no_workspace", language).template,
        planning=text(f"planning.{as_policy(todo_policy).name}", language).template,
        instructions=_instructions_section(instructions, language),
    )
    return prompt.strip()


def build_plain_prompt(
    name: str = "",
    instructions: str = "",
    *,
    language: Language = "en",
    today: datetime.date | None = None,
) -> str:
    prompt = text("plain", language).substitute(
        name=name or default_name(language),
        today=(today or datetime.date.today()).isoformat(),
        instructions=_instructions_section(instructions, language),
    )
    return prompt.strip()


def _instructions_section(instructions: str, language: Language) -> str:
    section = text("instructions", language).substitute(instructions=instructions.strip())
    return section if instructions.strip() else ""
