"""Stance: whether an answer is for a subject, against it, or neither, read clause by clause with a small grammar."""
