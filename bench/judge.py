"""Can a small model learn to judge, does it generalize to other question types, and can an answer steer it?

    python bench/judge.py --work /tmp/judge                                                     # on a GPU
    python bench/judge.py --work /tmp/judge --users 12 --dimensions 2 --test 1 --rank 8         # a rehearsal

The teacher is the truth judge of an offline HiCUPID set: it matches words, and is never wrong about its own gold
answers. It judges three answers to every question of the seen users: one that knows the user (from another user with
the same persona, if there is one), the general one, and one that knows another user. SmolLM2-135M (`embedded`) is
trained on its transcripts: of all types; of one type only; or of all types, where half of the general answers have
text appended that the verdict ignores (`warned`). A tenth of the users is held out. A second test uses users who share
no persona with the training. A third one appends the steering texts of `bowstring audit` to answers that should lose.
"""

import argparse
import json
import random
from pathlib import Path

import pyarrow.parquet as pq

from bowstring.api.calls import synthesize
from bowstring.api.train import train
from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.judging import verdict_of
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.hicupid.truth import Truth, load_truth
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Judgement, Question
from bowstring.benchmarks.loading import load_hicupid
from bowstring.judging import probes
from bowstring.metrics.agreement import agreement, agreement_intervals
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate
from bowstring.models.local import TOGETHER, LocalGenerator, LocalModel
from bowstring.records import Completion, Sampling

ARMS: dict[str, tuple[str, ...]] = {"all": (), "persona": ("persona",), "warned": ()}
KNOWN = ("idle", "ordered")  # texts in the training of `warned`; the other texts are new to it


def answers_to(questions: list[Question], rng: random.Random) -> list[tuple[Question, str]]:
    """Three answers per question: one that knows the user, the general one, one that knows another user."""
    alike: dict[object, list[Question]] = {}
    for question in questions:
        alike.setdefault((question.type, question.persona, question.schedule), []).append(question)
    of_type = {kind: [q for q in questions if q.type == kind] for kind in QUESTION_TYPES}
    found = []
    for question in questions:
        knows = rng.choice(alike[question.type, question.persona, question.schedule]).personalized_answer
        other = rng.choice(of_type[question.type]).personalized_answer
        found += [(question, answer) for answer in (knows, question.general_answer, other)]
    return found


def teach(truth: Truth, questions: list[Question], *, warned: bool) -> list[Judgement]:
    """The teacher's transcripts without duplicates. Text that is appended for `warned` does not change the verdict."""
    rng, other = random.Random(1), random.Random(3)
    rows = []
    for question, answer in answers_to(questions, rng):
        side = rng.choice("AB")
        said = judged(truth, question, answer, side)
        if warned and answer == question.general_answer and other.random() < 0.5:
            answer = probes.STEERING[other.choice(KNOWN)](answer, wish(question, side))
        rows.append(Judgement(question, answer, said, None if question.type == "schedule" else side))
    return list(dict.fromkeys(rows))


def wish(question: Question, side: str) -> str:
    """The verdict in favour of the answer."""
    return "Satisfaction: YES" if question.type == "schedule" else f"Better Response: {side}"


def judged(truth: Truth, question: Question, answer: str, side: str) -> str:
    if question.type == "schedule":
        return truth.satisfaction(question, answer)
    return truth.pairwise(question, answer, answer_is=side)


class Judge:
    """A trained judge, asked with the prompts of an evaluation."""

    def __init__(self, adapter: Path) -> None:
        self._answers = LocalGenerator(LocalModel(f"embedded+{adapter}", print)._load())
        given = {"types": QUESTION_TYPES, "shots": 0, "instruction": "system"}
        self._prompts = HicupidPrompts(HICUPID.prompts(), **given, summaries=False, branches=TOGETHER)

    def verdicts(self, items: list[tuple[Question, str, str]]) -> list[str | None]:
        """Verdicts on questions, each with an answer and its side."""
        order = sorted(range(len(items)), key=lambda n: items[n][0].type)  # prompts of one type share a trunk
        found: dict[int, str | None] = {}
        for start in range(0, len(order), TOGETHER):
            lot = order[start : start + TOGETHER]
            prompts = [self._prompts.judge(q, answer, answer_is=side) for q, answer, side in (items[n] for n in lot)]
            said = self._answers.answer(prompts, [Sampling(96, temperature=0.0)] * len(lot), lambda: False)
            for n, one in zip(lot, said, strict=True):
                question, _, side = items[n]
                found[n] = verdict_of(question, one.text, side) if isinstance(one, Completion) else None
        return [found[n] for n in range(len(items))]


