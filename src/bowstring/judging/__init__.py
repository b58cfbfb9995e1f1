"""Judging: parse judges' verdicts, and the builtin judge that needs no model.

Pure functions over text and records. Benchmarks decide which judge is asked and with which prompt.
"""
