"""An agent with a tool of its own, asked once.

OPENAI_BASE_URL=... OPENAI_API_KEY=... OPENAI_MODEL=... python -m examples.basic
"""

import asyncio
import os

from chat.agent import Agent, TodoList, tool


@tool
async def weather(city: str) -> str:
    """Look up today's weather in a city."""
    return f"{city}: sunny, 24 degrees"


async def main() -> None:
    question = "Compare the weather in Oslo, Lima and Hanoi, then say where to go."
    async with Agent(
        name="Guide",
        instructions="Answer in two sentences.",
        model=os.environ["OPENAI_MODEL"],
        tools=[weather],
    ) as agent:
        result = await agent.complete([{"role": "user", "content": question}])

    print(result.text or result.sentence)
    print()
    print(TodoList(agent.todo_policy, result.todos).render())


if __name__ == "__main__":
    asyncio.run(main())
