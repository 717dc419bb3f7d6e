"""The chat: an agent that plans in the open, and the record of what it did."""
