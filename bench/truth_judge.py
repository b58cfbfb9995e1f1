"""How often is HiCUPID's truth judge right, on labelled answers and on what a generated set is made of?

    python bench/truth_judge.py tests/judging/answers/*.jsonl            # balanced accuracy on labelled answers
    python bench/truth_judge.py --set DIR                                # totals of cheats and gold on a generated set
    python bench/truth_judge.py FILE --errors                            # and every answer that is misjudged

Labelled answers are described in tests/judging/answers/README.md. Balanced accuracy is the mean of the shares of right
and of wrong answers that are judged as such; chance is 0.5. Intervals allow for answers to one question. An answer with
the label of a stance is judged twice: for a user who likes the subject, and for one who avoids it.
"""

import argparse
import json
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from bowstring.benchmarks.hicupid.mentions import MentionFinder
from bowstring.benchmarks.hicupid.offline import OfflineHicupid, truth_of
from bowstring.benchmarks.hicupid.truth import Truth, load_truth
from bowstring.benchmarks.hicupid.types import Persona, Profile, Question, Schedule
from bowstring.benchmarks.hicupid.users import Sizes
from bowstring.benchmarks.loading import load_hicupid
from bowstring.judging.verdicts import read_pairwise, read_satisfaction
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate
from bowstring.synthesis.banks import fill

# What an answer that passes adds to the published total, in 40ths: 50 points in a comparison, 100 / 2 for a schedule.
WEIGHTS = {"persona": 25 * 50, "profile": 5 * 50, "schedule": 10 * 50}


def passes(truth, question, answer):
    if question.type == "schedule":
        return bool(read_satisfaction(truth.satisfaction(question, answer)))
    return read_pairwise(truth.pairwise(question, answer, answer_is="A")) == "tie"


NOBODY = {"age": "", "gender": "", "personality": "", "occupation": "", "income_range": ""}
SIDES = {"for": "POS", "against": "NEG"}


@dataclass(frozen=True)
class Case:
    """An answer to a question of one user, and whether it is right."""

    name: str
    group: str
    question: Question
    truth: Truth
    answer: str
    right: bool


class Rows:
    """Cases of labelled rows, each with the ground truth of its own field."""

    def __init__(self):
        self._known: dict = truth_of(OfflineHicupid(Sizes(1, 25, 1, 1, 1, 1), 0))
        self._truths = {}

    def cases(self, row):
        """The cases of a row; none if its profile is not one of the generator's, of which alone the truth knows."""
        truth = self._truth(row)
        if "label" not in row:  # a row of the first two halves
            if row["profile"] and not any(
                row["profile"][a["field"]] in a["of"] for a in self._known["aspects"].values()
            ):
                return
            sentiment = row["persona"]["sentiment"] if row["persona"] else f"clash {row['clash']}"
            asked = question(row, row["persona"] and Persona(**row["persona"]), row["profile"], row["schedule"])
            yield Case(row["id"], sentiment, asked, truth, row["answer"], row["right"])
        elif row["type"] == "schedule":
            asked = question(row, None, None, {"datetime": row["question"], "event": row["appointment"]})
            yield Case(row["id"], f"clash {row['clash']}", asked, truth, row["answer"], row["label"] == "right")
        else:
            for side in (row["side"],) if row["type"] == "profile" else SIDES:
                persona = Persona(row["category"], "", row["subject"], SIDES[side])
                asked = question(row, persona, row.get("profile"), None)
                yield Case(row["id"], persona.sentiment, asked, truth, row["answer"], row["label"] in (side, "right"))

    def _truth(self, row):
        category = row["persona"]["category"] if row.get("persona") else ""
        key = json.dumps([row["type"], row.get("field"), row.get("clash"), category])
        if key not in self._truths:
            known = {"entities": {category: row["field"]}} if row.get("field") else {}
            known["no_clash"] = ["0/0"] if row["type"] == "schedule" and not row["clash"] else []
            self._truths[key] = Truth(self._known | known)
        return self._truths[key]


def question(row, persona, profile, schedule):
    answers = row.get("personalized_answer", ""), row.get("general_answer", "")
    return Question(
        *("test_2", 0, 0, row["type"], row["question"], *answers, (), persona),
        Profile(**NOBODY | profile) if profile else None,
        Schedule(**schedule) if schedule else None,
    )


