"""The HTTP API: one blueprint a subject."""
