"""What becomes of an evaluation: its document, kept results, and reports for terminal, browser and docs."""
