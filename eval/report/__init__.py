"""Reports on an evaluation: its document, kept results, and output for terminal, browser and docs."""
