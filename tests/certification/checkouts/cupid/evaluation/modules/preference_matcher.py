EXAMPLES = [
    {
        "preference": "Maps come folded, and their legend is in colour.",
        "checklist": {"Is the map folded?": 1, "Has the legend more than one colour?": 0.5, "Is the paper thick?": 0},
    },
    {
        "preference": "A reply names one “source” – and no more.",
        "checklist": {"Does the reply name a source?": 1, "Is the reply short?": 0},
    },
]
