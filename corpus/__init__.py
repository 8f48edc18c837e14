"""The record everything speaks, and the analysis of its text into terms."""
