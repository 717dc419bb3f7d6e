"""The history of a conversation's todo lists: revisions, timeline, evidence, statistics."""
