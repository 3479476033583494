"""Client: the tools of MCP servers as tools of a guard."""

mcp_tools = None
