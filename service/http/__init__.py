"""The frame of every request: access, rate limits, errors, logs and metrics."""
