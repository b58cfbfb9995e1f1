"""Training: assistants (SFT, DPO) and evaluators (judges, matchers) on histories that are read once.

One packed sequence holds a trunk and several of its branches under the mask of `bowstring.tree`; loss and gradients are
those of separate examples. On transformers' Trainer, PEFT and accelerate, which load only when something is trained.
"""
