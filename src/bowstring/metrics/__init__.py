"""Metrics: numbers with their n and their interval. Pure functions over plain values."""
