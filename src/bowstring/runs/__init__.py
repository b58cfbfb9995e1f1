"""Runs: every response that was paid for kept in one store, requests scheduled trunk by trunk, folders of results.

Nothing here knows of a benchmark: a run is given items, and a function that turns an item into a record by
asking models.
"""
