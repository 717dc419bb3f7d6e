"""The smallest agent: it is asked once, plans where that helps, and answers.

OPENAI_BASE_URL=... OPENAI_API_KEY=... OPENAI_MODEL=... python -m examples.minimal
"""

import asyncio

from chat.agent import Agent


async def main() -> None:
    async with Agent(name="Guide", instructions="Answer in two sentences.") as agent:
        result = await agent.complete([{"role": "user", "content": "Where should I go in May, and why?"}])
    print(result.text or result.sentence)
    for todo in result.todos:
        print(f"- {todo.content} ({todo.status})")


if __name__ == "__main__":
    asyncio.run(main())
