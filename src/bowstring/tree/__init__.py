"""Trees of tokens: a trunk and its branches as one sequence. One definition of packing, positions and mask serves both
decoding and training. Needs PyTorch; independent of benchmarks and runs."""
