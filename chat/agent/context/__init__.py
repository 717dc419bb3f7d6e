"""What the model is sent of a conversation, and how a long one is compacted."""

from chat.agent.context.annotations import as_notes, compacted, merge_messages, render_messages
from chat.agent.context.context import Context

__all__ = ["Context", "as_notes", "compacted", "merge_messages", "render_messages"]
