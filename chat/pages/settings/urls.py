"""The addresses beneath /settings/."""

from django.urls import path
from django.views.generic import RedirectView

from chat.pages.settings import connections

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="connections"), name="settings"),
    path("connections/", connections.connections, name="connections"),
]
