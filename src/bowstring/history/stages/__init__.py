"""Stages between a history and a prompt; they may call models themselves.

    search      keyword search (BM25) and dense search
    summary     a summary of each dialogue, written by a model
    user_stage  a user-supplied stage, `python:module:Class`

A stage is opened for a user, ingests their dialogues in order, and returns what to show for each question.
"""

from bowstring.history.stages.interface import Ask, Shown, Stage
from bowstring.history.stages.showing import Asked, Histories, Readers, StageWords

__all__ = ["Ask", "Asked", "Histories", "Readers", "Shown", "Stage", "StageWords"]
