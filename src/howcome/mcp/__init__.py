"""The MCP server: a client's long-lived process, its tools, and what they share."""
