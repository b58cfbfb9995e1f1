"""Making data: what the pipelines of all benchmarks share. The pipelines themselves are in the benchmarks' folders.

What is made has the published layout and loads like any other set. Nothing here scores anything.
"""
