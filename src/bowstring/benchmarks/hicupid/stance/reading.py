"""The stance of a whole answer: what its clauses say about the subject, put together.

for       the answer recommends the subject or builds on it
against   it steers away from the subject, or says that the user does
open      it brings the subject up and takes no side, or takes both
none      it does not bring the subject up
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bowstring.benchmarks.hicupid.stance import words as w
from bowstring.benchmarks.hicupid.stance.clauses import MENTION, PRONOUN, RIVAL, SELF, YOU, Clause, Token, clauses_of
from bowstring.benchmarks.hicupid.stance.names import Field, marked
from bowstring.benchmarks.hicupid.stance.signs import NEUTRAL, Sign, sign_of
from bowstring.benchmarks.hicupid.stance.worded import Wordings

Stance = Literal["for", "against", "open", "none"]

_NEGATIVE = (w.NEGATION, w.EXCEPT, w.AVOID, w.DISLIKE, w.DISPLEASE, w.BAD, w.SWAP)
_TURNS = frozenset(["but", "however", "yet", "nevertheless", "still"])
_CONCEDES = frozenset(["although", "though", "while", "whereas"])
_ASIDE = ("that said", "even so", "having said", "all the same", "in spite", "despite")
_OPENS = frozenset((",", ":", "?", "—", "–", "--", "-", "("))  # after it, something is said about a bare mention
_SUGGESTS = ("perhaps", "maybe", "why not", "how about", "what about")
_OVER = ("no longer", "any more", "anymore", "chapter", "closed that door", "those days", "moved on", "behind you")
_REASONS = frozenset(("given", "considering", "knowing", "seeing", "remembering"))
_NEAR = 2  # clauses after a mention in which a pronoun stands for it
_LIST = 3  # things named alike


@dataclass(frozen=True, slots=True)
class Evidence:
    sign: Sign
    clause: int
    named: bool  # whether the clause names the subject; otherwise a pronoun stands for it


def stance_of(answer: str, field: Field, subject: str, wordings: Wordings | None = None) -> Stance:
    """The stance of an answer; `wordings` are those of the generator that made the question."""
    if wordings is not None:
        side = wordings.side(answer, subject)
        if side is not None:
            return "for" if side == "POS" else "against"
        plan = wordings.plan(answer, subject)
        if plan is not None and not any(clause.has(*_NEGATIVE) for clause in clauses_of(plan[1])):
            return "for" if plan[0] == "POS" else "against"
        answer = wordings.marked(answer, subject)
    clauses = clauses_of(marked(answer, field, subject))
    if not any(clause.mentions() for clause in clauses):
        return "none"
    return _decided(clauses, evidence_in(clauses))


def evidence_in(clauses: list[Clause]) -> list[Evidence]:
    found: list[Evidence] = []
    plural, last = False, -9  # of the latest mention
    for n, clause in enumerate(clauses):
        at = clause.mentions()
        for place in at:
            found.append(Evidence(_in_context(clauses, n, place), n, True))
            plural, last = clause.tokens[place].plural, n
        if last < 0:
            continue
        if not at and n == last + 1 and found and (answered := _answered(clause, found[-1])):
            found.append(Evidence(answered, n, False))
            continue
        if not at and n == last + 1 and _is_predicate(clause):
            found.append(Evidence(_said_in(clause), n, False))
            continue
        if not at and clause.has(RIVAL):
            last = -9
            continue
        for place, token in enumerate(clause.tokens):
            if token.kind == w.AVOID and {"it", "them", "that"} & set(token.text.split()) and not at:
                negated = any(t.kind == w.NEGATION for t in clause.tokens[:place])
                found.append(Evidence(Sign(1 if negated else -1, 3, "self", True, token.kind), n, False))
            if token.kind == PRONOUN and n - last <= _NEAR and (not at or place > at[-1]):
                if token.plural != plural and token.text not in ("that", "one", "there", "they", "them", "it"):
                    continue
                sign = sign_of(clause, place)
                if _of_others(clauses, n):
                    sign = replace(sign, who="others")
                if sign.weight >= 2:
                    found.append(Evidence(sign, n, False))
    return found


def _answered(clause: Clause, before: Evidence) -> Sign | None:
    """What 'but you do' and 'but you don't' say after 'I like X'."""
    rest = {t.text for t in clause.tokens} - {"but", "and", "you", "certainly", "surely", "do", "are", "not", "would"}
    if rest or not clause.has(YOU) or not clause.says("do", "are", "would") or before.sign.who == "you":
        return None
    return Sign(-1 if clause.has(w.NEGATION) else 1, 3, "you", governor="said")


