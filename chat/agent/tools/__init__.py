"""The tools that the agent works with."""
