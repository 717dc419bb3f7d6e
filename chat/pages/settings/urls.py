"""The addresses beneath /settings/."""

from django.urls import path
from django.views.generic import RedirectView

from chat.pages.settings import connections, preferences, profile_exchange, profiles

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="connections"), name="settings"),
    path("connections/", connections.connections, name="connections"),
    path("profiles/", profiles.profiles, name="profiles"),
    path("profiles/add/", profiles.add_profile, name="add_profile"),
    path("profiles/import/", profile_exchange.import_profile, name="import_profile"),
    path("profiles/<int:profile_id>/", profiles.profile, name="profile"),
    path("profiles/<int:profile_id>/duplicate/", profiles.duplicate_profile, name="duplicate_profile"),
    path("profiles/<int:profile_id>/prefer/", profiles.prefer_profile, name="prefer_profile"),
    path("profiles/<int:profile_id>/delete/", profiles.delete_profile, name="delete_profile"),
    path("profiles/<int:profile_id>/export.json", profile_exchange.export_profile, name="export_profile"),
    path("preferences/", preferences.preferences, name="preferences"),
]
