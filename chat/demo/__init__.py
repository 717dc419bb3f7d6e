"""The built-in demo model: a chat-completions endpoint with scripted replies."""
