"""Data sets of random words whose leaks are known: none, or those that are planted."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance, Session
from bowstring.benchmarks.hicupid.data import dialogue_table, qa_table
from bowstring.benchmarks.hicupid.types import Persona, Question
from bowstring.records import Dialogue, Message

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
WORDS = [a + b for a in SYLLABLES[:20] for b in SYLLABLES[20:40]]
CATEGORIES = ["food", "music", "travel", "games", "art", "pets"]
ENTITIES = {c: [f"{c[:2]}{a}x" for a in SYLLABLES[n * 10 : n * 10 + 10]] for n, c in enumerate(CATEGORIES)}
LEAKS = ("gold longer", "side in question", "side in general", "subject in question", "subject most", "overlap")
LEAKS += ("similar turns", "one general answer", "one side", "evidence last")


def some_words(rng: random.Random, number: int) -> str:
    return " ".join(rng.choices(WORDS, k=number))


def answer(rng: random.Random, entity: str, side: str, words: int = 10) -> str:
    return f"{some_words(rng, 3)} {'enjoy' if side == 'POS' else 'avoid'} {entity} {some_words(rng, words)}."


def write_hicupid_of_words(folder: Path, *, users: int, seed: int = 0, leak: str = "", choices: str = "") -> Path:
    """A HiCUPID set without leaks but the given one; with `choices`, options that are clean or whose gold is longer."""
    assert leak in ("", *LEAKS)
    rng = random.Random(f"{seed}/{leak}")
    histories, questions, rows = [], [], []
    trained: list[str] = []
    for user in range(users):
        split = "test_2" if user % 5 == 4 else "train"
        personas = [
            Persona(c, "likes" if side == "POS" else "avoids", rng.choice(ENTITIES[c]), side)
            for c in CATEGORIES
            for side in [rng.choices(["POS", "NEG"], [9, 1] if leak == "one side" else [1, 1])[0]]
        ]
        places = rng.sample(range(len(CATEGORIES) + 2), len(CATEGORIES))
        if leak == "evidence last":
            places = [len(CATEGORIES) + 1] * len(CATEGORIES)
        history = []
        for place in range(len(CATEGORIES) + 2):
            about = [p for p, own in zip(personas, places, strict=True) if own == place]
            history.append(Dialogue(user * 40 + place, "persona", tuple(messages(rng, about, leak))))
        histories.append((user, tuple(history)))
        for n, (persona, place) in enumerate(zip(personas, places, strict=True)):
            asked = f"{some_words(rng, 8)}?"
            if leak == "side in question":
                asked = f"{'sunny' if persona.sentiment == 'POS' else 'rainy'} {asked}"
            if leak == "subject in question":
                asked = f"{asked} {ENTITIES[persona.category].index(persona.entity)}th"
            if split == "train":
                trained.append(asked)
            elif leak == "overlap" and rng.random() < 0.4:
                asked = rng.choice(trained)
            other = rng.choice(ENTITIES[persona.category])
            side = persona.sentiment if leak == "side in general" else rng.choice(["POS", "NEG"])
            gold = answer(rng, persona.entity, persona.sentiment, 14 if leak == "gold longer" else 10)
            general = "it depends on you" if leak == "one general answer" else answer(rng, other, side)
            number = user * 40 + n
            question = Question(
                split, user, number, "persona", asked, gold, general, (user * 40 + place,), persona, None, None
            )
            questions.append(question)
            rows.append((question, options(rng, question, longer=choices == "gold longer")))
    (folder / "dialogue").mkdir(parents=True)
    (folder / "qa").mkdir()
    for split, part in (("train", range(5)[:4]), ("test", [4])):
        table = dialogue_table((user, history) for user, history in histories if user % 5 in part)
        pq.write_table(table, folder / "dialogue" / f"{split}.parquet")
    for split in ("train", "test_2"):
        pq.write_table(qa_table(q for q in questions if q.split == split), folder / "qa" / f"{split}.parquet")
    if choices:
        lines = [
            json.dumps({"split": q.split, "user_id": q.user_id, "question_id": q.question_id, "options": own})
            for q, own in rows
        ]
        (folder / "choices.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def messages(rng: random.Random, personas: list[Persona], leak: str) -> Iterator[Message]:
    """Two turns that mention the entities of these personas as often as others of their categories."""
    named = []
    for persona in personas:
        others = [e for e in ENTITIES[persona.category] if e != persona.entity]
        named += [persona.entity, *rng.sample(others, 2)]
        named += [persona.entity] * 2 * (leak == "subject most")
    rng.shuffle(named)
    for part in (named[::2], named[1::2]):
        said = " ".join(rng.sample([*some_words(rng, 20).split(), *part], 20 + len(part)))
        yield Message("user", (said,))
        same = leak == "similar turns"
        replied = f"{' '.join(WORDS[:16])} {some_words(rng, 1)}" if same else some_words(rng, 17)
        yield Message("assistant", (replied,))


def options(rng: random.Random, question: Question, *, longer: bool) -> list[dict[str, str]]:
    persona = question.persona
    assert persona is not None
    other = rng.choice([e for e in ENTITIES[persona.category] if e != persona.entity])
    against = "NEG" if persona.sentiment == "POS" else "POS"
    cells = {
        "gold": (persona.entity, persona.sentiment),
        "wrong_side": (persona.entity, against),
        "wrong_person": (other, persona.sentiment),
        "wrong_both": (other, against),
    }
    found = [
        {"text": answer(rng, *cell, words=14 if longer and kind == "gold" else 10), "kind": kind}
        for kind, cell in cells.items()
    ]
    return [*found, {"text": f"{some_words(rng, 14)} perhaps.", "kind": "general"}]


def cupid_of_words(*, personas: int, seed: int = 0, leak: str = "") -> CupidSet:
    """A CUPID set in memory: the gold preference is that of a session at random, unless a leak is planted."""
    rng = random.Random(f"{seed}/{leak}")
    instances = []
    for number in range(personas):
        for kind in INSTANCE_TYPES:
            preferences = [some_words(rng, 6) for _ in range(8)]
            gold = 7 if leak == "last" else rng.randrange(8)
            if leak == "frequent":
                preferences[(gold + 3) % 8] = preferences[gold]
            request = some_words(rng, 12)
            request = f"{kind} {request}" if leak == "type" else request
            request = f"{preferences[gold]} {request}" if leak == "preference in request" else request
            sessions = tuple(
                Session(
                    some_words(rng, 2),
                    preference,
                    Dialogue(n, "session", (Message("user", (some_words(rng, 15),)), Message("assistant", ("yes",)))),
                )
                for n, preference in enumerate(preferences)
            )
            checklist = (some_words(rng, 5), some_words(rng, 5))
            factor = sessions[gold].context_factor
            instances.append(Instance(f"{number}+x", kind, request, factor, preferences[gold], checklist, sessions))
    return CupidSet("words", instances)