def shown(components):
    """Balanced accuracy of (cluster, label, correct) rows, with its interval."""
    parts = {label: [Score(q, float(ok)) for q, right, ok in components if right is label] for label in (True, False)}
    if not parts[True] or not parts[False]:
        return "only one label"
    found = estimate(
        {"right": parts[True], "wrong": parts[False]}, lambda mean: (mean["right"] + mean["wrong"]) / 2, ends=(0.0, 1.0)
    )
    shares = [sum(s.value for s in part) / len(part) for part in parts.values()]
    return (
        f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}] | {shares[0]:.3f} | {shares[1]:.3f} | "
        f"{len(components)} | {found.clusters}"
    )


def labelled(path, rows, show):
    judge, groups, seconds = Rows(), defaultdict(list), []
    cases = [(row, case) for row in rows for case in judge.cases(row)]
    for row, case in cases:
        start = time.perf_counter()
        ok = passes(case.truth, case.question, case.answer) == case.right
        seconds.append(time.perf_counter() - start)
        for group in (
            "all",
            row["type"],
            f"{row['type']}, {case.group}",
            *([f"by {row['writer']}"] if "writer" in row else []),
        ):
            groups[group].append((row["question"], case.right, ok))
        if show and not ok:
            print(f"{case.name} {'right' if case.right else 'wrong'} ({case.group})\n    {case.answer}")
    left_out = len(rows) - len({case.name for _, case in cases})
    print(f"\n{path}: {left_out} rows left out; {sorted(seconds)[len(seconds) // 2] * 1e3:.2f} ms per answer (median)")
    print("| answers | balanced accuracy | of right | of wrong | n | questions |\n|---|---|---|---|---|---|")
    for group in sorted(groups):
        print(f"| {group} | {shown(groups[group])} |")


# Answers of somebody who knows the subject and the side, or only one of them, in words of neither the generator.
PLAIN = {
    "POS": (
        "You love {e}, so go for that.",
        "I'd go with {e} – it's right up your street.",
        "Since {e} always cheers you up, build the day around it.",
        "Why not {e}? You can't get enough of it.",
    ),
    "NEG": (
        "You don't like {e}, so try {alt} instead.",
        "I'd skip {e} – not your thing – and go for {alt}.",
        "Since {e} always gets you down, choose {alt}.",
        "Anything but {e}! {alt}, perhaps?",
    ),
}
EVERYTHING = (
    "That suits young people, the middle-aged and pensioners, women and men, early and late risers, every budget from "
    "cheap to first-class, in a group or alone, planned or spontaneous: a morning, an afternoon or a weekend."
)


