"""The admin site."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import apps
from django.http import HttpRequest
from django.shortcuts import redirect


class AdminConfig(apps.AdminConfig):
    """Replaces django.contrib.admin in INSTALLED_APPS."""

    default_site = "agentsite.admin.AdminSite"


class AdminSite(admin.AdminSite):
    """Uses the site's own pages to sign out and change a password, because they close sockets."""

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return redirect("before_sign_out")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return redirect("password")
