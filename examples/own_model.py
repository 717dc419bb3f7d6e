"""A model of one's own: any object with a `stream` method. This one needs no endpoint.

python -m examples.own_model
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from chat.agent import Agent, Delta, Finish, Text, ToolCallDelta


class Parrot:
    """Plans to repeat what it was told, and repeats it."""

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        said = next(message["content"] for message in messages if message["role"] == "user")
        words = said.rpartition("\n")[2]  # a reminder stands ahead of them
        planned = messages[-1]["role"] == "tool"
        if not planned:
            todos = [{"content": f"Say {word}", "status": "completed"} for word in words.split()]
            yield ToolCallDelta("first", "call-1", "TodoWrite", json.dumps({"todos": todos}))
        else:
            yield Text(words)
        yield Finish("stop" if planned else "tool_calls")


async def main() -> None:
    agent = Agent(Parrot(), todo_policy="lean")
    result = await agent.complete([{"role": "user", "content": "hello world"}])
    print([todo.content for todo in result.todos])
    print(result.text)


if __name__ == "__main__":
    asyncio.run(main())
