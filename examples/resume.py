"""A conversation that is kept in a file: each run takes it up with its messages and its todos.

OPENAI_BASE_URL=... OPENAI_API_KEY=... OPENAI_MODEL=... python -m examples.resume FILE "Refactor these files"
OPENAI_BASE_URL=... OPENAI_API_KEY=... OPENAI_MODEL=... python -m examples.resume FILE "Go on"
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from chat.agent import Agent, Result


async def answer(stored: dict[str, Any], text: str) -> Result:
    async with Agent(todo_policy="checklist") as agent:
        messages = [*stored["messages"], {"role": "user", "content": text}]
        return await agent.complete(messages, todos=stored["todos"])


def main(path: Path, text: str) -> None:
    stored = json.loads(path.read_text()) if path.exists() else {"messages": [], "todos": []}
    result = asyncio.run(answer(stored, text))
    todos = [todo.as_dict() for todo in result.todos]
    path.write_text(json.dumps({"messages": result.messages, "todos": todos}))
    print(result.text or result.sentence)
    print(f"{sum(todo['status'] == 'done' for todo in todos)} of {len(todos)} done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
