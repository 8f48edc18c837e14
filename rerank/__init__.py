"""From the lanes' ranked lists to one: fusion, expansion, clustering, re-ranking."""
