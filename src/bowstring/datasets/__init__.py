"""Data sets: files, columns, ids, and whether they are sound; whatever benchmark a set is of.

What is asked of a model, and what a score is, does not live here.
"""
