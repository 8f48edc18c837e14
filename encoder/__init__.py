"""Text to vectors: one protocol, encoders by name."""
