"""Django's administration, with the site's own pages where a session begins or ends."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import apps
from django.http import HttpRequest
from django.shortcuts import redirect


class AdminConfig(apps.AdminConfig):
    """Stands in INSTALLED_APPS in place of Django's."""

    default_site = "agentsite.admin.AdminSite"


class AdminSite(admin.AdminSite):
    """Signing out and changing the password close sockets, which Django's own pages know nothing of."""

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Lead to the site's page."""
        return redirect("before_sign_out")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Lead to the site's page."""
        return redirect("password")
