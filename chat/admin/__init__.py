"""The admin pages."""

from chat.admin.profile import ProfileAdmin
from chat.admin.user import UserAdmin

__all__ = ["ProfileAdmin", "UserAdmin"]
