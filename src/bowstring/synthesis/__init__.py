"""Making data: both pipelines on any model, and the offline generators with their word banks.

What is made has the published layout and loads like any other set. Nothing here scores anything.
"""
