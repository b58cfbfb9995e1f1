"""Which rules a preference states, in whatever words: the mentions of each feature, and their polarity.

>>> read_rules("Use bullet points, keep it under 90 words, and never end with a question.")
('bullets', 'short', 'no-questions')
>>> read_rules("The user wants helpful answers.")
()

A text is cut into chunks at punctuation and conjunctions. Each chunk has a polarity: that of the negations in it, where
two cancel out ("don't leave out"), or else, if it is only a further object, that of the chunk before it ("avoid lists
and tables"). A mention of a feature in a positive chunk states one of its rules, in a negative chunk the other one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bowstring.benchmarks.cupid.rules import rules
from bowstring.benchmarks.cupid.rules.mentions import MENTIONS

_LONGEST = 2000  # characters that are read

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
# Contractions that are quoted as examples are not negations, nor are the limits of a number.
_SHORT_FORM = r"['\"(]?\b(?:it|don|isn|can|we|you|i|that|won|let|they|doesn)'(?:s|t|ll|re|ve|m|d)\b['\")]?"
_QUOTED = re.compile(
    rf"(?:\b(?:like|such as|e\.g\.,?|for example|as in|including)\s+){_SHORT_FORM}"
    rf"(?:\s*(?:,|and|or|/)\s*{_SHORT_FORM})*"
)
_LIMITS = re.compile(
    r"\b(?:no|not) (?:more|longer|fewer|less|later|shorter) than\b|"
    r"\b(?:may|must|should|do) not exceed\b"
    r"|\bmay exceed\b|\bnot (?:only|just)\b|\bno fewer\b|\bno less\b"
)
_COUNT = r"(\S+ words)"
_LIMIT_WORDS = {
    "more": "atmost",
    "longer": "atmost",
    "exceed": "atmost",
    "fewer": "atleast",
    "less": "atleast",
    "shorter": "atleast",
}
# Phrases whose negation or comma says nothing about the polarity of a chunk.
_FIXED = (
    (
        re.compile(r"\bno sentences? (?:\w+ ){0,3}?(?:longer than|more than|over|above|exceed\w*|of over) "),
        "sentences atmost ",
    ),
    (re.compile(r"\b(?:spell|write|expand)\w*(?: out)?(?: all)? contractions\b"), "no contractions"),
    (re.compile(r"\b(?:without|with no|no) (?:line |paragraph )?breaks\b"), "unbroken"),
    (re.compile(r"\b(long|lengthy|short|brief|simple|clear|crisp|punchy)(?:,| and) (?=\w+ sentences?\b)"), r"\1 "),
    (re.compile(r"\bcontractions (?=(?:spelled|spelt|written) out\b)"), "no contractions "),
    (re.compile(r"['\"](?:do not|it is|is not|cannot|we will|does not|that is)['\"]"), "fullforms"),
    (re.compile(r"\b(?:short|light|low) on\b"), "without"),
    (re.compile(rf"{_COUNT} (?:is|are|as|being) (?:the|an?) (?:\w+ )?(?:minimum|floor|least)\b"), r"atleast \1"),
    (
        re.compile(rf"{_COUNT} (?:is|are|as|being) (?:the|an?) (?:\w+ )?(?:maximum|ceiling|limit|cap|most)\b"),
        r"atmost \1",
    ),
    (re.compile(r"\breferences? to (?=the (?:author|writer|reader)|oneself|itself)"), "words about "),
    # "must not appear until the end" is a statement about the end.
    (re.compile(r"(?:\bnot|n't) ((?:\w+ ){1,4}?until\b)"), r" \1"),
    (
        re.compile(rf"\b(?:above|over|beyond|more than|longer than) {_COUNT}\b[^.;]*\btoo (?:long|much|many)\b"),
        r"atmost \1",
    ),
    (
        re.compile(rf"\b(?:below|under|fewer than|less than) {_COUNT}\b[^.;]*\btoo (?:short|little|few)\b"),
        r"atleast \1",
    ),
)
# "X should be replaced by Y", "replace X with Y": the first is not wanted, the second is.
_REPLACED = re.compile(
    r"\b(?:replaced? (?:by|with)|give way to|make way for)\b|\breplac(?:e|es|ing)\b(?=.*\b(?:with|by)\b)"
)
_REASON = re.compile(
    r"\b(?:because|since|so that|so people|so (?=(?:they|he|she|it|the reader|readers) (?:can|could|will|knows?|"
    r"see))|as they|"
    r"as it|so as (?:not )?to|in order (?:not )?to|to avoid (?:confusion|misunderstandings?))\b.*"
)
_SENTENCES = re.compile(
    r"[.;:!?\n]+(?:\s|$)|[()]|\s[-–—]\s|\bbut\b|\bhowever\b|\byet\b|\bexcept\b|\bwhile\b|\bwhereas\b|\balthough\b|"
    r"\bthat still\b"
)
_PIECES = re.compile(
    r"(?P<turn>,? (?:rather than|instead of|as opposed to|in place of|and not) )"
    r"|(?P<or>,? (?:or|nor) (?!more|fewer|less))|(?P<with>, with |,? with (?=no\b))|(?P<and>, (?:and|then) |,? and |, )"
)
# "Prefers A to B", but not "prefers the text to be A".
_NOT_COMPARED = (
    r"be|have|come|see|use|get|find|read|end|open|close|start|begin|finish|include|keep|avoid|stay|contain|ask"
)
_PREFERS = re.compile(rf"\b(?:prefer\w*|favou?r\w*)\b.*?\b(?:over|than|to(?! (?:{_NOT_COMPARED})\b))\b(?P<second>.*)")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|neither|without|avoid\w*|free of|free from|omit\w*|skip\w*|refrain\w*|"
    r"steer\w* clear|stay\w* away|dislike\w*|hate\w*|unwanted|unwelcome|out of place|off-putting|distracting|"
    r"unnecessary|missing|absent|annoy\w*|complain\w*|forget\w*|shy away|exclud\w*|ban\w*|forbid\w*|lack\w*|"
    r"leav\w+ (?:\w+ ){0,4}?out|left out|keep\w* (?:\w+ ){0,3}out|kept out|cut out|eliminat\w*|remov\w*|drop\w*|"
    r"minimi[sz]e\w*|against|unmentioned|unsaid|unstated|(?:put|turned) off by|put\w* (?:\w+ )?off|tired of|"
    r"allergic to|averse to|bother\w*|irritat\w*|"
    r"abandon\w*|ditch\w*|scrap\w*|shun\w*|forgo\w*|discard\w*|refus\w*|reject\w*|resent\w*|object\w* to|"
    r"(?:get|gets|getting) rid of|(?:do|does|doing) away with|cut down on|hold\w* back on|little patience|no patience|"
    r"cringe|wince|grating|pompous|arrogant|childish|tedious|pointless|useless|silly|superfluous|redundant|clutter\w*|"
    r"unhelpful|unpleasant|is lost|feels lost|incomplete|weaken\w*|spoil\w*|ruin\w*|interrupt\w*|confus\w*|"
    r"break\w* (?:the|on|off|apart)|fall\w* (?:apart|to pieces)|in the way|waste of|(?:be|being) cut|(?:has|have|"
    r"had|must) (?:to )?go$|"
    r"get lost|shouty|laugh\w* at|patronis\w*|patroniz\w*|condescending|off limits|taboo|not an option|"
    r"stop\w*|quit\w*|cease\w*|unnamed|to a minimum|leav\w+ (?:\w+ ){0,3}away|roll\w* (?:his|her|their) eyes|"
    r"too (?!few\b|little\b|short\b|long\b|many\b|much\b)\w+)\b|\b\w+n't\b|-free\b"
)
# What somebody finds of a thing is a negation unless a good word is in it: "finds bold words aggressive".
_OPINION = re.compile(
    r"\b(?:finds?|considers?|regards?|deems?|thinks?(?! in\b)|feels?|believes?|calls?|perceives?|looks?|seems?|"
    r"sounds?|appears?|"
    r"com(?:e|es|ing) across|str(?:ike|ikes|uck))\b"
)
_GOOD = re.compile(
    r"\b(?:help\w*|useful\w*|clear\w*|eas(?:y|ier|iest|ily)|important|essential|necess\w+|need\w*|nice\w*|good|"
    r"best|better|"
    r"great|valuable|value\w*|convenient|convincing|persuasive|friendl\w+|polite\w*|warm\w*|appropriate|fitting|"
    r"fits?|right|"
    r"effective|readable|accessible|engaging|reassuring|crucial|vital|indispensable|welcom\w+|attractive|pleas\w+|"
    r"appealing|"
    r"handy|practical|refreshing|trustworth\w+|credib\w+|professional|natural|lively|motivating|inviting|prefer\w+|"
    r"desirable|acceptable|okay|fine|perfect|ideal|suit\w*|sensible|elegant|charming|worth\w*|satisf\w+|comfort\w*|"
    r"should|must|ought|wants?|likes?|belongs?|works?|missing|more|like|impress\w+|calm\w*|memorable|vivid)\b"
)
# A further clause takes back what the one before it mentions: "thinks headings chop it up and wants them removed".
_TAKEN_BACK = re.compile(
    r"\b(?:them|they|it|these|those)\b.*\b(?:out|cut|go$|remov\w*|gone|dropped|deleted|avoided|left out|kept out|"
    r"cut out|banned|omitted)\b"
    r"|\b(?:should|must|can|may) be none\b"
    r"|\b(?:without|avoid\w*|omit\w*|drop\w*|remov\w*|skip\w*|delet\w*|none of|rid of) (?:them|it|these|those)\b"
)
_ANY_VERB = re.compile(
    r"\b(?:is|are|be|must|should|belongs?|comes?|goes|go|wants?|likes?|loves?|enjoys?|prefers?|needs?|expects?|asks?|"
    r"uses?|has|have|gives?|write|puts?|say|shows?|adds?|includes?|ends?|begins?|starts?|opens?|closes?|lists?|"
    r"states?|keeps?|"
    r"makes?|stays?|contains?|wish(?:es)?|values?|appreciates?)\b"
)
_BOTH_NEGATED = re.compile(
    r"\b(?:should|must|may|need|can|are|is)\b.*\b(?:avoided|left out|omitted|dropped|removed|unwanted|unwelcome|"
    r"skipped|"
    r"excluded|banned|forbidden|kept out|not|never)\b"
)
_BARE = 9  # words of a chunk that is only an object: "deadlines" in "deadlines and risks should be left out"
_ARTICLE = re.compile(r"\W*(?:at least|an?|one|two|three|some|several|plenty of)\b")
_MERE_NO = re.compile(r"\b(?:no|without|free of)\b")
_VERB = re.compile(
    r"^\W*(?:(?:to|it|they|then|that|which|also|always|only|the (?:user|text|reader|response|answer)s?|responses?|"
    r"answers?|texts?|drafts?) )*(?:must|should|shall|has to|have to|needs?|wants?|likes?|expects?|is|are|be|use|uses|"
    r"include\w*|give|gives|write|put|puts|place|places|start\w*|open\w*|begin\w*|end|ends|close\w*|finish\w*|keep|"
    r"keeps|stay|stays|have|has|contain\w*|state|states|name|names|cite|cites|say|says|mention\w*|add|adds|show|"
    r"shows|set|sets|ask|asks|address\w*|speak\w*|talk\w*|run|runs|refer\w*|point|points|warn|warns|divide\w*|"
    r"structure\w*|highlight\w*|list|number|tell|draw|explain\w*|measure|express\w*|mark|flag|hedge|greet|break|"
    r"consist\w*|fit|split|save|lead\w*|illustrate\w*|back|build\w*|provide\w*|present\w*|conclude\w*|wrap|feature\w*|"
    r"invite\w*|citing|using|including|giving|naming|ending|opening|starting|keeping|stating|adding|mentioning|"
    r"addressing|asking|writing|employ\w*|make|specif\w+|follow\w*|prefers?|go|do|let)\b"
)


@dataclass(frozen=True, slots=True)
class _Chunk:
    text: str
    negative: bool


# A rule that says more makes those superfluous that follow from it.
_IMPLIES = {"prose": ("no-bullets", "no-table")}


@lru_cache(maxsize=4096)
def read_rules(text: str) -> tuple[str, ...]:
    """The rules that a text states, in the order of the table; none if it states none that is known."""
    found: set[str] = set()
    chunks = _chunks(text[:_LONGEST])
    for chunk, following in zip(chunks, [*chunks[1:], _Chunk("", False)], strict=True):
        negative = chunk.negative or _TAKEN_BACK.search(following.text) is not None
        for one in MENTIONS:
            if one.is_in(chunk.text):
                rule = one.negative if negative else one.positive
                found |= {rule} if rule else set()
    for rule, implied in _IMPLIES.items():
        if rule in found:
            found -= set(implied)
    return tuple(rule for rule in rules() if rule in found)


def _chunks(text: str) -> list[_Chunk]:
    plain = " ".join(text.lower().translate(_QUOTES).split(" "))
    plain = _QUOTED.sub("", plain)
    for pattern, put in _FIXED:
        plain = pattern.sub(put, plain)
    plain = _LIMITS.sub(lambda found: next((w for k, w in _LIMIT_WORDS.items() if k in found[0]), ""), plain)
    found: list[_Chunk] = []
    for sentence in _SENTENCES.split(plain):
        negative = False
        preferred, replaced = _PREFERS.search(sentence), _REPLACED.search(sentence)
        parts = [(sentence, False)]
        if preferred:
            parts = [(sentence[: preferred.start("second")], False), (preferred["second"], True)]
        elif replaced:
            parts = _replaced(sentence, replaced)
        for part, turned in parts:
            negative, before = turned, ""
            pieces = _pieces(_REASON.sub("", part))
            for n, (joint, piece) in enumerate(pieces):
                negations = _negations(piece)
                if joint == "turn":
                    negative = negations % 2 == 0
                elif negations:
                    negative = (negations % 2 == 1) != turned
                elif not turned and (joint == "with" or (joint != "or" and _begins_anew(piece, before))):
                    negative = False
                before = piece
                found.append(_Chunk(piece, negative or (n == 0 and _shares_negation(pieces))))
    return found


def _negations(piece: str) -> int:
    found = len(_NEGATION.findall(piece))
    opinion = _OPINION.search(piece)
    # With one of the negations in the opinion itself ("finds it too dry"), it is counted already.
    disliked = opinion and not _GOOD.search(piece) and not _NEGATION.search(piece, opinion.end())
    return found + bool(disliked)


def _replaced(sentence: str, verb: re.Match[str]) -> list[tuple[str, bool]]:
    """What is replaced, and by what, as the parts of a sentence with whether each is unwanted."""
    first, second = sentence[: verb.start()], sentence[verb.end() :]
    if verb[0].startswith(("replace ", "replaces", "replacing")) and not verb[0].endswith(("by", "with")):
        first, second = re.split(r"\b(?:with|by)\b", second, maxsplit=1)
    return [(first, True), (second, False)]


def _shares_negation(pieces: Sequence[tuple[str, str]]) -> bool:
    """Whether the first of two objects shares the negation of the second: "deadlines and risks should be left out"."""
    if len(pieces) < 2 or pieces[1][0] not in ("and", "or") or len(pieces[0][1].split()) > _BARE:
        return False
    (_, first), (_, second) = pieces[:2]
    return not _ANY_VERB.search(first) and not _NEGATION.search(first) and _BOTH_NEGATED.search(second) is not None


def _begins_anew(piece: str, before: str) -> bool:
    """Whether a piece has a verb of its own, or an article after a mere 'no …': then the negation before it ended."""
    return bool(_VERB.search(piece) or (_ARTICLE.match(piece) and _MERE_NO.search(before)))


def _pieces(sentence: str) -> list[tuple[str, str]]:
    """The pieces of a sentence, each with how it is joined to the one before."""
    found: list[tuple[str, str]] = []
    start, joint = 0, ""
    for match in _PIECES.finditer(sentence):
        found.append((joint, sentence[start : match.start()]))
        start, joint = match.end(), match.lastgroup or ""
    return [*found, (joint, sentence[start:])]
