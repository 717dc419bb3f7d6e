"""The engine: an agent that plans in the open. No Django in here; usable as a library.

agent = Agent("gpt-5", tools=[...])
async for event in agent.run([{"role": "user", "content": "..."}]):
    ...
"""

from chat.agent.agent import Agent, Result
from chat.agent.calls import Undecided
from chat.agent.events import (
    Compacted,
    End,
    Event,
    EventType,
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
from chat.agent.model import Delta, Finish, Model, ModelError, ToolCallDelta
from chat.agent.pictures import Picture
from chat.agent.system_prompt import build_system_prompt
from chat.agent.todo import POLICIES, TodoError, TodoItem, TodoList, TodoPolicy, todo_tool
from chat.agent.tool import Tool, ToolError, ToolResult, tool

# Aliases used by common descriptions of such agents.
LoopLimits = Limits
RetryConfig = Retry
TodoStore = TodoList
create_todo_tool = todo_tool
VALID_STATUSES = {name: policy.VALID_STATUSES for name, policy in POLICIES.items()}

__all__ = [
    "POLICIES",
    "VALID_STATUSES",
    "Agent",
    "Compacted",
    "Delta",
    "End",
    "Event",
    "EventType",
    "Finish",
    "Limits",
    "LoopLimits",
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
    "RetryConfig",
    "Retrying",
    "Spent",
    "StepStarted",
    "Summarising",
    "Text",
    "TextWasReasoning",
    "TodoDraft",
    "TodoError",
    "TodoItem",
    "TodoList",
    "TodoPolicy",
    "TodoStore",
    "TodoUpdate",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnded",
    "ToolCallProgress",
    "ToolCallStarted",
    "ToolError",
    "ToolResult",
    "Undecided",
    "Usage",
    "build_system_prompt",
    "create_todo_tool",
    "todo_tool",
    "tool",
]
