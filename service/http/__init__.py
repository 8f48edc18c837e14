"""What happens around every request: access, rate limits, errors, logs and metrics."""
