"""What a model is sent of a conversation, and what of it when it has become too long."""

from chat.agent.context.context import Context
from chat.agent.context.cutting import compacted
from chat.agent.context.marks import as_notes, as_one, as_sent

__all__ = ["Context", "as_notes", "as_one", "as_sent", "compacted"]