def _is_predicate(clause: Clause) -> bool:
    """Whether a clause without a subject says something about what came before: 'Perfect for you.'"""
    if (
        clause.lead in _CONCEDES | {"but"}
        and 1 < len(clause.tokens) <= 6
        and not clause.has(RIVAL, PRONOUN, w.RECOMMEND)
        and clause.tokens[1].kind in (w.NEGATION, w.GOOD, w.BAD)
        and clause.has(YOU, w.GOOD)
    ):
        clause.lead = "but"  # 'X is great, though not your thing'
        return True
    first = clause.tokens[0]
    return clause.fronted and first.kind in (w.GOOD, w.BAD) and len(clause.tokens) <= 6 and not clause.has(RIVAL)


def _of_others(clauses: list[Clause], n: int) -> bool:
    """Whether a clause is about other people: 'to those who enjoy it'."""
    first = clauses[n].tokens[0].text
    return bool(n) and first in ("who", "whose") and clauses[n - 1].tokens[-1].kind == w.OTHERS


def _in_context(clauses: list[Clause], n: int, place: int) -> Sign:
    """What a clause says about a mention in it, with what the next or the clause before adds if it says nothing."""
    clause = clauses[n]
    sign = sign_of(clause, place)
    after = clauses[n + 1] if n + 1 < len(clauses) else None
    if after is not None and _relative(clause, place, after):
        said = _said_in(after)
        if said.weight >= 3 and (said.value < 0 or sign.value >= 0):
            return said
    if (
        " ".join(t.text for t in clause.tokens[:2]).startswith(_SUGGESTS)
        and sign.weight < 3
        and not clause.has(*_NEGATIVE)
    ):
        return Sign(1, 2, "self", advice=True, governor="suggested")
    if (
        clause.tokens[0].text in _REASONS
        and sign.governor in (w.RECOMMEND, w.PLACE, w.OPINE, "said")
        and sign.weight < 3
    ):
        return replace(sign, value=0, weight=0)  # 'given what you say of X'
    if sign.weight >= 2:
        return _asked(clause, sign)
    if (
        after is not None
        and after.tokens[0].text in ("which", "that", "who", "where", "whose")
        and place >= len(clause.tokens) - 3
    ):
        said = _said_in(after)
        if said.weight:
            return said
    if not sign.weight and after is not None and after.tokens[0].text == "which":
        said = _said_in(after)
        if said.weight:
            return said
    bare = sum(t.kind == " " for t in clause.tokens) <= 2 and not clause.has(YOU, SELF)
    if bare and not sign.weight and after is not None and not after.has(MENTION, RIVAL) and clause.end in _OPENS:
        said = _said_in(after)
        if said.weight and not after.has(PRONOUN):
            return said
    if bare and not sign.weight and n:
        before = clauses[n - 1]
        if before.sentence == clause.sentence and before.end in (",", ":", "", "—", "-"):
            said = _inherited(before)
            if said.weight:
                return said
            if before.end == ":" and not before.has(*_NEGATIVE):
                return Sign(1, 2, "self", advice=True, governor="suggested")  # 'so: X'
    return _asked(clause, sign)


def _relative(clause: Clause, place: int, after: Clause) -> bool:
    """Whether the next clause is about the user and the mention that ends this one: 'X, which you hate'."""
    texts = [t.text for t in after.tokens[:2]]
    kind = after.tokens[1].kind if len(after.tokens) > 1 else ""
    return texts[0] in ("which", "that") and kind == YOU and place == len(clause.tokens) - 1


def _said_in(clause: Clause) -> Sign:
    """What a clause without a mention says about the thing that it is about."""
    probe = Clause([Token("", MENTION), *clause.tokens], clause.lead, clause.sentence)
    return sign_of(probe, 0)


def _inherited(before: Clause) -> Sign:
    """A list or an apposition goes on with the governor of the clause before."""
    if before.tokens and before.tokens[0].kind == w.EXCEPT and before.end == ",":
        return NEUTRAL
    probe = Clause([*before.tokens, Token("", MENTION)], before.lead, before.sentence)
    return sign_of(probe, len(before.tokens))


def _asked(clause: Clause, sign: Sign) -> Sign:
    """'Why bother with X?' and 'who needs X?' are against it, 'when has X ever let you down?' is for it."""
    if clause.end == "?" and clause.says("ever") and clause.tokens[0].text in ("when", "who", "where", "what"):
        return sign.times(-1)
    if (
        clause.end == "?"
        and clause.tokens[0].text in ("why", "who")
        and sign.value > 0
        and not clause.says("why not", "else")
    ):
        first = clause.tokens[0].text
        if first == "who" or clause.says("would", "bother", "should", "risk"):
            return sign.times(-1)
    return sign


