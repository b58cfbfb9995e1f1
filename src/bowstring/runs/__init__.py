"""Runs: a store of all paid responses, request scheduling by trunk, and result folders.

Nothing here depends on a benchmark: a run is given items, and a function that turns an item into a record by calling
models.
"""
