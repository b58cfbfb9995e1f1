"""Training: assistants (SFT, DPO) and evaluators (judges, matchers), reading each history once.

One packed sequence holds a trunk and several of its branches under the mask of `bowstring.tree`; loss and gradients
equal those of separate examples. Built on transformers' Trainer, PEFT and accelerate, which are imported only for
training.
"""
