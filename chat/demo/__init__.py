"""The built-in demo model: a chat-completions endpoint that follows rules and is not an AI."""
