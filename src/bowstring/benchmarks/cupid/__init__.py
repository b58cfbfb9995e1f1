"""CUPID (COLM 2025): infer the preference that applies in a context from feedback in earlier sessions."""
