"""The engine: an agent that plans in the open. No Django in here; usable as a library.

agent = Agent(model="gpt-5", tools=[...])
async for event in agent.run([{"role": "user", "content": "..."}]):
    ...
"""

from chat.agent.agent import Agent, Result
from chat.agent.calls import Undecided
from chat.agent.events import (
    Compacted,
    End,
    Event,
    ModelSilent,
    NotesRead,
    PicturesRefused,
    Reasoning,
    Reply,
    Retrying,
    StepStarted,
    Summarising,
    Text,
    TextWasReasoning,
    TodoDraft,
    TodoUpdate,
    ToolCall,
    ToolCallEnded,
    ToolCallProgress,
    ToolCallStarted,
    Usage,
)
from chat.agent.limits import Limits, Retry, Spent
from chat.agent.meter import Meter
from chat.agent.model import Model, ModelError
from chat.agent.pictures import Picture
from chat.agent.system_prompt import build_system_prompt
from chat.agent.todo import TodoItem, TodoList, TodoPolicy
from chat.agent.tool import Tool, ToolError, ToolResult, tool

__all__ = [
    "Agent",
    "Compacted",
    "End",
    "Event",
    "Limits",
    "Meter",
    "Model",
    "ModelError",
    "ModelSilent",
    "NotesRead",
    "Picture",
    "PicturesRefused",
    "Reasoning",
    "Reply",
    "Result",
    "Retry",
    "Retrying",
    "Spent",
    "StepStarted",
    "Summarising",
    "Text",
    "TextWasReasoning",
    "TodoDraft",
    "TodoItem",
    "TodoList",
    "TodoPolicy",
    "TodoUpdate",
    "Tool",
    "ToolCall",
    "ToolCallEnded",
    "ToolCallProgress",
    "ToolCallStarted",
    "ToolError",
    "ToolResult",
    "Undecided",
    "Usage",
    "build_system_prompt",
    "tool",
]
