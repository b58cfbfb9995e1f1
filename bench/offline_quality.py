"""Is a generated HiCUPID set fit to measure personalization? Shortcuts, leaks, coherence, variety and lengths.

    bowstring synth hicupid --offline --users 240 --share 10 --no-clash 0.5 --seed 1 --out /tmp/set
    python bench/offline_quality.py /tmp/set             every measure; a few minutes on two cores
    python bench/offline_quality.py /tmp/set --no-leaks  without the classifiers

Every measure is printed with what chance would give. The set needs choices.jsonl and truth.json. The classifiers are
logistic regressions on TF-IDF of words and characters and on lengths, cross-validated in five folds that keep twins
together: users 2k and 2k+1 share their questions. They need scikit-learn.
"""

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev

import bowstring
from bowstring.benchmarks.hicupid.banks import people
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.types import Question
from bowstring.history.bm25 import Bm25, stems
from bowstring.models.tokens import embedded_counter
from bowstring.records import History

FOLDS = 5
SAMPLED_TURNS = 10_000
NEAR = 0.9  # Jaccard similarity of sets of words from which two turns are near-duplicates
_WORD = re.compile(r"\w+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("--no-leaks", action="store_true", help="skip the classifiers")
    given = parser.parse_args()
    data = bowstring.load_hicupid(str(given.set))
    histories = {user: data.history(user) for user in data.user_ids}
    truth = json.loads((given.set / "truth.json").read_text(encoding="utf-8"))
    print(f"{given.set}: {len(histories):,} users")
    _replies(histories)
    _mentions(data, histories, truth["entities"])
    _people(data)
    _questions(data)
    _near_duplicates(histories)
    _lengths(histories)
    choices = given.set / "choices.jsonl"
    if choices.is_file() and not given.no_leaks:
        rows = [json.loads(line) for line in choices.read_text(encoding="utf-8").splitlines()]
        asked = {(q.user_id, q.question_id): q for q in data.questions()}
        _leaks(rows, asked)
        _sides(asked.values())


def _replies(histories: dict[int, History]) -> None:
    """Whether BM25 finds the reply to a message among all replies of its dialogue."""
    right, chance = [], []
    for history in histories.values():
        for dialogue in (d for d in history if d.kind == "persona" and len(d.messages) > 2):
            texts = [m.text for m in dialogue.messages]
            index = Bm25([stems(reply) for reply in texts[1::2]])
            for n, message in enumerate(texts[::2]):
                right.append(index.order(stems(message))[0] == n)
                chance.append(2 / len(texts))
    print(f"\nreply ranks first for its message: {100 * mean(right):.1f}% (chance {100 * mean(chance):.1f}%)")


def _mentions(data: HicupidSet, histories: dict[int, History], entities: dict[str, dict[str, list[str]]]) -> None:
    """How often simple rules on the mentions in the history find the subject of a persona; ties count as a share."""
    found: dict[str, list[float]] = defaultdict(list)
    for user, history in histories.items():
        texts = {d.id: [m.text.lower() for m in d.messages] for d in history}
        order = [text for id_ in sorted(texts) for text in texts[id_]]
        for q in data.questions():
            if q.user_id != user or q.type != "persona" or q.persona is None:
                continue
            evidence = texts[q.evidence[0]]
            named = {e: _places(e, evidence) for e in entities[q.persona.category]}
            named = {e: places for e, places in named.items() if places}
            own = q.persona.entity
            found["most often in its dialogue"].append(_share(own, {e: len(p) for e, p in named.items()}))
            found["last in its dialogue"].append(_share(own, {e: max(p) for e, p in named.items()}))
            found["first in its dialogue"].append(_share(own, {e: -min(p) for e, p in named.items()}))
            found["chance, by number of subjects in its dialogue"].append(1 / len(named))
            told = {e: len(_places(e, evidence[::2])) for e in named}
            found["most often in the user's messages"].append(_share(own, told))
            with_i = {e: sum(" i " in f" {evidence[p]} " for p in places if p % 2 == 0) for e, places in named.items()}
            found["most often in messages with 'I' (reads who)"].append(_share(own, with_i))
            if user % 10 == 0:
                whole = {e: len(_places(e, order)) for e in entities[q.persona.category]}
                found["most often in the whole history"].append(_share(own, whole))
                known = [e for e, n in whole.items() if n]
                found["chance, whole history"].append(1 / len(known))
    print("\nthe subject of the persona is the one that is mentioned …")
    for rule, hits in found.items():
        print(f"  {rule}: {100 * mean(hits):.1f}% of {len(hits):,}")


def _places(entity: str, texts: Sequence[str]) -> list[int]:
    pattern = re.compile(rf"(?<!\w){re.escape(entity.lower())}(?!\w)")
    return [n for n, text in enumerate(texts) if entity.lower() in text and pattern.search(text)]


def _share(own: str, counts: dict[str, int]) -> float:
    top = max(counts.values(), default=0)
    leaders = [e for e, n in counts.items() if n == top]
    return 1 / len(leaders) if own in leaders else 0.0


def _people(data: HicupidSet) -> None:
    bank = people()
    occupations = {o["name"]: o for o in bank["occupations"]}
    budgets = {i["name"]: i["budget"] for i in bank["incomes"]}
    profiles = {q.user_id: q.profile for q in data.questions() if q.profile}
    odd = 0
    for profile in profiles.values():
        known = occupations.get(profile.occupation)
        fits = known and known["ages"][0] <= int(profile.age) <= known["ages"][1]
        odd += not (fits and budgets.get(profile.income_range) in known["incomes"])
    print(f"\npeople whose age or income does not fit their occupation: {odd} of {len(profiles)}")


def _questions(data: HicupidSet) -> None:
    train = {q.question for q in data.questions("train")}
    for split in ("test_1", "test_2"):
        asked = [q.question for q in data.questions(split)]
        print(f"questions of {split} that are verbatim in train: {100 * mean(q in train for q in asked):.1f}%")
    for kind in ("persona", "profile", "schedule"):
        of_kind = [q for q in data.questions() if q.type == kind]
        asked = [len(q.question.split()) for q in of_kind]
        gold = [len(q.personalized_answer.split()) for q in of_kind]
        general = [len(q.general_answer.split()) for q in of_kind]
        print(
            f"words, {kind}: question {mean(asked):.1f}, gold {mean(gold):.1f} ({min(gold)} to {max(gold)}), "
            f"general {mean(general):.1f}"
        )
    sides: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for q in data.questions():
        if q.type == "persona" and q.persona:
            sides[q.persona.category, q.persona.entity][q.persona.sentiment] += 1
    total = sum((counts for counts in sides.values()), Counter[str]())
    uneven = sum(abs(c["POS"] - c["NEG"]) for c in sides.values())
    print(f"sides: {dict(total)}; |POS - NEG| summed over subjects: {uneven}")


def _near_duplicates(histories: dict[int, History]) -> None:
    """Assistant turns of a random sample with a near-duplicate in it; candidates share one of their rarest words."""
    texts = [m.text for h in histories.values() for d in h for m in d.messages if m.role == "assistant"]
    sample = random.Random(0).sample(texts, min(SAMPLED_TURNS, len(texts)))
    sets = [frozenset(_WORD.findall(text.lower())) for text in sample]
    frequency = Counter(word for words in sets for word in words)
    index: dict[str, list[int]] = defaultdict(list)
    duplicate = [False] * len(sets)
    for n, words in enumerate(sets):
        # Two sets with this similarity share one of their rarest words, as many as may differ and one more.
        prefix = sorted(words, key=lambda w: (frequency[w], w))[: len(words) - math.ceil(NEAR * len(words)) + 1]
        for other in {m for word in prefix for m in index[word]}:
            if len(words & sets[other]) >= NEAR * len(words | sets[other]):
                duplicate[n] = duplicate[other] = True
        for word in prefix:
            index[word].append(n)
    print(f"assistant turns with a near-duplicate among {len(sets):,}: {100 * mean(duplicate):.1f}%")
    print(f"different messages: {100 * len(set(texts)) / len(texts):.1f}% of the assistant's")


def _lengths(histories: dict[int, History]) -> None:
    counter = embedded_counter()
    sums: dict[str, list[int]] = defaultdict(list)
    for user in random.Random(0).sample(sorted(histories), min(60, len(histories))):
        by_kind: Counter[str] = Counter()
        for dialogue in histories[user]:
            by_kind[dialogue.kind] += sum(counter.count(m.text for m in dialogue.messages))
        for kind, n in by_kind.items():
            sums[kind].append(n)
        sums["whole history"].append(by_kind.total())
    for kind, counts in sums.items():
        print(f"tokens ({counter.name}), {kind}: {mean(counts):,.0f} ± {stdev(counts):,.0f}")


def _leaks(rows: Sequence[dict], asked: dict[tuple[int, int], Question]) -> None:
    """How often a classifier that sees options, or options and question, picks gold."""
    print("\ngold is chosen by a classifier that sees …")
    groups: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        q = asked[row["user_id"], row["question_id"]]
        name = q.type if q.type != "schedule" else "schedule, clash" if row["clash"] else "schedule, no clash"
        groups[name].append(row)
    both = groups.get("schedule, clash", []) + groups.get("schedule, no clash", [])
    if groups.get("schedule, no clash"):
        groups["schedule, clash or not"] = both
    for name, members in groups.items():
        for what, with_question in (("options", False), ("options and question", True)):
            hits, users = _pick(members, asked, with_question=with_question)
            low, high = _interval(hits, users)
            print(f"  {name}, {what}: {100 * mean(hits):.1f}% [{low:.1f}, {high:.1f}] of {len(hits):,}")


def _pick(
    rows: Sequence[dict], asked: dict[tuple[int, int], Question], *, with_question: bool
) -> tuple[list[bool], list[int]]:
    import numpy as np

    rng = random.Random(0)
    texts, extra, labels, owner, where = [], [], [], [], []
    for n, row in enumerate(rows):
        options = rng.sample(row["options"], len(row["options"]))
        sizes = [len(o["text"]) for o in options]
        question = asked[row["user_id"], row["question_id"]].question
        for option, size in zip(options, sizes, strict=True):
            texts.append((option["text"], question if with_question else ""))
            rank = sorted(sizes).index(size)
            extra.append([size / 100, size / mean(sizes), rank / 4, sum(a == size for a in sizes)])
            labels.append(option["kind"] == "gold")
            owner.append(n)
            where.append(row["user_id"] // 2)
    scores = _scores(texts, np.array(extra), np.array(labels), np.array(where))
    best: dict[int, tuple[float, bool]] = {}
    for n, score, label in zip(owner, scores, labels, strict=True):
        if n not in best or score > best[n][0]:
            best[n] = (score, label)
    return [best[n][1] for n in range(len(rows))], [row["user_id"] // 2 for row in rows]


def _scores(texts, extra, labels, groups):
    """Out-of-fold scores of a logistic regression on words, characters, crossed words of the question, and lengths."""
    import numpy as np
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold

    answers = [answer for answer, _ in texts]
    parts = [
        TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True).fit_transform(answers),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=5, max_features=30_000).fit_transform(answers),
        csr_matrix(extra),
    ]
    if any(question for _, question in texts):
        crossed = [" ".join(_crossed(answer, question)) for answer, question in texts]
        parts.append(HashingVectorizer(n_features=2**18, analyzer=str.split).transform(crossed))
    x = hstack(parts).tocsr()
    found = np.zeros(len(labels))
    for train, test in GroupKFold(FOLDS).split(x, labels, groups):
        model = LogisticRegression(max_iter=300, C=1.0, solver="liblinear").fit(x[train], labels[train])
        found[test] = model.decision_function(x[test])
    return found


def _crossed(answer: str, question: str) -> Iterator[str]:
    for a in set(stems(answer)):
        for q in set(stems(question)):
            yield f"{a}x{q}"


def _sides(asked: Iterable[Question]) -> None:
    """Whether the side of gold can be told from the question, its place, the subject or gold's length and opening."""
    import numpy as np

    persona = [q for q in asked if q.type == "persona" and q.persona]
    labels = np.array([q.persona.sentiment == "POS" for q in persona])
    groups = np.array([q.user_id // 2 for q in persona])
    users = [q.user_id // 2 for q in persona]
    seen = {
        "the question": [q.question for q in persona],
        "question and subject": [f"{q.question} {q.persona.entity}" for q in persona],
        "the first two words of gold": [" ".join(q.personalized_answer.split()[:2]) for q in persona],
    }
    print("\nthe side of gold is told by a classifier that sees … (chance 50)")
    for what, texts in seen.items():
        place = np.array([[q.question_id % 40 / 40] for q in persona])
        scores = _scores([(text, "") for text in texts], place, labels, groups)
        hits = [bool(h) for h in (scores > 0) == labels]
        low, high = _interval(hits, users)
        print(f"  {what} and its place: {100 * mean(hits):.1f}% [{low:.1f}, {high:.1f}]")
    words = np.array([[len(q.personalized_answer.split()), len(q.personalized_answer)] for q in persona])
    scores = _scores([("same words", "") for _ in persona], words, labels, groups)
    hits = [bool(h) for h in (scores > 0) == labels]
    print(f"  the length of gold: {100 * mean(hits):.1f}% [{', '.join(f'{e:.1f}' for e in _interval(hits, users))}]")


def _interval(hits: Sequence[bool], groups: Sequence[int]) -> tuple[float, float]:
    """A 95% interval in percent, clustered by group."""
    centre = mean(hits)
    sums: Counter[int] = Counter()
    for hit, group in zip(hits, groups, strict=True):
        sums[group] += hit - centre
    n = len(sums)
    error = math.sqrt(sum(s * s for s in sums.values()) * n / max(n - 1, 1)) / len(hits)
    return 100 * (centre - 1.96 * error), 100 * (centre + 1.96 * error)


if __name__ == "__main__":
    main()
