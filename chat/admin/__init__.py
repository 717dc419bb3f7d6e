"""The admin pages."""

from chat.admin.mcp_server import McpServerAdmin
from chat.admin.profile import ProfileAdmin
from chat.admin.user import UserAdmin

__all__ = ["McpServerAdmin", "ProfileAdmin", "UserAdmin"]
