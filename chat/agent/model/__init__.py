"""Models: what the loop needs of one. The client for real endpoints, `chat_model`, loads when used."""

from chat.agent.model.assembly import Assembly
from chat.agent.model.protocol import Delta, Finish, MessageFields, Model, ModelError, ToolCallDelta
from chat.agent.model.traits import Traits, is_local, known_traits

__all__ = [
    "Assembly",
    "Delta",
    "Finish",
    "MessageFields",
    "Model",
    "ModelError",
    "ToolCallDelta",
    "Traits",
    "is_local",
    "known_traits",
]
