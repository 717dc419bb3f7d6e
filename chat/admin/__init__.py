"""The administrator's pages: one file a row."""

from chat.admin.profile import ProfileAdmin

__all__ = ["ProfileAdmin"]
