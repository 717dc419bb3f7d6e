"""Models: what the loop needs of one. The client for real endpoints, `chat_model`, loads when used."""

from chat.agent.model.assembly import Assembly
from chat.agent.model.protocol import Delta, Finish, Model, ModelError, ToolCallDelta

__all__ = ["Assembly", "Delta", "Finish", "Model", "ModelError", "ToolCallDelta"]