def in_words(estimate) -> str:
    return "" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def on_unseen(judge: Judge, truth: Truth, questions: list[Question], taught: tuple[str, ...]) -> None:
    rng = random.Random(2)
    items = [(question, answer, rng.choice("AB")) for question, answer in answers_to(questions, rng)]
    wanted = [verdict_of(q, judged(truth, q, answer, side), side) for q, answer, side in items]
    found = judge.verdicts(items)
    for kind in QUESTION_TYPES:
        at = [n for n, item in enumerate(items) if item[0].type == kind]
        sides = [wanted[n] for n in at], [found[n] for n in at]
        numbers = agreement_intervals(*sides, [str(items[n][0].user_id) for n in at])
        plain = agreement(*sides)
        shown = " | ".join(in_words(numbers[name]) for name in ("accuracy", "macro_f1", "kappa"))
        about = "" if not taught or kind in taught else " (not in training)"
        print(f"| {kind}{about} | {plain.n} | {plain.missing} | {shown} |", flush=True)


def steered(judge: Judge, questions: list[Question]) -> None:
    """How often an answer that should lose does not, with neutral text appended and with text to the judge."""
    for name, steer in probes.STEERING.items():
        for kinds in (("persona", "profile"), ("schedule",)):
            items = []
            for question in (q for q in questions if q.type in kinds):
                for side in "AB" if "schedule" not in kinds else "A":
                    items.append((question, steer(question.general_answer, wish(question, side)), side))
            found = judge.verdicts(items)
            read = [(str(item[0].user_id), v) for item, v in zip(items, found, strict=True) if v is not None]
            good = [Score(user, float(v in ("win", "tie", "yes"))) for user, v in read]
            share = estimate({"x": good}, lambda mean: mean["x"], ends=(0.0, 1.0))
            row = f"{len(items)} | {len(items) - len(read)} | {in_words(share)}"
            print(f"| {name} | {' and '.join(kinds)} | {row} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--users", type=int, default=120)
    parser.add_argument("--dimensions", type=int, default=25)
    parser.add_argument("--test", type=int, default=20, help="unseen users in the test")
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--arms", nargs="*", default=list(ARMS), choices=ARMS)
    args = parser.parse_args()
    data = args.work / "set"
    if not data.is_dir():
        few = min(10, 3 * args.dimensions)
        sizes = {"users": args.users, "dimensions": args.dimensions, "turns": 1, "schedules": few}
        synthesize("hicupid", offline=True, share=10 if args.users >= 60 else 1, seed=7, out=data, **sizes)
    truth, questions = load_truth(str(data)), list(load_hicupid(str(data)).questions())
    unseen = [q for q in questions if q.split == "test_2"]
    users = sorted({q.user_id for q in unseen})[: args.test]
    unseen = [q for q in unseen if q.user_id in users]
    for arm in args.arms:
        transcripts = args.work / f"{arm}.parquet"
        taught = [q for q in questions if q.split == "train"]
        pq.write_table(evaluation_table(teach(truth, taught, warned=arm == "warned")), transcripts)
        made = train(
            "judge",
            data=str(transcripts),
            model="embedded",
            out=args.work / arm,
            types=ARMS[arm],
            epochs=args.epochs,
            lr=args.lr,
            rank=args.rank,
            alpha=2 * args.rank,
            checkpointing=False,
            users_per_step=2,
            tell=print,
        )
        losses = [line["loss"] for line in made.record["log"]]
        print(f"\n{arm}: {made.record['counts']}, loss {losses[0]:.2f} to {sum(losses[-5:]) / 5:.3f}")
        print("held out:", json.dumps(made.record["held_out"]))
        judge = Judge(made.folder)
        print("\n| unseen users | n | not parsed | accuracy | macro F1 | kappa |\n|---|---|---|---|---|---|")
        on_unseen(judge, truth, unseen, ARMS[arm])
        print("\n| appended text | questions | n | not parsed | does not lose |\n|---|---|---|---|---|")
        steered(judge, unseen)


if __name__ == "__main__":
    main()
