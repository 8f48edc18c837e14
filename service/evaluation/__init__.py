"""The evaluation's results as the API and the pages show them, read from the files that it wrote."""
