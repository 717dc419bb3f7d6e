"""A conversation's plan for a person's eyes: its revisions, what changed, and what happened in between."""
