"""What one clause says about a mention in it: a sign from the words that govern the mention, times each negation.

To the left of the mention, its governor is a verb ('avoid X'), a noun or adjective with a preposition ('fond of X'), a
preposition ('without X') or a comparison ('rather than X'). If there is none, the mention is a subject, and the rest
says something about it ('X bores you').
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from bowstring.benchmarks.hicupid.stance import words as w
from bowstring.benchmarks.hicupid.stance.clauses import (
    AUXILIARIES,
    MENTION,
    PLAIN,
    PRONOUN,
    RIVAL,
    SELF,
    YOU,
    Clause,
    Token,
)
from bowstring.benchmarks.hicupid.stance.names import AGAINST, FOR

_FAN, _HATER = w.group("fan"), w.group("hater")
_BE = w.group("be")
_PREPOSITIONS = w.group("prepositions")
_CHAIN = _PREPOSITIONS | w.group("articles") | AUXILIARIES | w.group("chain")
_OUT, _IN = w.group("put_out"), w.group("put_in")
_CHOICES = w.group("choices")
_TURNED_FROM = frozenset(
    ("others", "other people", "somebody else", "someone else", "everyone else", "everybody else", "anyone else")
)
_LESS = frozenset(("less", "fewer", "worse", "least"))
_LOOSE = (w.RECOMMEND, w.OPINE, w.NEGATION)  # governors that a predicate after the mention outweighs
# 'Skip A for X', 'swap A with X'
_REPLACED_BY = {w.AVOID: ("for", "to", "into"), w.SWAP: ("for", "to", "into", "with")}
_SOME = frozenset(("some", "many", "most", "certain", "few"))
_THEIRS = frozenset(("their", "his", "her", "he", "she", "him"))
_THINK = frozenset(
    ("think", "say", "believe", "suppose", "imagine", "guess", "feel", "sure", "convinced", "claim", "see")
)
_CHOSEN_OVER = frozenset(("rather than", "instead of", "in place of", "as opposed to", "sooner than", "over"))
_SKIPPED = 9  # words between a mention and its governor
_CHAINED = 3  # words between a governor and what governs it


@dataclass(frozen=True, slots=True)
class Sign:
    """`value` is 1 (for), -1 (against) or 0; `weight` is 3 for a clear governor, 1 for a negation alone, 0 for none."""

    value: int
    weight: int
    who: str = ""  # 'you', 'others', 'self' or '' for nobody
    advice: bool = False  # whether it says what to do
    governor: str = ""

    def times(self, sign: int) -> Sign:
        return replace(self, value=self.value * sign)


NEUTRAL = Sign(0, 0)


def sign_of(clause: Clause, at: int) -> Sign:
    """What a clause says about its token `at`, a mention or a pronoun that stands for one."""
    tokens = clause.tokens
    if tokens[at].text in (FOR, AGAINST):
        return Sign(1 if tokens[at].text == FOR else -1, 3, "you", governor="worded")
    if at + 1 < len(tokens) and tokens[at + 1].kind == YOU:  # 'X you hate', 'never met an X you did not like'
        said = _said_of(tokens, at)
        if said.weight >= 3:
            never = any(t.text in ("never", "hardly", "rarely") for t in tokens[:at])
            return replace(said, value=-said.value if never else said.value)
    top = _topped(clause, at)
    if top.weight:
        return top
    compound = _compound(tokens, at)
    found = _governed(clause, at, compound)
    if found.weight == 2 and found.governor in _LOOSE:
        said = _complement(tokens, at)
        if said.weight:
            return replace(said, who=found.who, value=said.value * found.value)
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if found.governor == w.EXCEPT and after in AUXILIARIES:
        said = _said_of(tokens, at)  # 'life without X would be dull'
        if said.weight:
            return said.times(-1)
    if found.governor == w.LIKE and after in _LESS:
        return found.times(-1)
    if after == "it" and [t.text for t in tokens[at + 2 : at + 3]] == ["is"]:
        return Sign(1, 2, governor="said")  # 'X it is'
    if found.governor == w.OPINE:
        found = replace(found, weight=1)
    if found.weight >= 2 or (found.weight and found.governor == w.NEGATION and not _predicate_follows(tokens, at)):
        return found
    said = _said_of(tokens, at)
    if _doubted(tokens, at):
        said = said.times(-1)
    if said.weight > found.weight:
        return replace(said, who=said.who or found.who)
    return found if found.weight else replace(said, who=said.who or found.who)


def _doubted(tokens: list[Token], at: int) -> bool:
    """Whether it is denied that what follows is so: 'I can't say that X suits you'."""
    return any(
        a.kind == w.NEGATION and any(t.text in _THINK for t in tokens[n + 1 : n + 3]) for n, a in enumerate(tokens[:at])
    )


