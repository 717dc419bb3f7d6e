"""The index of all that can be searched for: what it holds, how words are told apart, where they are kept."""
