"""The tree on tokens: a trunk and its branches as one sequence. One definition of packing, positions and mask serves
decoding and training. Needs PyTorch; nothing here knows of benchmarks or runs.
"""
