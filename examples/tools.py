"""Two tools of one's own: a typed async function, and a dictionary with a JSON schema.

OPENAI_BASE_URL=... OPENAI_API_KEY=... OPENAI_MODEL=... python -m examples.tools
"""

import asyncio
from typing import Annotated

from pydantic import Field

from chat.agent import Agent, TodoList, ToolError, tool

PRICES = {"apple": 0.4, "pear": 0.6}


@tool
async def price(fruit: Annotated[str, Field(description="One fruit, in the singular.")]) -> str:
    """Look up what a fruit costs."""
    if fruit not in PRICES:
        raise ToolError(f"Error: no price for {fruit!r}. There are: {', '.join(PRICES)}.")
    return f"{PRICES[fruit]:.2f}"


async def add(numbers: list[float]) -> str:
    return f"{sum(numbers):.2f}"


SUM = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add numbers.",
        "parameters": {
            "type": "object",
            "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
            "required": ["numbers"],
        },
    },
    "run": add,
}


async def main() -> None:
    question = "What do an apple, a pear and a plum cost together? Make a plan first."
    async with Agent(tools=[price, SUM]) as agent:
        result = await agent.complete([{"role": "user", "content": question}])
    print(TodoList(agent.todo_policy, result.todos).render())
    print()
    print(result.text or result.sentence)


if __name__ == "__main__":
    asyncio.run(main())
