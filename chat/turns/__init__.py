"""What workers do: a turn on its way from the queue through the engine to the record."""
