"""Conversations for elsewhere: as files that can come back, and as pages that need no site."""
