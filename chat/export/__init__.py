"""Exports a conversation as JSON, Markdown or HTML, and imports it from JSON."""
