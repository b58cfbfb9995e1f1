"""How much faster is keyword search with one index per user?

    python bench/retrieval.py

The reference does what upstream does: for every question, it builds both BM25 indexes (utterances and dialogues) again
with rank_bm25 and searches them once. Bowstring builds them once per user. Histories are full-size (265 turns, 40
dialogues), with 40 questions per user; both split tokens at spaces, and the scores are compared. Two more rows include
assembling the text that a model is shown, and that with Bowstring's default tokens.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from rank_bm25 import BM25Okapi

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from bowstring.benchmarks.loading import load_hicupid  # noqa: E402
from bowstring.history import Reader, parse_view  # noqa: E402
from bowstring.history.bm25 import Bm25  # noqa: E402
from bowstring.history.units import text_of, units_of  # noqa: E402
from overhead import data  # noqa: E402

UNITS = {"utterance": 25, "dialogue": 5}


def reference(history, queries):
    for query in queries:
        for unit, k in UNITS.items():
            texts = [text_of(history, u) for u in units_of(history, unit)]
            index = BM25Okapi([text.split(" ") for text in texts])
            np.argsort(index.get_scores(query.split(" ")))[::-1][:k]


def ours(history, queries, tokens="whitespace", *, show=False):
    reader = Reader(history, lambda texts: [0] * len(texts), tokens=tokens)
    views = [parse_view(f"bm25/{unit}/{k}", kinds=("bm25",), units=tuple(UNITS)) for unit, k in UNITS.items()]
    for query in queries:
        for view in views:
            reader.show(view, evidence=(), query=query) if show else reader.order(view, query)


def largest_difference(history, queries):
    worst = 0.0
    for unit in UNITS:
        documents = [text_of(history, u).split() for u in units_of(history, unit)]
        theirs, mine = BM25Okapi(documents), Bm25(documents)
        for query in queries:
            worst = max(worst, np.abs(theirs.get_scores(query.split()) - mine.scores(query.split())).max())
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=10)
    users = parser.parse_args().users
    loaded = load_hicupid(str(data(500)))
    ways = {
        "rank_bm25, built for every question": reference,
        "bowstring": ours,
        "bowstring, including the shown text": partial(ours, show=True),
        "the same, our default tokens": partial(ours, tokens="stems", show=True),
    }
    seconds = dict.fromkeys(ways, 0.0)
    questions, worst = 0, 0.0
    for user in loaded.user_ids[:users]:
        history = loaded.history(user)
        queries = [q.question for q in loaded.questions() if q.user_id == user]
        for name, way in ways.items():
            start = time.perf_counter()
            way(history, queries)
            seconds[name] += time.perf_counter() - start
        worst = max(worst, largest_difference(history, queries[:5]))
        questions += len(queries)
    print(f"{questions} questions of {users} users, both units; largest difference of scores {worst:.1e}")
    slowest = next(iter(seconds.values()))
    for name, spent in seconds.items():
        print(f"  {name:40} {1000 * spent / questions:8.3f} ms per question   {slowest / spent:7.1f} x")


if __name__ == "__main__":
    main()
