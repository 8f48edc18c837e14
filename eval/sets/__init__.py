"""Sets of questions with known answers, one module each."""
