"""URLs beneath /settings/."""

from django.urls import path
from django.views.generic import RedirectView

from chat.pages import account
from chat.pages.audience import audience
from chat.pages.settings import (
    connections,
    local_servers,
    mcp_servers,
    model_settings,
    plans,
    preferences,
    profile_exchange,
    profiles,
    trial,
    usage,
    users,
)

urlpatterns = [
    path("", audience("signed_in")(RedirectView.as_view(pattern_name="connections")), name="settings"),
    path("connections/", connections.connections, name="connections"),
    path("connections/add/", connections.add_connection, name="add_connection"),
    path("connections/environment/test/", trial.try_environment, name="try_environment"),
    path(
        "connections/environment/model/",
        model_settings.model_settings_of_environment,
        name="model_settings_of_environment",
    ),
    path("connections/models/", connections.offered_models, name="offered_models"),
    path("connections/local/", local_servers.look_for_servers, name="look_for_servers"),
    path("connections/local/use/", local_servers.use_local_server, name="use_local_server"),
    path("connections/<int:connection_id>/", connections.connection, name="connection"),
    path("connections/<int:connection_id>/delete/", connections.delete_connection, name="delete_connection"),
    path("connections/<int:connection_id>/model/", model_settings.model_settings, name="model_settings"),
    path("connections/<int:connection_id>/test/", trial.try_connection, name="try_connection"),
    path("connections/<int:connection_id>/use/", local_servers.use_model, name="use_model"),
    path("profiles/", profiles.profiles, name="profiles"),
    path("profiles/add/", profiles.add_profile, name="add_profile"),
    path("profiles/import/", profile_exchange.import_profile, name="import_profile"),
    path("profiles/<int:profile_id>/", profiles.profile, name="profile"),
    path("profiles/<int:profile_id>/duplicate/", profiles.duplicate_profile, name="duplicate_profile"),
    path("profiles/<int:profile_id>/prefer/", profiles.prefer_profile, name="prefer_profile"),
    path("profiles/<int:profile_id>/delete/", profiles.delete_profile, name="delete_profile"),
    path("profiles/<int:profile_id>/export.json", profile_exchange.export_profile, name="export_profile"),
    path("mcp/", mcp_servers.mcp_servers, name="mcp_servers"),
    path("mcp/add/", mcp_servers.add_mcp_server, name="add_mcp_server"),
    path("mcp/<int:server_id>/", mcp_servers.mcp_server, name="mcp_server"),
    path("mcp/<int:server_id>/check/", mcp_servers.check_mcp_server, name="check_mcp_server"),
    path("mcp/<int:server_id>/accept/", mcp_servers.accept_mcp_tools, name="accept_mcp_tools"),
    path("mcp/<int:server_id>/delete/", mcp_servers.delete_mcp_server, name="delete_mcp_server"),
    path("users/", users.users, name="users"),
    path("users/add/", users.add_user, name="add_user"),
    path("users/<int:user_id>/", users.user, name="user"),
    path("users/<int:user_id>/access/", users.change_user_access, name="change_user_access"),
    path("users/<int:user_id>/delete/", users.delete_user, name="delete_user"),
    path("usage/", usage.usage, name="usage"),
    path("usage/usage.csv", usage.usage_file, name="usage_file"),
    path("plans/", plans.plans, name="plan_figures"),
    path("plans/plans.csv", plans.plans_file, name="plan_figures_file"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("preferences/browser/", preferences.browser, name="browser"),
    path("preferences/password/", account.password, name="password"),
]
