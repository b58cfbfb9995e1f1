"""Train a network that reads free answers to HiCUPID's questions; it may replace the truth judge's grammar.

    python recipes/truth_judge/train.py --leave-out forum,plain    # how well does it read writers that it has not seen?
    python recipes/truth_judge/train.py --write                    # train on all writers, and keep the network

The answers beside this file were written by many writers, each in a voice of their own, and labelled by them. What a
network of some answers does with those of other writers is the best estimate of what it does with a model's: so
writers are left out whole. Word vectors start from those of the embedded model. It took 16 minutes on a busy core.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from reader import network
from reader.reading import appointment_marked
from reader.tokens import DISTANCES, MARKS, SPECIAL, distances_of, numbers_of, tokens_of
from torch import Tensor, nn

import bowstring
from bowstring.benchmarks.hicupid.banks import people
from bowstring.benchmarks.hicupid.lives import profile_truth
from bowstring.benchmarks.hicupid.offline import OfflineHicupid, truth_of
from bowstring.benchmarks.hicupid.stance.names import Field, fields_of_categories, marked
from bowstring.benchmarks.hicupid.truth import Truth, load_truth
from bowstring.benchmarks.hicupid.types import Question
from bowstring.benchmarks.hicupid.users import Sizes
from bowstring.models.unpacked import unpacked_folder

HERE = Path(__file__).parent
WEIGHTS = Path(network.__file__).with_name(network.WEIGHTS)
STANCE = dict(zip(network.TASKS["stance"], range(3), strict=True))
VECTOR, DISTANCE, STATE, HIDDEN, MEMBERS = 64, 12, 128, 64, 3
EPOCHS, BATCH, RATE, DROPOUT, WORD_DROPOUT, SMOOTHING = 18, 64, 2e-3, 0.5, 0.08, 0.05
GENERATOR = "generator"


@dataclass
class Example:
    """An answer, and what is known of it: classes that it has, or that it does not have together."""

    writer: str
    marked: str
    has: dict[str, int] = field(default_factory=dict)
    lacks: dict[str, int] = field(default_factory=dict)  # at least one of these classes is wrong
    right: bool = True
    kind: str = ""


def examples() -> list[Example]:
    known = truth_of(OfflineHicupid(Sizes(1, 25, 1, 1, 1, 1), 0))
    fields, events = fields_of_categories(known["entities"]), tuple(known["events"])
    rows = [
        (path.stem, json.loads(line))
        for path in sorted((HERE / "answers").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    rows += [("earlier", row) for row in earlier()] + [(GENERATOR, row) for row in generated()]
    return [example for writer, row in rows for example in _examples(writer, row, fields, events)]


def earlier() -> Iterator[dict]:
    """The answers with which the grammar was developed, as rows of this folder; their profiles say too little."""
    folder = HERE.parents[1] / "tests" / "judging" / "answers"
    for path in (folder / "development.jsonl", *sorted(folder.glob("phrasings*.jsonl"))):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            known = {"type": row["type"], "question": row["question"], "answer": row["answer"]}
            if row["type"] == "schedule":
                label = "right" if row["right"] else "wrong"
                yield known | {"appointment": row["schedule"]["event"], "clash": row["clash"], "label": label}
            elif row["type"] == "persona":
                side = "for" if row["persona"]["sentiment"] == "POS" else "against"
                known |= {"category": row["persona"]["category"], "subject": row["persona"]["entity"]}
                known |= {"field": row["field"]} if row["field"] else {}
                yield known | {"label": side if row["right"] else f"not {side}"}


def generated(most: int = 1500) -> list[dict]:
    """Answers as the generator words them: gold and wrong options of a small set, of which chance takes some."""
    with tempfile.TemporaryDirectory() as folder:
        bowstring.synthesize("hicupid", offline=True, users=60, turns=1, no_clash=0.5, seed=17, out=f"{folder}/set")
        truth = load_truth(f"{folder}/set")
        questions = {
            (q.split, q.user_id, q.question_id): q for q in bowstring.load_hicupid(f"{folder}/set").questions()
        }
        lines = Path(folder, "set", "choices.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [
        row
        for choice in map(json.loads, lines)
        for option in choice["options"]
        if (row := _generated(truth, questions[choice["split"], choice["user_id"], choice["question_id"]], option))
    ]
    random.Random(0).shuffle(rows)
    return [
        row
        for kind in ("persona", "schedule", "profile")
        for row in [r for r in rows if r["type"] == kind][: most // 3]
    ]


def _generated(truth: Truth, question: Question, option: dict) -> dict | None:
    row = {"type": question.type, "question": question.question, "answer": option["text"]}
    right = "right" if option["kind"] == "gold" else "wrong"
    if question.schedule is not None:
        return row | {"appointment": question.schedule.event, "clash": truth.clashes(question), "label": right}
    sides = ("for", "against") if question.persona.sentiment == "POS" else ("against", "for")
    row |= {"category": question.persona.category, "subject": question.persona.entity}
    if question.type == "persona":
        if option["kind"] not in ("gold", "wrong_side"):
            return None
        return row | {"label": sides[option["kind"] == "wrong_side"]}
    bank = people()["aspects"]
    aspect = next(name for name in bank if question.question.rstrip("?").endswith(tuple(bank[name]["asks"])))
    truth_of_aspect = profile_truth()[aspect]
    value = truth_of_aspect["of"][getattr(question.profile, truth_of_aspect["field"])]
    return row | {"side": sides[0], "aspect": aspect, "value": value, "label": right}


def _examples(writer: str, row: dict, fields: dict[str, Field], events: tuple[str, ...]) -> Iterable[Example]:
    right = row["label"] == "right"
    if row["type"] == "schedule":
        text = appointment_marked(row["answer"], row["appointment"], events, row["question"])
        task = "clash" if row["clash"] else "booking"
        yield Example(writer, text, {task: int(not right)}, right=right, kind=task)
        return
    own = Field(row["field"]) if "field" in row else fields.get(row["category"], Field({}))
    text = marked(row["answer"], own, row["subject"])
    if row["type"] == "persona":
        side = {"stance": STANCE[row["label"].removeprefix("not ")]}
        if row["label"].startswith("not "):
            yield Example(writer, text, lacks=side, right=False, kind="persona")
        else:
            yield Example(writer, text, side, kind="persona")
        return
    wanted = {
        "stance": STANCE[row["side"]],
        row["aspect"]: network.TASKS[row["aspect"]].index(row["value"]),
    }
    example = Example(writer, text, right=right, kind="profile", lacks={} if right else wanted)
    if right:
        example.has = wanted
    elif "answer_value" in row:
        stance = {"unmentioned": "neither"}.get(row["answer_stance"], row["answer_stance"])
        classes = network.TASKS[row["aspect"]]
        example.has = {"stance": STANCE[stance]}
        if row["answer_value"] in classes:
            example.has[row["aspect"]] = classes.index(row["answer_value"])
        example.lacks = wanted
    yield example


def for_and_against(rows: Sequence[Example], n: int, rng: random.Random) -> list[Example]:
    """Answers that say both, which take no side: one for the subject and one against it, of two rows."""
    by_side = defaultdict(list)
    for row in rows:
        if row.kind == "persona" and row.has:
            by_side[row.has["stance"]].append(row.marked)
    found = []
    for _ in range(n):
        both = [rng.choice(by_side[STANCE["for"]]), rng.choice(by_side[STANCE["against"]])]
        rng.shuffle(both)
        found.append(Example("both", " ".join(both), {"stance": STANCE["neither"]}, kind="both"))
    return found


def vocabulary() -> tuple[list[str], np.ndarray]:
    """The special tokens and the embedded model's words, with their vectors, reduced to a few dimensions."""
    from safetensors.torch import load_file

    folder = unpacked_folder()
    numbers = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    vectors = load_file(next(iter(folder.glob("*.safetensors"))))["model.embed_tokens.weight"].float().numpy()
    words = sorted((t[1:] for t in numbers if re.fullmatch(r"Ġ[a-z]+", t)), key=lambda word: numbers[f"Ġ{word}"])
    own = vectors[[numbers[f"Ġ{word}"] for word in words]]
    own = own / np.linalg.norm(own, axis=1, keepdims=True)
    own = own - own.mean(0)
    reduced = own @ np.linalg.svd(own, full_matrices=False)[2][:VECTOR].T
    special = np.random.default_rng(0).normal(0, 0.5, (len(SPECIAL), VECTOR))
    special[0] = 0
    return [*SPECIAL, *words], np.concatenate([special, reduced / reduced.std()]).astype(np.float32)


