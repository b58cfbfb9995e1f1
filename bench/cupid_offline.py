"""What gives a preference away in sets of `synth cupid --offline`, without reading the feedback: trivial guesses.

    python bench/cupid_offline.py [PERSONAS]

Each guess is made from something other than the feedback of the right sessions. F1 is pooled over rules; "same" is the
share of instances in which the guess is the whole gold preference.
"""

from __future__ import annotations

import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from bowstring.benchmarks.cupid.offline import OfflineCupid
from bowstring.benchmarks.cupid.rules import met, rules
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance
from bowstring.history.bm25 import Bm25, stems
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate

Rules = tuple[str, ...]
Guess = Callable[[Instance], Rules]


def main(n: int) -> None:
    personas = [OfflineCupid(0).persona(number) for number in range(n)]
    known = {p.instances[0].persona_id: p.preferences for p in personas}
    instances = [i for p in personas for i in p.instances]

    def rules_of(instance: Instance, preference: str) -> Rules:
        return known[instance.persona_id][preference]

    def last(i: Instance) -> Rules:
        return rules_of(i, i.sessions[-1].preference)

    def frequent(i: Instance) -> Rules:
        said = [s.preference for s in reversed(i.sessions)]
        return rules_of(i, Counter(said).most_common(1)[0][0])

    def nearest(i: Instance) -> Rules:
        index = Bm25([stems(s.dialogue.messages[0].text) for s in i.sessions])
        return rules_of(i, i.sessions[index.order(stems(i.request))[0]].preference)

    def own_first(i: Instance) -> Rules:
        return rules_of(i, i.sessions[i.evidence[0]].preference)

    def own_last(i: Instance) -> Rules:
        return rules_of(i, i.sessions[i.evidence[-1]].preference)

    def any_session(i: Instance) -> Rules:
        return rules_of(i, random.Random(i.key).choice(i.sessions).preference)

    def style(i: Instance) -> Rules:
        """Rules that hold in the last two accepted drafts of the right context, and did not in a first draft."""
        own = [i.sessions[n] for n in i.evidence][-2:]
        drafts = [[m.text for m in s.dialogue.messages if m.role == "assistant"] for s in own]
        held = [set(met(of_one[-1], rules())) for of_one in drafts]
        lacked = [set(rules()) - set(met(of_one[0], rules())) for of_one in drafts]
        return tuple(sorted(held[0].intersection(*held) & set[str]().union(*lacked)))

    print(f"{n} personas, {len(instances)} instances\n")
    guesses: dict[str, Guess] = {
        "a random session": any_session,
        "the last session": last,
        "the most frequent preference (of several, the latest)": frequent,
        "the session with the nearest request (BM25)": nearest,
        "the first session in the same context (reads the context)": own_first,
        "the last session in the same context (reads the context)": own_last,
        "what holds in accepted drafts of that context, feedback unread": style,
    }
    for name, guess in guesses.items():
        cells = [f"{_f1(instances, rules_of, guess):5.1f}"]
        for kind in (None, *INSTANCE_TYPES):
            chosen = [i for i in instances if kind in (None, i.type)]
            cells.append(_share([(i.persona_id, set(guess(i)) == set(rules_of(i, i.preference))) for i in chosen]))
        print(f"{name:66} F1 {cells[0]}   same: all {cells[1]}  " + "  ".join(cells[2:]))
    print()
    _classify(instances, rules_of)


def _f1(instances: Sequence[Instance], rules_of: Callable[[Instance, str], Rules], guess: Guess) -> float:
    right = guessed = gold = 0
    for i in instances:
        said, wanted = set(guess(i)), set(rules_of(i, i.preference))
        right, guessed, gold = right + len(said & wanted), guessed + len(said), gold + len(wanted)
    return 100 * 2 * right / (guessed + gold)


def _classify(instances: Sequence[Instance], rules_of: Callable[[Instance, str], Rules]) -> None:
    """The side of each rule from the words of the request alone: naive Bayes, 5-fold by persona, chance 50%."""
    cases = [i for i in instances if i.type == "consistent"]
    found: list[tuple[str, bool]] = []
    for fold in range(5):
        train = [i for n, i in enumerate(cases) if n % 5 != fold]
        sides: dict[str, dict[bool, list[Counter[str]]]] = defaultdict(lambda: {True: [], False: []})
        for i in train:
            for rule in rules_of(i, i.preference):
                sides[rules()[rule].feature][rule == rules()[rule].feature].append(Counter(set(stems(i.request))))
        for i in (i for n, i in enumerate(cases) if n % 5 == fold):
            for rule in rules_of(i, i.preference):
                of_feature = sides[rules()[rule].feature]
                scores = {side: _log_score(own, set(stems(i.request))) for side, own in of_feature.items()}
                found.append((i.persona_id, (scores[True] > scores[False]) == (rule == rules()[rule].feature)))
    print(f"the side of a rule, from the request alone (naive Bayes): {_share(found)}%, chance 50%")


def _share(right: Sequence[tuple[str, bool]]) -> str:
    """A share in percent with its interval, clustered by persona."""
    found = estimate({"x": [Score(who, float(is_right)) for who, is_right in right]}, lambda m: m["x"], ends=(0, 1))
    assert found is not None
    return f"{100 * found.value:5.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _log_score(documents: Sequence[Counter[str]], words: set[str]) -> float:
    n = len(documents)
    held = Counter(word for one in documents for word in one)
    return math.log(n + 1) + sum(math.log((held[word] + 1) / (n + 2)) for word in sorted(words))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 252)
