"""What workers do: run turns from the queue through the agent to the record."""