class Member(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.distances = nn.Embedding(DISTANCES, DISTANCE)
        self.states = nn.GRU(VECTOR + DISTANCE, STATE, bidirectional=True, batch_first=True)
        self.attention = nn.Linear(2 * STATE, 1)
        self.hidden = nn.Linear(6 * STATE, HIDDEN)
        self.output = nn.Linear(HIDDEN, sum(map(len, network.TASKS.values())))
        self.drop, self.drop_input = nn.Dropout(DROPOUT), nn.Dropout(DROPOUT * 0.6)

    def forward(self, vectors: Tensor, distances: Tensor, there: Tensor, subject: Tensor) -> dict[str, Tensor]:
        given = self.drop_input(torch.cat([vectors, self.distances(distances)], -1))
        packed = nn.utils.rnn.pack_padded_sequence(given, there.sum(1), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.states(packed)[0], batch_first=True, total_length=there.shape[1]
        )
        attention = self.attention(states).squeeze(-1).masked_fill(~there, -99).softmax(1)
        mentions = subject.float()
        pooled = [
            states.masked_fill(~there[..., None], -9).amax(1),
            (states * attention[..., None]).sum(1),
            (states * mentions[..., None]).sum(1) / mentions.sum(1, keepdim=True).clamp(min=1),
        ]
        logits = self.output(self.drop(self.hidden(self.drop(torch.cat(pooled, 1))).relu()))
        parts = logits.split([len(classes) for classes in network.TASKS.values()], 1)
        return {task: part.log_softmax(-1) for task, part in zip(network.TASKS, parts, strict=True)}


class Readers(nn.Module):
    """The members, which share their word vectors."""

    def __init__(self, words: list[str], vectors: np.ndarray) -> None:
        super().__init__()
        self.vocabulary = {word: n for n, word in enumerate(words)}
        self.words = nn.Embedding.from_pretrained(torch.tensor(vectors), freeze=False, padding_idx=0, sparse=True)
        self.members = nn.ModuleList(Member() for _ in range(MEMBERS))
        self._known: dict[str, tuple[Tensor, Tensor]] = {}

    def forward(self, numbers: Tensor, distances: Tensor) -> list[dict[str, Tensor]]:
        there, subject = numbers != 0, numbers == self.vocabulary[MARKS["\x01"]]
        outputs = []
        for member in self.members:
            seen = numbers
            if self.training:
                dropped = (torch.rand(numbers.shape) < WORD_DROPOUT) & there & ~subject
                seen = numbers.masked_fill(dropped, self.vocabulary["<unk>"])
            outputs.append(member(self.words(seen), distances, there, subject))
        return outputs

    def batch(self, rows: Sequence[Example]) -> tuple[Tensor, Tensor]:
        read = [self._read(row.marked) for row in rows]
        longest = 8 * math.ceil(max(len(numbers) for numbers, _ in read) / 8)  # few shapes: little memory is torn apart
        numbers, distances = torch.zeros(2, len(rows), longest, dtype=torch.long)
        for n, (row, far) in enumerate(read):
            numbers[n, : len(row)], distances[n, : len(row)] = row, far
        return numbers, distances

    def _read(self, text: str) -> tuple[Tensor, Tensor]:
        if text not in self._known:
            tokens = tokens_of(text) or ["."]
            self._known[text] = torch.tensor(numbers_of(tokens, self.vocabulary)), torch.tensor(distances_of(tokens))
        return self._known[text]


def loss_of(output: dict[str, Tensor], has: Tensor, lacks: Tensor) -> Tensor:
    """The mean loss of some answers; `has` and `lacks` have a column per task, -1 where a class is not known."""
    total, together = torch.zeros(()), torch.zeros(len(has))
    for n, logs in enumerate(output.values()):
        known = has[:, n] >= 0
        right = logs.gather(1, has[:, n : n + 1].clamp(min=0))[:, 0]
        total = total - (((1 - SMOOTHING) * right + SMOOTHING * logs.mean(1)) * known).sum()
        together = together + logs.gather(1, lacks[:, n : n + 1].clamp(min=0))[:, 0] * (lacks[:, n] >= 0)
    wrong = ((lacks >= 0).any(1) & (has < 0).all(1)).float()
    return (total - (torch.log1p(-together.exp().clamp(max=1 - 1e-4)) * wrong).sum()) / len(has)


def classes_of(rows: Sequence[Example]) -> tuple[Tensor, Tensor]:
    table = [[[known.get(task, -1) for task in network.TASKS] for known in (row.has, row.lacks)] for row in rows]
    both = torch.tensor(table)
    return both[:, 0], both[:, 1]


def train(rows: list[Example], seed: int, epochs: int = EPOCHS) -> Readers:
    torch.manual_seed(seed)
    torch.backends.mkldnn.enabled = False  # it is slower at this size
    rng = random.Random(seed)
    readers = Readers(*vocabulary())
    others = [p for name, p in readers.named_parameters() if name != "words.weight"]
    optimizers = [
        torch.optim.AdamW(others, lr=RATE, weight_decay=0.02),
        torch.optim.SparseAdam([readers.words.weight], lr=RATE * 0.3),
    ]
    steps = epochs * math.ceil((len(rows) * 1.06) / BATCH)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step / steps)) for optimizer in optimizers
    ]
    for epoch in range(epochs):
        readers.train()
        order = [*rows, *for_and_against(rows, len(rows) // 20, rng)]
        rng.shuffle(order)
        losses = []
        for at in range(0, len(order), BATCH):
            some = order[at : at + BATCH]
            classes = classes_of(some)
            loss = torch.stack([loss_of(output, *classes) for output in readers(*readers.batch(some))]).sum()
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for member in readers.members:
                nn.utils.clip_grad_norm_(member.parameters(), 1.0)
            for optimizer, schedule in zip(optimizers, schedules, strict=True):
                optimizer.step()
                schedule.step()
            losses.append(loss.item() / MEMBERS)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}", flush=True)
    return readers.eval()


def _rate(done: float) -> float:
    """The share of the rate after a share of all steps: it rises during the first seventh, and falls as a cosine."""
    if done < 1 / 7:
        return 0.04 + 0.96 * 7 * done
    return 0.5 + 0.5 * math.cos(math.pi * min(1.0, (done - 1 / 7) / (6 / 7)))


def probabilities(readers: Readers, rows: Sequence[Example]) -> list[dict[str, np.ndarray]]:
    found = []
    with torch.no_grad():
        for at in range(0, len(rows), 256):
            outputs = readers(*readers.batch(rows[at : at + 256]))
            mean = {task: sum(o[task].exp() for o in outputs).numpy() / len(outputs) for task in network.TASKS}
            found += [{task: mean[task][n] for task in mean} for n in range(len(rows[at : at + 256]))]
    return found


def report(rows: Sequence[Example], read: Sequence[dict[str, np.ndarray]]) -> None:
    """Balanced accuracy by writer and type. A persona answer counts for users of both sides."""
    passed: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row, p in zip(rows, read, strict=True):
        chosen = {task: int(values.argmax()) for task, values in p.items()}
        for group in ((row.writer, row.kind), ("all", row.kind)):
            if row.kind == "persona" and not row.has:
                passed[group]["opposite"] += chosen["stance"] == row.lacks["stance"]
                passed[group]["opposite n"] += 1
            elif row.kind == "persona":
                stance = row.has["stance"]
                for side in (STANCE["for"], STANCE["against"]):
                    kind = "right" if stance == side else "neither" if stance == STANCE["neither"] else "opposite"
                    passed[group][kind] += chosen["stance"] == side
                    passed[group][f"{kind} n"] += 1
            else:
                wanted = row.has if row.right else row.lacks or {row.kind: 0}
                passes = all(chosen[task] == label for task, label in wanted.items())
                passed[group]["right" if row.right else "opposite"] += passes
                passed[group]["right n" if row.right else "opposite n"] += 1
    for (writer, kind), count in sorted(passed.items(), key=lambda item: (item[0][1], item[0][0])):
        share = {k: count[k] / count[f"{k} n"] for k in ("right", "opposite", "neither") if count[f"{k} n"]}
        wrong = 0.7 * share["opposite"] + 0.3 * share["neither"] if "neither" in share else share["opposite"]
        shown = ", ".join(f"{k} passes {v:.3f}" for k, v in share.items())
        print(f"{kind:8} {writer:12} {(share['right'] + 1 - wrong) / 2:.3f}  ({shown}; {count['right n']} right)")


def stored(readers: Readers) -> dict[str, np.ndarray]:
    """The weights by the names that the network reads, word vectors as bytes and the others in 16 bits."""
    words = readers.words.weight.detach().numpy()
    scale = np.abs(words).max(0) / 127
    found: dict[str, np.ndarray] = {
        "vocabulary": np.frombuffer("\n".join(readers.vocabulary).encode(), np.uint8),
        "words": np.round(words / scale).astype(np.int8),
        "words scale": scale.astype(np.float32),
    }
    members = [{name: p.detach().numpy() for name, p in member.named_parameters()} for member in readers.members]
    for name in members[0]:
        found[name] = np.stack([member[name] for member in members]).astype(np.float16)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leave-out", default="", help="writers to test on, and not to train on: names of files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--write", action="store_true", help="replace the network")
    args = parser.parse_args()
    start, rows, left_out = time.monotonic(), examples(), set(filter(None, args.leave_out.split(",")))
    tested = [row for row in rows if row.writer in left_out]
    readers = train([row for row in rows if row.writer not in left_out], args.seed, args.epochs)
    if tested:
        report(tested, probabilities(readers, tested))
    if args.write:
        np.savez_compressed(WEIGHTS, **stored(readers))
        print(f"{WEIGHTS}: {WEIGHTS.stat().st_size / 1e6:.1f} MB")
    print(f"{len(rows) - len(tested)} answers, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
