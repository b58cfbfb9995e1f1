"""Synthesis of data sets: what the pipelines of all benchmarks share. The pipelines are in the benchmarks' folders.

A synthetic set has the published layout and loads like any other set. Nothing here scores anything.
"""
