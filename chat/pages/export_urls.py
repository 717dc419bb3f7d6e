"""URLs beneath a conversation's for export, sharing and replay."""

from django.urls import path

from chat.pages import export, shares

urlpatterns = [
    path("export.md", export.export_markdown, name="export_markdown"),
    path("export.json", export.export_json, name="export_json"),
    path("export.html", export.export_html, name="export_html"),
    path("share/", shares.shares, name="shares"),
    path("share/<int:link_id>/revoke/", shares.revoke, name="revoke_share"),
    path("replay/", export.replay, name="replay"),
]
