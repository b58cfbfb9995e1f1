"""Judging: what judges decided, read from what they wrote, and the builtin judge that needs no model.

Pure functions over text and records. Whom to ask, and with which words, is the benchmarks' business.
"""
