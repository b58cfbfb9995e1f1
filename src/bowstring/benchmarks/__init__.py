"""Benchmarks: which prompts, which judge, which scores. They compose the other rooms and only say what.

evaluate("hicupid", model="embedded", judge="builtin")
"""
