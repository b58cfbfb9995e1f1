"""The Python API, which the commands also use: evaluate, sweep, synthesize, train."""
