"""Models: clients, local inference, tokenizers and prices.

Everything about model weights, tokenizers and protocols is here. Nothing here depends on a benchmark.
"""
