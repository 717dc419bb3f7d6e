"""The administrator's pages: one file a row."""

from chat.admin.mcp_server import McpServerAdmin
from chat.admin.profile import ProfileAdmin

__all__ = ["McpServerAdmin", "ProfileAdmin"]
