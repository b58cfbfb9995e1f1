"""Bowstring builds, runs and trains on benchmarks of LLM personalization: HiCUPID and CUPID, whole."""

__version__ = "0.1.0"
