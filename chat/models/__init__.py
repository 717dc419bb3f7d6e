"""The rows, and the promises that the database keeps."""

from chat.models.conversation import Conversation, MessageRefused
from chat.models.follow_up import FollowUp
from chat.models.message import Message
from chat.models.owner import site_owner
from chat.models.profile import Profile
from chat.models.sign_in_link import SignInLink
from chat.models.step import Step
from chat.models.todo_revision import TodoRevision
from chat.models.tool_call import ToolCall
from chat.models.turn import LeaseLost, Turn

__all__ = [
    "Conversation",
    "FollowUp",
    "LeaseLost",
    "Message",
    "MessageRefused",
    "Profile",
    "SignInLink",
    "Step",
    "TodoRevision",
    "ToolCall",
    "Turn",
    "site_owner",
]
