"""The two small transformers of Treeline, as data: `deep` reads functions, `rerank` a question with a result."""
