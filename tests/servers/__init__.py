"""Tries on servers that were not written here: what works with each. See `python -m tests.servers`."""
