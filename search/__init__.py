"""From a query to an explained answer: plan, lanes, fusion, re-ranking."""
