"""From a question to an explained answer: the plan, the lanes, fusion and re-ranking."""
