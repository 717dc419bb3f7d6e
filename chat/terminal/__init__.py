"""The agent in a terminal: the same turns, recorded by the same recorder, shown as lines of text."""
