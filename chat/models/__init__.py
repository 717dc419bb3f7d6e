"""The database models and their constraints."""

from chat.models.account import (
    AccessRefused,
    Preferences,
    Reader,
    SignInLink,
    change_access,
    end_sessions,
    site_owner,
)
from chat.models.bulk import BulkAct
from chat.models.connection import Connection, ModelSettings
from chat.models.conversation import Conversation
from chat.models.follow_up import Attachment, FollowUp
from chat.models.mcp import McpServer, McpTool
from chat.models.message import Message, MessageRefused
from chat.models.plan_stats import PlanCount, PlanFigures
from chat.models.profile import Allowance, Profile, Rule
from chat.models.search_index import SearchEntry, SearchIndexState
from chat.models.share_link import ShareLink, ShareRefused
from chat.models.step import SideCall, Step, Summary
from chat.models.tag import Tag, TagRefused
from chat.models.todo_revision import TodoRevision
from chat.models.tool_call import DecisionRefused, ToolCall
from chat.models.turn import LeaseLost, Turn
from chat.models.turn_recovery import end_unanswered, recover_abandoned_turns, recover_turn
from chat.models.usage import DailyUsage

__all__ = [
    "AccessRefused",
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
    "Reader",
    "Rule",
    "SearchEntry",
    "SearchIndexState",
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
    "change_access",
    "end_sessions",
    "end_unanswered",
    "recover_abandoned_turns",
    "recover_turn",
    "site_owner",
]
