"""Prompts: YAML templates, and a loader that lets a user's folder override them one by one.

    hicupid/ask.yaml            system_prompt
    hicupid/judge_persona.yaml  user_prompt with {relation}, {entity}, {question}, {answer_a}, {answer_b}

Pure functions over text: benchmarks decide which prompts are sent to which model.
"""

from bowstring.prompts.templates import PromptFolder, Template

__all__ = ["PromptFolder", "Template"]
