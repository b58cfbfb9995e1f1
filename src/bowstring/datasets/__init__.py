"""Data sets of any benchmark: files, columns, ids, and validation.

Prompts and scoring are elsewhere.
"""
