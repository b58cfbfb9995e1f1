MODEL_NAME = {"gpt-4o-mini": "GPT-4o-mini", "gpt-4o-2024-11-20": "GPT-4o-2024-11-20"}

NUM_RETRIEVAL = {"dialogue": [1, 3, 5], "utterance": [5, 15, 25]}

INFERENCE_PROMPTS = {
    "zero/system": [
        {
            "role": "system",
            "content": """
Use what {you} know of the person.

Keep it to one sentence.
""".strip(),
        }
    ],
    "zero/user": [
        {"role": "user", "content": "From now on, use what you know of me."},
        {"role": "assistant", "content": "I will."},
    ],
    "few/system/1": [
        {"role": "system", "content": "Use what you know.\n\nQ: What to drink?\nA: Tea, since you like it."}
    ],
    "few/system/3": [{"role": "system", "content": "Use what you know. Three examples: tea, tea, tea."}],
    "few/system/5": [{"role": "system", "content": "Use what you know. Five examples: tea, tea, tea, tea, tea."}],
    "few/user/1": [{"role": "user", "content": "One example: tea."}, {"role": "assistant", "content": "One."}],
    "few/user/3": [{"role": "user", "content": "Three examples: tea."}, {"role": "assistant", "content": "Three."}],
    "few/user/5": [{"role": "user", "content": "Five examples: tea."}, {"role": "assistant", "content": "Five."}],
}

EVALUATION_PROMPTS = {
    "persona": [
        {
            "role": "user",
            "content": """
The person {relation} {entity}. Question: {question}

A: {answer_a}
B: {answer_b}

1. Personalization: …
2. Logical Validity: …
Better Response: A, B or Tie
""".strip(),
        }
    ],
    "profile": [
        {
            "role": "user",
            "content": """
The person {relation} {entity}; {age}, {gender}, {personality}, {occupation}, {income_range}. Question: {question}

A: {answer_a}
B: {answer_b}

Better Response: A, B or Tie
""".strip(),
        }
    ],
    "schedule": [
        {
            "role": "user",
            "content": "Taken: {event} at {datetime}.\nQuestion: {question}\nAnswer: {answer}\nSatisfaction: YES or NO",
        }
    ],
}