def _topped(clause: Clause, at: int) -> Sign:
    """'Nothing beats X', 'nobody loves X as you do' and 'no city gives you more than X' put X on top."""
    tokens = clause.tokens
    start = 1 if tokens[0].text in ("and", "but", "because", "since", "as", "so", "after all") else 0
    first = tokens[start].text if start < at else ""
    if first not in ("nothing", "nobody", "no", "no one", "none", "few", "nowhere"):
        return NEUTRAL
    between = tokens[start + 1 :]
    if tokens[start + 1].text in ("about", "in", "of", "with") and start + 1 < at:
        return NEUTRAL  # 'nothing about X'
    said = " ".join(t.text for t in between)
    beaten = re.search(r"\b(beats?|tops?|trumps?|compares?|comes? close|rivals?|match(es)?|says|quite like)\b", said)
    compared = re.search(
        r"\b(more|better|happier|as|so|so much|half as|less|\w+er)\b.*\b(than|as)\b", said
    ) or re.search(r"\blike you|as you\b", said)
    if not beaten and not compared:
        return NEUTRAL
    against = any(t.kind in (w.DISLIKE, w.DISPLEASE, w.BAD, w.ENDURE) for t in between)
    return Sign(-1 if against else 1, 3, "you", governor="topped")


def _complement(tokens: list[Token], at: int) -> Sign:
    """What is said of a mention that is the object of a verb: 'find X dull', 'after X bored you'."""
    gap = 0
    negated = 1
    for token in tokens[at + 1 : at + 6]:
        if token.kind in (w.GOOD, w.PLEASE, w.LIKE):
            return Sign(negated, 3, governor="said")
        if token.kind in (w.BAD, w.DISPLEASE, w.ENDURE) and token.text not in ("out", "closed", "enough", "apart"):
            return Sign(-negated, 3, governor="said")
        if token.kind == w.NEGATION:
            negated = -negated
        elif token.text in _PREPOSITIONS or token.text == "to" or token.kind in (MENTION, RIVAL):
            return NEUTRAL
        elif token.text not in _CHAIN and token.text not in AUXILIARIES and not token.text.endswith("ly"):
            gap += 1
            if gap > 2:
                return NEUTRAL
    return NEUTRAL


def _compound(tokens: list[Token], at: int) -> int:
    """1 for 'X fan', -1 for 'X hater' and 'X-free', 0 otherwise."""
    after = tokens[at + 1].text.lstrip("-") if at + 1 < len(tokens) else ""
    return 1 if after in _FAN else -1 if after in _HATER else 0


