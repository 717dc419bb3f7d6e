"""The addresses, beneath a conversation's, by which it leaves the site."""

from django.urls import path

from chat.pages import export

urlpatterns = [
    path("export.md", export.export_markdown, name="export_markdown"),
    path("export.json", export.export_json, name="export_json"),
    path("export.html", export.export_html, name="export_html"),
]
