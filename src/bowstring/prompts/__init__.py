"""Prompts: YAML templates in our own words, and the loader that lets a user's folder override them one by one.

    hicupid/ask.yaml            system_prompt
    hicupid/judge_persona.yaml  user_prompt with {relation}, {entity}, {question}, {answer_a}, {answer_b}

Pure functions over text: what is asked of whom, and when, is the benchmarks' business.
"""

from bowstring.prompts.templates import PromptFolder, Template

__all__ = ["PromptFolder", "Template"]