def _predicate_follows(tokens: list[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].text in AUXILIARIES


def _governed(clause: Clause, at: int, compound: int) -> Sign:
    """The sign from the words before the mention, from right to left."""
    tokens = clause.tokens
    sign, weight, governor, who = compound or 1, 3 if compound else 0, "compound" if compound else "", ""
    gap, chained, object_between, preposition = 0, 0, False, ""
    n = at - 1
    while n >= 0:
        token = tokens[n]
        kind, text = token.kind, token.text
        if kind == w.ENDURE and text != "get through":
            return Sign(-1, 3, who or "you", governor=kind)
        if kind in (w.GOOD, w.BAD) and governor == w.OPINE and n and tokens[n - 1].text in ("as", "so", "how", "too"):
            return Sign(1 if kind == w.GOOD else -1, 3, who or "you", governor="said")
        if kind == w.NEGATION:
            if (
                text in ("nobody", "no one")
                and tokens[n + 1].text in ("with", "of", "like")
                and not any(t.text in AUXILIARIES for t in tokens[n + 1 : at])
            ):
                break  # 'nobody with your love of X'
            cancelled = governor == "" and _is_time(tokens, at)
            sign = sign if cancelled else -sign
            weight = max(weight, 0 if cancelled else 2 if n == at - 1 else 1)
            governor = governor or w.NEGATION
        elif kind == w.EQUAL:
            if any(t.kind == w.NEGATION for t in tokens[:n]):
                sign, weight, governor = -sign, 3, governor or kind
        elif (
            kind in (w.AVOID, w.RECOMMEND, w.PLACE)
            and not token.base
            and n
            and tokens[n - 1].text in _BE
            and not text.endswith("ing")
        ):
            gap += 1  # passive: 'is sold with X'
        elif kind == w.RECOMMEND and text == "used" and tokens[n + 1].text == "to":
            sign, weight = -sign, min(weight, 2)  # 'you used to love X'
        elif kind == w.EXCEPT and not (text == "against" and governor in (w.DISLIKE, w.AVOID)):
            sign, weight, governor = -sign, 3, governor or w.EXCEPT
        elif text == "than":
            sign, weight, governor = -sign, 3, governor or "than"
            object_between = True
        elif (
            text == "over"
            and any(t.kind in (w.RECOMMEND, w.LIKE) and t.text.split()[0] in _CHOICES for t in tokens[:n])
            and not governor
        ):
            sign, weight, governor = -sign, 3, "over"
        elif kind in (w.AVOID, w.SWAP) and governor in (
            "",
            w.NEGATION,
            w.RECOMMEND,
            w.LIKE,
            w.GOOD,
            w.EXCEPT,
            w.AVOID,
            w.DISLIKE,
            "compound",
            "than",
        ):
            if governor == "" and gap and preposition in _REPLACED_BY.get(kind, ()):
                weight, governor = 3, w.RECOMMEND  # 'skip A for X'
            elif governor == "than" and object_between:
                pass
            else:
                sign, weight, governor = -sign, 3, governor or kind
        elif kind == w.DISLIKE and (governor != "than"):
            sign, weight, governor = -sign, 3, governor or kind
        elif kind == w.LIKE:
            weight, governor = 3, governor or kind
        elif kind == w.DISPLEASE and tokens[n + 1].text in ("by", "with", "at", "of") and not governor:
            sign, weight, governor = -sign, 3, kind
        elif kind in (w.GOOD, w.BAD) and not governor and text != "out" and _linked(tokens, n, at):
            sign, weight, governor = (sign if kind == w.GOOD else -sign), 3, kind
        elif (
            kind == w.BAD
            and governor in ("than", w.RECOMMEND)
            and text.split()[0]
            in _LESS
            | {
                "tired",
                "sick",
                "afraid",
                "wary",
                "reluctant",
                "loath",
                "unwilling",
                "averse",
                "mistake",
                "wrong",
                "bad",
                "foolish",
                "pointless",
                "unwise",
            }
        ):
            sign = -sign
        elif kind == w.PLACE and not governor:
            placed = _placed(tokens, at, text.split()[0])
            if text.split()[0] in ("leave", "left", "leaves", "leaving") and any(
                t.text == "for" for t in tokens[at + 1 :]
            ):
                placed = -1
            sign, weight, governor = sign * (placed or 1), 3 if placed else 1, kind
        elif kind == w.RECOMMEND and not governor:
            weight, governor = max(weight, 2), w.RECOMMEND
        elif kind in (w.RECOMMEND, w.OPINE) and governor == w.NEGATION:
            weight = max(weight, 2)  # 'choose nothing like X'
        elif kind == w.OPINE and not governor:
            weight, governor = max(weight, 2), w.OPINE
        elif kind == w.SURELY:
            if not governor and not gap and n >= at - 2:
                weight, governor = max(weight, 2), w.SURELY
        elif kind == w.OTHERS:
            if any(t.kind == YOU for t in tokens[n + 1 : n + 3]) and tokens[n + 1].text in ("with", "like", "of"):
                who = who or "you"  # 'somebody with your taste'
                n -= 1
                continue
            who = "others" if n <= 1 else who or "others"  # the subject
            if any(t.text == "let" for t in tokens[max(n - 3, 0) : n]):
                return Sign(-1, 3, "others", advice=True, governor="let")
            if governor:
                break
        elif kind in (YOU, SELF):
            who = who or ("you" if kind == YOU else "self")
        elif kind == RIVAL:
            gap += 1
            if governor not in ("", "than"):
                break
        elif kind == MENTION:
            pass
        elif text in _CHAIN:
            if not governor and text in _PREPOSITIONS and not preposition:
                preposition = text
        elif kind == w.TRANSPARENT or text.endswith("ly"):
            pass
        else:
            gap += 1
            chained += bool(governor) and governor != "than"
            if gap > _SKIPPED or chained > _CHAINED:
                break
        n -= 1
    if governor == w.RECOMMEND and not who and sign > 0 and not clause.imperative() and clause.end != "?":
        weight = min(weight, 1)  # 'many towns have X'
    if not weight:
        return NEUTRAL if not who else Sign(0, 0, who)
    advice = (
        clause.imperative()
        or who == "self"
        or (who == "you" and clause.says("could", "should", "might", "can", "need"))
    )
    return Sign(sign, weight, who, advice, governor)


def _linked(tokens: list[Token], n: int, at: int) -> bool:
    """Whether only a preposition, articles and a few words stand between a noun or adjective and the mention."""
    between = tokens[n + 1 : at]
    if not between:
        return tokens[n].text.split()[-1] not in ("person", "people", "type", "right", "for you")
    first = between[0].text
    if first not in _PREPOSITIONS and first not in ("is", "are", "was", "to"):
        return tokens[n].text.split()[-1] in _PREPOSITIONS and len(between) <= 3
    if first == "to":
        return len(between) <= 7
    return len(between) <= 5


def _is_time(tokens: list[Token], at: int) -> bool:
    """Whether a negation is about time: 'you have not had X in a while'."""
    return any(t.text in ("while", "ages", "yet", "lately", "recently", "long") for t in tokens[at + 1 :])


def _placed(tokens: list[Token], at: int, verb: str) -> int:
    """The sign of what follows the object of 'keep', 'leave', 'put' and the like."""
    after = [t.text for t in tokens[at + 1 : at + 6]]
    if any(a.text in ("to", "for") and b.kind == w.OTHERS for a, b in pairwise(tokens[at + 1 : at + 6])):
        return -1
    if any(a == "to" and b in ("them", "her", "him", "those") for a, b in pairwise(after)):
        return -1
    if verb in ("give", "gives", "gave", "have"):
        after = [text for text in after if text not in _OUT]
    for n, text in enumerate(after):
        if text in _TURNED_FROM or any(
            text == k
            for k in (
                "rest",
                "berth",
                "miss",
                "pass",
                "drawer",
                "bottom",
                "last",
                "cupboard",
                "attic",
                "wardrobe",
                "rack",
            )
        ):
            return -1
        if (
            text in _OUT
            or text.startswith(("off ", "out ", "at a distance", "at arm"))
            or (n == 0 and text in ("from", "for"))
        ):
            return -1 if text != "for" else (-1 if any(t in _TURNED_FROM for t in after) else 1)
        if text in _IN or text in ("try", "go", "chance", "at the top", "top"):
            return 1
    return 0


def _said_of(tokens: list[Token], at: int) -> Sign:
    """The sign of what follows a mention that is a subject: 'X is not your thing'."""
    sign, negated, surely, who, gap = 1, False, False, "", 0
    weak = NEUTRAL
    if at + 1 < len(tokens) and tokens[at + 1].text in _CHOSEN_OVER:
        return Sign(1, 2, governor="said")
    if at == 1 and tokens[0].text in _SOME and not any(t.kind in (YOU, SELF) for t in tokens):
        return NEUTRAL  # 'some X are good'
    for n, token in enumerate(tokens[at + 1 :], at):
        kind, text, before = token.kind, token.text, tokens[n].text if n > at else ""
        if kind == w.NEGATION or kind == w.EXCEPT:
            sign, negated = -sign, True
        elif kind in (w.GOOD, w.LIKE, w.PLEASE):
            if text in ("into", "person", "man", "woman", "type"):
                continue
            if n + 2 < len(tokens) and tokens[n + 2].text in _THEIRS | {"up"}:
                who = who or ("others" if any(t.text in _THEIRS for t in tokens[n + 2 : n + 4]) else "")
            if n + 2 < len(tokens) and tokens[n + 2].kind == w.OTHERS:
                who = "others"  # 'X will please collectors'
            return Sign(sign, 3, who, governor="said")
        elif text == "out" and before not in _BE | {"not", ""}:
            gap += 1
        elif kind == w.SURELY:
            surely = True
        elif text in _THEIRS:
            who = who or "others"
        elif text == "too" and n + 2 < len(tokens) and tokens[n + 2].kind == PLAIN:
            return Sign(-sign, 2, who, governor="said")
        elif kind == w.ENDURE:
            return Sign(-1, 3, who, governor="said")
        elif kind in (w.BAD, w.DISLIKE, w.DISPLEASE, w.AVOID):
            return Sign(-sign, 3, who, governor="said")
        elif kind == w.RECOMMEND and not weak.weight:
            weak = Sign(sign, 1, who, governor="said")
        elif kind == w.OTHERS:
            who = who or "others"
        elif kind == YOU:
            who = "you"
        elif kind in (MENTION, RIVAL):
            break
        elif kind == PRONOUN or text in AUXILIARIES or text in _CHAIN:
            continue
        else:
            gap += 1
            if gap > 7:
                break
    if negated:
        return Sign(sign, 1, who, governor="said")
    if surely and not negated:
        return Sign(1, 2 if tokens[at].kind == MENTION else 1, who, governor="said")
    return replace(weak, who=who) if weak.weight else (Sign(0, 0, who) if who else NEUTRAL)


__all__ = ["NEUTRAL", "SELF", "Sign", "sign_of"]
