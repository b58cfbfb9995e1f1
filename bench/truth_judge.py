"""How often is HiCUPID's truth judge right, on labelled answers and on what a generated set is made of?

    python bench/truth_judge.py tests/judging/answers/*.jsonl            # balanced accuracy on labelled answers
    python bench/truth_judge.py --set DIR                                # totals of cheats and gold on a generated set
    python bench/truth_judge.py FILE --errors                            # and every answer that is misjudged

A labelled answer is a row of tests/judging/answers/README.md. Balanced accuracy is the mean of the shares of right
and of wrong answers that are judged as such; chance is 0.5. Intervals allow for answers to one question. Profile rows
whose profile is not one of the generator's are left out: the truth of a set has the values of its own profiles only.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

from bowstring.benchmarks.hicupid.offline import OfflineHicupid, truth_of
from bowstring.benchmarks.hicupid.truth import Truth, load_truth
from bowstring.benchmarks.hicupid.types import Persona, Profile, Question, Schedule
from bowstring.benchmarks.hicupid.users import Sizes
from bowstring.benchmarks.loading import load_hicupid
from bowstring.judging.verdicts import read_pairwise, read_satisfaction
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate

# What an answer that passes adds to the published total, in 40ths: 50 points in a comparison, 100 / 2 for a schedule.
WEIGHTS = {"persona": 25 * 50, "profile": 5 * 50, "schedule": 10 * 50}


def question_of(row):
    return Question(
        "test_2",
        0,
        0,
        row["type"],
        row["question"],
        row["personalized_answer"],
        row["general_answer"],
        (),
        Persona(**row["persona"]) if row["persona"] else None,
        Profile(**row["profile"]) if row["profile"] else None,
        Schedule(**row["schedule"]) if row["schedule"] else None,
    )


def passes(truth, question, answer):
    if question.type == "schedule":
        return bool(read_satisfaction(truth.satisfaction(question, answer)))
    return read_pairwise(truth.pairwise(question, answer, answer_is="A")) == "tie"


class Rows:
    """Judges labelled rows, each with the ground truth of its own field."""

    def __init__(self):
        self._known = truth_of(OfflineHicupid(Sizes(1, 25, 1, 1, 1, 1), 0))
        self._truths = {}

    def truth_of(self, row):
        key = json.dumps([row["field"], row["clash"]])
        if key not in self._truths:
            category = row["persona"]["category"] if row["persona"] else ""
            known = {"entities": {category: row["field"] or {}}}
            known["no_clash"] = ["0/0"] if row["type"] == "schedule" and not row["clash"] else []
            self._truths[key] = Truth(self._known | known)
        return self._truths[key]

    def knows(self, row):
        if row["type"] != "profile":
            return True
        aspects = self._known["aspects"].values()
        return any(row["profile"][a["field"]] in a["of"] for a in aspects)

    def judged(self, row):
        return passes(self.truth_of(row), question_of(row), row["answer"])


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
    judge, groups = Rows(), defaultdict(list)
    left_out, seconds = 0, []
    for row in rows:
        if not judge.knows(row):
            left_out += 1
            continue
        judge.truth_of(row)
        start = time.perf_counter()
        ok = judge.judged(row) == row["right"]
        seconds.append(time.perf_counter() - start)
        sentiment = f", {row['persona']['sentiment']}" if row["persona"] else f", clash {row['clash']}"
        for group in ("all", row["type"], row["type"] + sentiment):
            groups[group].append((row["question"], row["right"], ok))
        if show and not ok:
            known = row["persona"] or row["schedule"]
            label = "right" if row["right"] else "wrong"
            print(f"{row['id']} {label} ({row['kind']}) {list(known.values())[1:]}\n    {row['answer']}")
    median = sorted(seconds)[len(seconds) // 2] * 1e3
    print(f"\n{path}: {left_out} profile rows left out; {median:.2f} ms per answer (median)")
    print("| answers | balanced accuracy | of right | of wrong | n | questions |\n|---|---|---|---|---|---|")
    for group in sorted(groups):
        print(f"| {group} | {shown(groups[group])} |")


def generated(folder):
    """The total, of 50, that an answer of each kind has on a set, as `bowstring eval` weights it."""
    truth, questions = load_truth(folder), {}
    for question in load_hicupid(folder).questions():
        questions[question.split, question.user_id, question.question_id] = question
    scores = defaultdict(lambda: defaultdict(list))
    start, n = time.perf_counter(), 0
    for line in (Path(folder) / "choices.jsonl").read_text(encoding="utf-8").splitlines():
        choice = json.loads(line)
        question = questions[choice["split"], choice["user_id"], choice["question_id"]]
        by_kind = defaultdict(list)
        for option in choice["options"]:
            by_kind[option["kind"]].append(passes(truth, question, option["text"]))
            n += 1
        for kind, found in by_kind.items():
            scores[kind][question.type].append(sum(found) / len(found))
    print(f"\n{folder}: {n} answers in {time.perf_counter() - start:.1f} s")
    print("| answers | persona | profile | schedule | total of 50 |\n|---|---|---|---|---|")
    for kind, by_type in scores.items():
        means = {t: sum(by_type[t]) / len(by_type[t]) for t in WEIGHTS if by_type[t]}
        cells = [f"{50 * means[t] if t != 'schedule' else 100 * means[t]:.1f}" if t in means else "" for t in WEIGHTS]
        total = sum(WEIGHTS[t] * means.get(t, 0.0) for t in WEIGHTS) / 40
        print(f"| {kind} | {' | '.join(cells)} | {total:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--set", nargs="*", default=[], help="folders of generated sets")
    parser.add_argument("--errors", action="store_true")
    args = parser.parse_args()
    for path in args.files:
        labelled(path, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()], args.errors)
    for folder in args.set:
        generated(folder)


if __name__ == "__main__":
    main()
