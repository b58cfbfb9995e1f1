"""The check of every rule: whether a text meets it. Pure functions, one per rule.

A check decides by marks and words, as its rule's statement says; it does not judge how good a text is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bowstring.benchmarks.cupid.rules.parts import Parts

SHORT, LONG = 90, 160  # words of a text
BREATH, WINDING = 15, 25  # words of a sentence
_FEWEST = 3  # points of a list; figures
_CONCLUSION = re.compile(
    r"\b(?:in short|in brief|in sum|to sum up|in summary|in conclusion|to conclude|the conclusion|bottom line|"
    r"the upshot|the result is|the outcome is|the answer is|the decision is|the recommendation|all in all|overall|"
    r"it comes down to|it all comes to|recommend\w*|the best course|therefore|in the end)\b"
)
_SOURCE = re.compile(
    r"\b(?:according to|as (?:reported|published|stated|shown|recorded) (?:in|by)|cited (?:in|from)|"
    r"reports? (?:by|from) (?:the|an?)\b|(?:study|survey|figures|data|paper|statistics) (?:by|from) (?:the|an?)|"
    r"(?:survey|study|report|register|handbook|guidelines?) (?:says|shows|found|finds|states|notes|puts|records))\b"
    r"|\bsources?:|\([A-Z][^()]{1,60},? (?:19|20)\d\d\)|https?://|\bet al\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|to give an example|an example|one example|to illustrate|case in point|"
    r"to take one case|take the case|such as)\b|\be\.g\."
)
_RISK = re.compile(
    r"\b(?:risk\w*|danger\w*|hazard\w*|threat\w*|could go wrong|go wrong|downside\w*|pitfall\w*|warning\w*|"
    r"be careful|beware|in the worst case|worst[- ]case)\b"
)
_DAY = (
    r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight|noon|next \w+|the end of \w+|"
    r"(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)?(?: january| february| march| april| may| june| july| august| september"
    r"| october| november| december)?|(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)(?: \d{1,2})?)"
)
_DEADLINE = re.compile(
    rf"\b(?:deadline\w*|due (?:on|by|date)|no later than|at the latest|by {_DAY}|before {_DAY}|until {_DAY}"
    r"|within (?:the next )?(?:\w+ )?(?:days?|weeks?|months?|hours?))\b"
)
_FIGURE = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*")
_COMPARISON = re.compile(
    r"\b(?:(?:is|are|was|were|feels?|works?) (?:much |a bit |rather |a little |just )?like|like an?|as if|as though|"
    r"think of (?:it|this|that|them) as|just as an?|picture an?|imagine an?|the way an?|akin to|similar to an?|"
    r"compare (?:it|this) (?:to|with))\b"
)
_FIRST = re.compile(r"\b(?:i|we|me|us|my|our|mine|ours|myself|ourselves|i'(?:m|ve|d|ll)|we'(?:re|ve|d|ll))\b")
_SECOND = re.compile(r"\b(?:you|your|yours|yourself|yourselves|you'(?:re|ve|d|ll))\b")
_CONTRACTION = re.compile(
    r"\b\w+n't\b|\b(?:i'm|\w+'(?:re|ve|ll)|(?:i|you|he|she|it|we|they)'d|"
    r"(?:it|that|there|here|what|who|he|she|let|where|how)'s)\b"
)
_JARGON = re.compile(
    r"\b(?:synerg\w+|leverag\w+|stakeholders?|deliverables?|kpis?|bandwidth|low-hanging fruit|touch base|circle back|"
    r"deep dive|paradigm\w*|best[- ]in[- ]class|value[- ]add\w*|going forward|action items?|actionable|alignment|"
    r"core competenc\w+|game[- ]chang\w+|holistic\w*|streamlin\w+|mission[- ]critical|onboarding|pain points?|"
    r"scalab\w+|move the needle|win-win|buy-in|roadmap|ecosystem|incentiviz\w+|operationaliz\w+|key takeaways?|"
    r"blue-sky|quick wins?)\b"
)
_HEDGE = re.compile(
    r"\b(?:perhaps|probably|maybe|possibly|presumably|apparently|might|seems?|seemingly|arguably|likely|"
    r"in all likelihood|as far as (?:is|we|i) know\w*|conceivably|supposedly)\b"
)
_METRIC = re.compile(
    r"\b(?:(?:kilo|centi|milli)?met(?:re|er)s?|kilograms?|kilos?|"
    r"grams?|lit(?:re|er)s?|hectares?|celsius)\b|\b\d+(?:\.\d+)? ?(?:km|cm|mm|m|kg|g|l|ha|°c)\b"
)
_IMPERIAL = re.compile(
    r"\b(?:miles?|feet|foot|inch|inches|yards|acres?|gallons?|pints?|ounces?|fahrenheit|lbs?|"
    r"pounds? of|in pounds|weigh\w* [^.;:]{1,50} pounds?)\b|\b\d+(?:\.\d+)? ?(?:ft|lb|oz|yd|mi|°f)\b"
)


def words_of(sentence: str) -> int:
    return len(sentence.split())


def _concluding(sentences: tuple[str, ...]) -> bool:
    return any(_CONCLUSION.search(one.lower()) for one in sentences)


def _found(pattern: re.Pattern[str]) -> Callable[[Parts], bool]:
    return lambda parts: pattern.search(parts.plain) is not None


def _missing(pattern: re.Pattern[str]) -> Callable[[Parts], bool]:
    return lambda parts: pattern.search(parts.plain) is None


def _figures(parts: Parts) -> int:
    return len(_FIGURE.findall(parts.plain)) + (len(re.findall(r"\|[^|\n]*\d", parts.text)) if parts.rows else 0)


def _sourced(parts: Parts) -> bool:
    return any(_SOURCE.search(sentence) for sentence in parts.sentences)


CHECKS: dict[str, Callable[[Parts], bool]] = {
    "bullets": lambda p: p.bullets >= _FEWEST,
    "no-bullets": lambda p: p.bullets == 0,
    "numbered": lambda p: p.numbers >= _FEWEST,
    "prose": lambda p: not (p.numbers or p.bullets or p.rows),
    "table": lambda p: p.rows >= _FEWEST,
    "no-table": lambda p: p.rows == 0,
    "headings": lambda p: p.headings >= 2,
    "no-headings": lambda p: p.headings == 0,
    "bold": lambda p: p.bold >= 2,
    "no-bold": lambda p: p.bold == 0,
    "short": lambda p: len(p.words) < SHORT,
    "long": lambda p: len(p.words) >= LONG,
    "one-paragraph": lambda p: p.blocks == 1 and p.paragraphs == 1 and not (p.bullets or p.numbers or p.rows),
    "many-paragraphs": lambda p: p.paragraphs >= 4,
    "short-sentences": lambda p: all(words_of(one) <= BREATH for one in p.sentences),
    "long-sentence": lambda p: any(words_of(one) > WINDING for one in p.sentences),
    "conclusion-first": lambda p: _concluding(p.sentences[:1]),
    "conclusion-last": lambda p: _concluding(p.sentences[1:][-2:]) and not _concluding(p.sentences[:1]),
    "end-question": lambda p: bool(p.sentences) and p.sentences[-1].rstrip("\"'”’)*_ ").endswith("?"),
    "no-questions": lambda p: "?" not in p.text,
    "source": _sourced,
    "no-source": lambda p: not _sourced(p),
    "example": _found(_EXAMPLE),
    "no-example": _missing(_EXAMPLE),
    "risk": _found(_RISK),
    "no-risk": _missing(_RISK),
    "deadline": _found(_DEADLINE),
    "no-deadline": _missing(_DEADLINE),
    "figures": lambda p: _figures(p) >= _FEWEST,
    "no-figures": lambda p: _figures(p) == 0,
    "comparison": _found(_COMPARISON),
    "no-comparison": _missing(_COMPARISON),
    "exclamation": lambda p: "!" in p.text,
    "no-exclamation": lambda p: "!" not in p.text,
    "first-person": _found(_FIRST),
    "no-first-person": _missing(_FIRST),
    "second-person": _found(_SECOND),
    "no-second-person": _missing(_SECOND),
    "contractions": _found(_CONTRACTION),
    "no-contractions": _missing(_CONTRACTION),
    "jargon": lambda p: len(_JARGON.findall(p.plain)) >= 2,
    "no-jargon": _missing(_JARGON),
    "hedging": _found(_HEDGE),
    "no-hedging": _missing(_HEDGE),
    "metric": lambda p: _METRIC.search(p.plain) is not None and _IMPERIAL.search(p.plain) is None,
    "imperial": lambda p: _IMPERIAL.search(p.plain) is not None and _METRIC.search(p.plain) is None,
    "greeting": lambda p: p.greeted,
    "no-greeting": lambda p: not p.greeted,
}
