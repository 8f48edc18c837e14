"""The searcher that runs the stages, and the ways to it: command line, HTTP, pages, MCP."""
