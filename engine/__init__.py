"""One engine protocol, two implementations: embedded (tantivy and numpy) and Elasticsearch."""
