"""Connections with model endpoints and MCP servers."""
