"""The `Function` record that all rooms share, and text analysis."""
