"""Models: what can be asked, and how its tokens are counted.

Here lives what knows about model weights, tokenizers and protocols. Nothing here knows of a benchmark.
"""
