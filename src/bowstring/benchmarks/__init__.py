"""Benchmarks: their prompts, judges and scores. They use the other packages.

evaluate("hicupid", model="embedded", judge="builtin")
"""
