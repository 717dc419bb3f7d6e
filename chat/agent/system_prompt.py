"""The system prompt: who the agent is, how it works, where, and what its owner adds."""

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
    """The system prompt of an agent.

    `instructions` are the owner's own and stand in a place of their own at the end; `workspace` is the
    directory as the tools name it, empty for none. Raises ValueError for an unknown policy.
    """
    where = text("workspace", language).substitute(workspace=workspace) if workspace else ""
    own = text("instructions", language).substitute(instructions=instructions.strip())
    prompt = text("system", language).substitute(
        name=name or default_name(language),
        today=(today or datetime.date.today()).isoformat(),
        workspace=where or text("no_workspace", language).template,
        planning=text(f"planning.{as_policy(todo_policy).name}", language).template,
        instructions=own if instructions.strip() else "",
    )
    return prompt.strip()
