"""Where models and tools are reached: endpoints, their clients and trials, and MCP servers."""
