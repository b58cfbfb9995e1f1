"""A HiCUPID set with choices.jsonl whose gold options cannot be told without the history.

Subject and side of every persona question are independent of its text, and all four combinations of subject and side
are filled into one template. Users say in their history what they like, who they are and what is in their calendar.
"""

import json
import random
from pathlib import Path

import pyarrow.parquet as pq

from bowstring.benchmarks.hicupid.data import dialogue_table, qa_table
from bowstring.benchmarks.hicupid.types import Persona, Profile, Question, Schedule
from bowstring.records import Dialogue, Message

FOODS = (
    "beans",
    "bread",
    "cheese",
    "fish",
    "fruit",
    "lentils",
    "mushrooms",
    "noodles",
    "olives",
    "rice",
    "soup",
    "tofu",
)
HOBBIES = ("chess", "cycling", "diving", "drawing", "fencing", "hiking", "judo", "knitting", "poetry", "rowing", "yoga")
SUBJECTS = {"food": FOODS, "hobby": HOBBIES}
JOBS = ("baker", "carpenter", "dentist", "florist", "gardener", "nurse", "pilot", "plumber", "tailor", "teacher")
EVENTS = ("dental appointment", "piano lesson", "job interview", "eye test", "parents evening", "car inspection")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ASKED = {"food": "What should I have for dinner on {day}?", "hobby": "What could I do with my free {day}?"}


def about(subject: str, likes: bool) -> str:
    return f"Choose {subject}, that is your thing." if likes else f"Choose no {subject}, it is not your thing."


def with_job(job: str, subject: str) -> str:
    return f"After a day as a {job}, {subject} is what you want."


def write_choices_set(folder: Path, *, users: int = 40, seed: int = 0, splits=("test_2",), most: int = 5) -> Path:
    """`users` per split; `most` options per question."""
    rng = random.Random(seed)
    lines = []
    (folder / "qa").mkdir(parents=True)
    (folder / "dialogue").mkdir()
    histories, first = {"test": [], "train": []}, 0
    for split in splits:
        questions = []
        for user in range(first, first + users):
            history, own, options = _user(rng, split, user)
            histories["test" if split == "test_2" else "train"].append((user, history))
            questions += own
            lines += [
                {"split": q.split, "user_id": q.user_id, "question_id": q.question_id, "options": o[:most]}
                for q, o in zip(own, options, strict=True)
            ]
        first += users
        pq.write_table(qa_table(questions), folder / "qa" / f"{split}.parquet")
    for name, own in histories.items():
        if own:
            pq.write_table(dialogue_table(own), folder / "dialogue" / f"{name}.parquet")
    (folder / "choices.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def _user(rng, split, user):
    job = rng.choice(JOBS)
    history, questions, options = [], [], []

    def say(text: str, kind: str) -> int:
        messages = Message("user", (text,)), Message("assistant", ("I see.",))
        history.append(Dialogue(user * 100 + len(history), kind, messages))
        return history[-1].id

    def ask(kind, text, own, evidence, **known):
        golds = [one["text"] for one in own if one["kind"] == "gold"]
        general = next((one["text"] for one in own if one["kind"] in ("general", "declines")), "It depends.")
        known = {"persona": None, "profile": None, "schedule": None} | known
        key = user * 100 + len(questions)
        questions.append(Question(split, user, key, kind, text, golds[0], general, tuple(evidence), **known))
        options.append(own)

    about_job = say(f"I work as a {job}.", "profile")
    profile = Profile("30s", "female", "calm", job, "middle")
    unheard = {}
    for category, subjects in SUBJECTS.items():
        *pairs, unheard[category] = _pairs(rng, subjects, 5)
        for subject, other in pairs:
            likes = rng.random() < 0.5
            heard = say(f"I {'like' if likes else 'do not like'} {subject}.", "persona")
            persona = Persona(category, "likes" if likes else "dislikes", subject, "POS" if likes else "NEG")
            asked = ASKED[category].format(day=rng.choice(DAYS))
            kinds = ("gold", about(subject, likes)), ("wrong_side", about(subject, not likes))
            kinds += ("wrong_person", about(other, likes)), ("wrong_both", about(other, not likes))
            kinds += (("general", "Choose what is there, that is fine."),)
            ask("persona", asked, _options(kinds), [heard], persona=persona)
    subject, other = unheard["food"]
    heard = say(f"I like {subject}.", "persona")
    strange = rng.choice([one for one in JOBS if one != job])
    kinds = ("gold", with_job(job, subject)), ("wrong_profile", with_job(strange, subject))
    kinds += ("wrong_persona", with_job(job, other)), ("wrong_both", with_job(strange, other))
    kinds += (("general", "After a long day, rest is what you want."),)
    persona = Persona("food", "likes", subject, "POS")
    ask("profile", "What is good after work?", _options(kinds), [about_job, heard], persona=persona, profile=profile)
    for weekday in rng.sample(DAYS, 2):
        event, other, unrelated = rng.sample(EVENTS, 3)
        day = f"{weekday} at {rng.randint(8, 17)}"
        say(f"On another day I have a {unrelated}.", "schedule")
        heard = say(f"On {day} I have a {event}.", "schedule")
        kinds = ("gold", f"No, you have a {event} then."), ("books_over", "Yes, it is booked for you.")
        kinds += ("other_appointment", f"No, you have a {other} then."), ("declines", "No, it is not possible then.")
        kinds += (("unrelated", f"Yes, and you have a {unrelated} too."),)
        ask("schedule", f"Book a haircut on {day}.", _options(kinds), [heard], schedule=Schedule(day, event))
    return tuple(history), questions, options


def _pairs(rng, subjects, n):
    chosen = rng.sample(subjects, 2 * n)
    return list(zip(chosen[:n], chosen[n:], strict=True))


def _options(kinds):
    return [{"text": text, "kind": kind} for kind, text in kinds]


# Models, as functions. Each gets the messages and answers with a letter.


def shown_options(messages) -> dict[str, str]:
    """The options in the last message, by letter."""
    lines = messages[-1]["content"].splitlines()
    return {line[0]: line[3:] for line in lines if line[1:3] == ". " and line[0] in "ABCDEFGHIJ"}


def always_a(messages) -> str:
    return "Choice: A"


def all_letters(messages) -> str:
    return "A, B, C, D, E"


def longest(messages) -> str:
    options = shown_options(messages)
    return max(options, key=lambda letter: len(options[letter]))


def coin(messages) -> str:
    return random.Random(messages[-1]["content"]).choice(sorted(shown_options(messages)) or ["A"])


def reads_history(messages) -> str:
    """Finds what the user said about the subject, the job or the calendar; otherwise guesses."""
    said = " ".join(m["content"] for m in messages[:-1] if m["role"] == "user")
    asked = messages[-1]["content"].splitlines()[0]
    best, most = coin(messages), 0
    for letter, text in shown_options(messages).items():
        points = 0
        for subject in (*FOODS, *HOBBIES):
            if f" {subject}" in text:
                liked = "no " not in text.split(",")[0] or text.startswith("After")
                points += f"I {'like' if liked else 'do not like'} {subject}." in said
        points += any(f"as a {job}" in text and f"as a {job}" in said for job in JOBS)
        when = asked.removeprefix("Book a haircut on ").rstrip(".")
        points += any(f"a {event} then" in text and f"On {when} I have a {event}." in said for event in EVENTS)
        if points > most:
            best, most = letter, points
    return f"I have thought of A and B.\nChoice: {best}"