class Cheats:
    """Answers by somebody who does not know the side, or knows nothing and reads the most mentioned subject."""

    def __init__(self, folder, data, truth):
        raw = json.loads((Path(folder) / "truth.json").read_text(encoding="utf-8"))
        self._raw, self._swaps, self._data = raw, truth.swaps, data
        self._finder = MentionFinder((c, name.lower()) for c, names in raw["entities"].items() for name in names)
        self._names = {(c, n.lower()): n for c, names in raw["entities"].items() for n in names}
        self._most = {}

    def most_mentioned(self, question):
        user = question.user_id
        if user not in self._most:
            by_category = defaultdict(list)
            for (category, name), of in self._finder.mentions(self._data.history(user)).items():
                by_category[category].append((of.number, self._names[category, name]))
            self._most[user] = {c: max(found)[1] for c, found in by_category.items()}
        return self._most[user].get(question.persona.category, question.persona.entity)

    def of(self, question):
        """Answers by the name of the cheat."""
        gold, swapped = question.personalized_answer, self._swaps.swapped(question)
        rng = random.Random(f"cheat/{question.key}")
        found = {"gold": gold, "swapped": swapped, "coin": rng.choice((gold, swapped))}
        if question.persona is None:
            return found | {"list": "That time clashes with " + ", ".join(self._raw["events"]) + "."}
        persona, category = question.persona, question.persona.category
        sides = self._raw["patterns"][category]
        alt, n = rng.choice(self._raw["alternatives"][category]), rng.randrange(4)
        most, coin = self.most_mentioned(question), rng.choice(("POS", "NEG"))
        opposite = "NEG" if persona.sentiment == "POS" else "POS"
        tail = f" {EVERYTHING}" if question.type == "profile" else ""

        def worded(side, e):
            line = rng.choice(sides[side]["answers"])
            return fill(line, {"e": e, "alt": alt}) + tail

        def plain(side, e):
            return fill(PLAIN[side][n], {"e": e, "alt": alt}) + tail

        names = list(self._raw["entities"][category])
        some = rng.sample([x for x in names if x != persona.entity], 3)
        four = [persona.entity, *some]
        rng.shuffle(four)
        return found | {
            "gold, plain words": plain(persona.sentiment, persona.entity),
            "swapped, plain words": plain(opposite, persona.entity),
            "coin, plain words": plain(coin, persona.entity),
            "always avoid": worded("NEG", persona.entity),
            "always avoid, plain words": plain("NEG", persona.entity),
            "most mentioned, coin": worded(coin, most),
            "most mentioned, avoid": worded("NEG", most),
            "most mentioned, coin, plain words": plain(coin, most),
            "most mentioned, for and against": f"{plain('POS', most)} {plain('NEG', most)}",
            "right, for and against": f"{plain('POS', persona.entity)} {plain('NEG', persona.entity)}",
            "list": "You could choose " + ", ".join(names) + f".{tail}",
            "list of four": f"Go for {four[0]}, {four[1]}, {four[2]} or {four[3]}.{tail}",
            "list of four to avoid": f"Avoid {four[0]}, {four[1]}, {four[2]} and {four[3]}.{tail}",
        }


def generated(folder):
    """The total, of 50, that an answer of each kind has on a set, as `bowstring eval` weights it."""
    truth, data, questions = load_truth(folder), load_hicupid(folder), {}
    for question in data.questions():
        questions[question.split, question.user_id, question.question_id] = question
    cheats = Cheats(folder, data, truth)
    options, tricks = defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list))
    start, n = time.perf_counter(), 0
    for line in (Path(folder) / "choices.jsonl").read_text(encoding="utf-8").splitlines():
        choice = json.loads(line)
        question = questions[choice["split"], choice["user_id"], choice["question_id"]]
        for option in choice["options"]:
            options[option["kind"]][question.type].append((question.user_id, passes(truth, question, option["text"])))
            n += 1
        for name, answer in cheats.of(question).items():
            tricks[name][question.type].append((question.user_id, passes(truth, question, answer)))
            n += 1
    print(f"\n{folder}: {n} answers in {time.perf_counter() - start:.1f} s")
    for title, scores in (("options", options), ("cheats", tricks)):
        print(f"\n| {title} | persona | profile | schedule | total of 50 |\n|---|---|---|---|---|")
        for kind, by_type in scores.items():
            print(f"| {kind} | {' | '.join(cells_of(by_type))} |")


def cells_of(by_type):
    """The scores of each type, and their total; without answers to a type, it counts as zero."""
    cells = []
    for kind in WEIGHTS:
        rows = by_type.get(kind)
        mean = sum(ok for _, ok in rows) / len(rows) if rows else None
        cells.append("" if mean is None else f"{(100 if kind == 'schedule' else 50) * mean:.1f}")
    parts = {kind: [Score(str(user), float(ok)) for user, ok in rows] for kind, rows in by_type.items()}
    total = estimate(parts, lambda mean: sum(WEIGHTS[kind] / 40 * mean[kind] for kind in parts), ends=(0.0, 50.0))
    inside = 0 < total.value < 50  # at an end, users do not differ
    return [*cells, f"{total.value:.1f}" + (f" [{total.low:.1f}, {total.high:.1f}]" if inside else "")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--set", nargs="*", default=[], help="folders of generated sets")
    parser.add_argument("--errors", action="store_true")
    args = parser.parse_args()
    for path in args.files:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [{"id": f"{path.stem}-{n}"} | json.loads(line) for n, line in enumerate(lines, 1)]
        labelled(path, rows, args.errors)
    for folder in args.set:
        generated(folder)


if __name__ == "__main__":
    main()
