"""The front ends: command line, HTTP API, pages, MCP."""
