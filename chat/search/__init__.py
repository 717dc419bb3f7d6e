"""Searching: what a person typed, the conversations that have it, and the places in them where it stands."""
