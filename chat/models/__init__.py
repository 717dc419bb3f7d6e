"""The rows, and the promises that the database keeps."""

from chat.models.allowance import Allowance
from chat.models.attachment import Attachment
from chat.models.bulk_act import BulkAct
from chat.models.connection import Connection
from chat.models.conversation import Conversation
from chat.models.daily_usage import DailyUsage
from chat.models.follow_up import FollowUp
from chat.models.mcp_server import McpServer
from chat.models.mcp_tool import McpTool
from chat.models.message import Message
from chat.models.message_text import MessageRefused
from chat.models.model_settings import ModelSettings
from chat.models.orphan import take_back, take_back_orphans
from chat.models.owner import site_owner
from chat.models.plan_count import PlanCount
from chat.models.plan_figures import PlanFigures
from chat.models.preferences import Preferences
from chat.models.profile import Profile
from chat.models.rule import Rule
from chat.models.search.entry import SearchEntry
from chat.models.search.shelf import SearchShelf
from chat.models.share_link import ShareLink, ShareRefused
from chat.models.side_call import SideCall
from chat.models.sign_in_link import SignInLink
from chat.models.step import Step
from chat.models.summary import Summary
from chat.models.tag import Tag, TagRefused
from chat.models.todo_revision import TodoRevision
from chat.models.tool_call import DecisionRefused, ToolCall
from chat.models.turn import LeaseLost, Turn
from chat.models.unanswered import end_unanswered

__all__ = [
    "Allowance",
    "Attachment",
    "BulkAct",
    "Connection",
    "Conversation",
    "DailyUsage",
    "DecisionRefused",
    "FollowUp",
    "LeaseLost",
    "McpServer",
    "McpTool",
    "Message",
    "MessageRefused",
    "ModelSettings",
    "PlanCount",
    "PlanFigures",
    "Preferences",
    "Profile",
    "Rule",
    "SearchEntry",
    "SearchShelf",
    "ShareLink",
    "ShareRefused",
    "SideCall",
    "SignInLink",
    "Step",
    "Summary",
    "Tag",
    "TagRefused",
    "TodoRevision",
    "ToolCall",
    "Turn",
    "end_unanswered",
    "site_owner",
    "take_back",
    "take_back_orphans",
]
