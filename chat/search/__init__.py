"""Search: queries, the index, matching conversations and the hits in them."""