def _decided(clauses: list[Clause], evidence: list[Evidence]) -> Stance:
    score, strong = 0.0, False
    signs: list[tuple[float, Evidence]] = []
    for one in evidence:
        clause, sign = clauses[one.clause], one.sign
        value = float(sign.value * sign.weight)
        if clause.lead in ("if", "whether"):
            value = _supposed(clauses, one)
        elif sign.who == "others" and not sign.advice:
            value *= -0.3
            if not sign.weight:
                value = -0.6
        elif sign.who == "self" and sign.governor in (w.LIKE, w.DISLIKE) and not clause.says("would"):
            value *= 0.3  # what the writer likes
        elif not one.named:
            value *= 0.8
        if clause.lead in _CONCEDES:
            value *= 0.25 if value > 0 else 0.4
        signs.append((value, one))
        strong = strong or abs(value) >= 2
    turn = _turn(clauses, evidence)
    score += _ended(clauses, evidence)
    if turn < 0:
        score += _turned_away(clauses, evidence)
    for value, one in signs:
        score += value * (0.3 if one.clause < turn else 1.0)
    if turn < 0 and _contradictory(signs):
        return "open"
    if score <= -0.5:
        return "against"
    if score >= 1.5:
        return "for"
    if score < 0 or any(value <= -2 for value, _ in signs):
        return "open"
    return "for" if _addressed(clauses, evidence) and not _listed(clauses, evidence) else "open"


def _turn(clauses: list[Clause], evidence: list[Evidence]) -> int:
    """The clause of the last contrast that has evidence on both of its sides, or -1."""
    at = [e.clause for e in evidence if e.sign.weight]
    found = -1
    for n, clause in enumerate(clauses):
        text = " ".join(t.text for t in clause.tokens[:4])
        if (clause.lead in _TURNS or clause.tokens[0].text in _TURNS or text.startswith(_ASIDE)) and any(
            e >= n for e in at
        ):
            found = n
    return found


def _contradictory(signs: list[tuple[float, Evidence]]) -> bool:
    """Whether an answer says of the user both that they like the subject and that they do not, and names it twice."""
    sides = {value > 0 for value, one in signs if one.named and abs(value) >= 2 and one.sign.who != "others"}
    return len(sides) == 2


def _supposed(clauses: list[Clause], one: Evidence) -> float:
    """The value of a condition, by what the main clause says of it: 'you'd never forgive me if I suggested X'."""
    own = clauses[one.clause]
    for n in (one.clause - 1, one.clause + 1):
        if 0 <= n < len(clauses) and clauses[n].sentence == own.sentence and not clauses[n].has(MENTION, RIVAL):
            said = _said_in(clauses[n])
            if said.weight >= 3:
                return float((one.sign.value or 1) * said.value * 2)
    return one.sign.value * one.sign.weight * 0.1


def _ended(clauses: list[Clause], evidence: list[Evidence]) -> float:
    """Less than 0 if the answer says that what the user had with the subject is over."""
    for one in evidence:
        if one.named and one.sign.value >= 0:
            for clause in clauses[one.clause : one.clause + 3]:
                text = " ".join(t.text for t in clause.tokens)
                if any(over in text for over in _OVER) and clause.has(YOU, PRONOUN, w.BAD):
                    return -6.0
    return 0.0


def _turned_away(clauses: list[Clause], evidence: list[Evidence]) -> float:
    """Less than 0 if the answer turns to something else that the user likes: 'X is tempting, but you love Y'."""
    last = max((e.clause for e in evidence), default=-1)
    if last < 0 or last + 1 >= len(clauses):
        return 0.0
    after = clauses[last + 1]
    if after.lead != "but" or not after.has(YOU) or after.has(MENTION, PRONOUN):
        return 0.0
    prefers = after.has(w.LIKE, w.PLEASE, w.GOOD) or after.says("more", "better", "rather", "happier")
    return -4.0 if prefers and not after.has(w.NEGATION) else 0.0


def _addressed(clauses: list[Clause], evidence: list[Evidence]) -> bool:
    """Whether the answer speaks to the user where it brings the subject up."""
    places = {e.clause for e in evidence if e.named}
    near = {m for n in places for m in (n - 1, n, n + 1, n + 2) if 0 <= m < len(clauses)}
    if any(clauses[n].lead in ("if", "whether") for n in places):
        return False
    return any(clauses[n].has(YOU, SELF) or clauses[n].imperative() for n in near)


def _listed(clauses: list[Clause], evidence: list[Evidence]) -> bool:
    """Whether the subject is one of several things in a row."""
    for one in evidence:
        if one.named and one.sign.weight < 3:
            row = [c for c in clauses if c.sentence == clauses[one.clause].sentence]
            short = [c for c in row if len(c.tokens) <= 4]
            if len(short) >= _LIST - 1 and len(row) >= _LIST and any(c.says("and", "or") for c in row[-2:]):
                return True
    return False
