"""From sources to an index: readers, parsers, the loading pipeline."""
