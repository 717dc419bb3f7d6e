"""What a model is sent of a conversation, and what of it when it has become too long."""

from chat.agent.context.annotations import as_notes, as_one, as_sent, compacted
from chat.agent.context.context import Context

__all__ = ["Context", "as_notes", "as_one", "as_sent", "compacted"]
