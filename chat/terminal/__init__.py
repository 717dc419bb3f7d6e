"""The agent in a terminal: the same turns and recorder as in the browser, shown as text."""
