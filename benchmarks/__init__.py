"""Benchmarks of speed, memory and growth, and of encoders and fusion weights."""
