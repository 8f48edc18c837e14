"""One engine protocol, two implementations: embedded (tantivy and usearch) and Elasticsearch."""
