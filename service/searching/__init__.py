"""From a question to its answer: the searcher, kept current, and what it computes, remembers and waits for."""
