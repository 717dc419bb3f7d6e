"""Models: the protocol that the loop uses. `chat_model`, the client for real endpoints, loads when used."""

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
