"""MCP: the guard between a client and a server of the Model Context Protocol, and a server's tools inside a guard of one's own.

`guard mcp` is the first: `relay` carries the messages, `desk` holds definitions against pins, `calls` walks a call, `lines` and `web` are the
transports. `mcp_tools` is the second. The official SDK (extra `mcp`) is imported where it is used: over pipes the proxy needs none of it.
"""

from guard.integrations.mcp.client import mcp_tools

__all__ = ["mcp_tools"]
