"""Stages: what stands between a history and a prompt, and may itself ask models.

    search    keyword search (BM25) and dense search
    summary   a summary of each dialogue, which a model writes
    own       a user's own stage, `python:module:Class`

A stage is opened for a user, takes in their dialogues in order, and is asked per question what to show.
"""

from bowstring.history.stages.interface import Ask, Shown, Stage
from bowstring.history.stages.showing import Asked, Histories, Readers, StageWords

__all__ = ["Ask", "Asked", "Histories", "Readers", "Shown", "Stage", "StageWords"]
