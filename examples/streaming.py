"""An agent's turn, printed as it happens.

OPENAI_BASE_URL=... OPENAI_API_KEY=... OPENAI_MODEL=... python -m examples.streaming
"""

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

from chat.agent import Agent, End, Text, TodoUpdate, ToolCallEnded, ToolCallStarted, tool


@tool
async def clock(zone: str) -> str:
    """Tell the time in a time zone such as "Asia/Tokyo"."""
    return datetime.now(ZoneInfo(zone)).strftime("%H:%M")


async def main() -> None:
    question = "What time is it in Tokyo, in Nairobi and in Lima? Make a plan first."
    async with Agent(tools=[clock], todo_policy="lean") as agent:
        async for event in agent.run([{"role": "user", "content": question}]):
            match event:
                case Text(text):
                    print(text, end="", flush=True)
                case ToolCallStarted(call):
                    print(f"\n> {call.name} {call.arguments}")
                case ToolCallEnded(_, status, result):
                    print(f"  {status}: {result.text}")
                case TodoUpdate(_, items):
                    print("  list:", ", ".join(f"{item.content} ({item.status})" for item in items))
                case End(reason, _, sentence):
                    print(f"\n[{reason}] {sentence}")


if __name__ == "__main__":
    asyncio.run(main())
