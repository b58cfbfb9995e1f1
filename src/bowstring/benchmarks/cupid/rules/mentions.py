"""What mentions a feature in a stated preference, and which rule that is in a positive and in a negative chunk."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mention:
    """What states a rule: the rule in a positive chunk, and that in a negative one."""

    pattern: re.Pattern[str]
    positive: str | None
    negative: str | None
    unless: re.Pattern[str]
    needs: re.Pattern[str]

    def is_in(self, chunk: str) -> bool:
        return bool(self.pattern.search(chunk) and self.needs.search(chunk) and not self.unless.search(chunk))


def _mention(
    pattern: str, positive: str | None, negative: str | None, *, unless: str = r"(?!)", needs: str = ""
) -> Mention:
    return Mention(re.compile(pattern), positive, negative, re.compile(unless), re.compile(needs))


_FIRST = (
    r"\b(?:open\w*|start\w*|begin\w*|lead\w* with|first|up front|upfront|outset|"
    r"at the (?:top|very (?:start|beginning))|"
    r"before (?:any|the|anything))\b"
)
_LAST = (
    r"\b(?:ends?|ending|last|clos\w+|finish\w*|finally|build\w* (?:up )?to\w*|builds? up|lead\w* up|hold\w* back|until|"
    r"sav\w+|final|conclud\w+|wrap\w* up|round\w* (?:\w+ ){0,2}(?:off|out)|sign\w* off|at the end)\b"
)
_NUMBER = r"(?:\d+|ninety|a hundred|fifteen|twenty|twenty-five|twelve|ten|eighty|sixty)"
_SENTENCE_LENGTH = r"\bsentences?\b"

MENTIONS: tuple[Mention, ...] = (
    _mention(r"\bbullet\w*|\bdot[- ]points?\b", "bullets", "no-bullets"),
    _mention(
        r"\bnumbered\b|\bnumber (?:the|each|all|every|its)\b|\bordered\b[^.]*\blist\b|\benumerat\w+|"
        r"\b(?:steps|points|items)\b.*\bcarry numbers\b|\b(?:steps|points|items) (?:must|should) be numbered",
        "numbered",
        None,
    ),
    _mention(
        r"\bprose\b|\b(?:flowing|connected|continuous|full|running) (?:paragraphs|text|prose)\b|\bnarrative\b",
        "prose",
        None,
        unless=r"vivid|heading|title",
    ),
    _mention(
        r"(?<!bulleted )(?<!bullet )(?<!numbered )(?<!ordered )\blists?\b(?! the| of (?!any))",
        None,
        "prose",
        unless=r"bullet|number|ordered|waiting",
    ),
    _mention(
        r"\btables?\b|\btabular\b|\brows\b|\bcolumns\b|\bgrids?\b",
        "table",
        "no-table",
        unless=r"\b(?:on|to|across|at|off|under) the table\b",
    ),
    _mention(
        r"\b(?:sub)?headings?\b|\bsection titles?\b|\bheaders?\b|\bsections?\b.*\btitles?\b", "headings", "no-headings"
    ),
    _mention(
        r"\bbold\w*",
        "bold",
        "no-bold",
        unless=r"\btone\b|\bconfident\b|\bbold (?:idea|proposal|claim|move|step|vision|plan|suggestion|statement|"
        r"choice)s?\b",
    ),
    _mention(
        rf"\b(?:under|below|fewer than|less than|shorter than|atmost|at most|up to|maximum of|within) {_NUMBER} "
        r"words\b|\b(?:\d\d|ninety) words (?:or fewer|or less|at most|maximum)\b",
        "short",
        "long",
        unless=rf"{_SENTENCE_LENGTH}|\b1[3-9]\d\b|\b[2-9]\d\d\b|\b(?:\d|[12]\d|ten|twelve|fifteen|"
        rf"twenty(?:-five)?) words\b",
    ),
    _mention(
        r"\b(?:[2-9]\d|1[01]\d|ninety)[- ]words?\b|\bword (?:count|limit)\b.*\b(?:[2-9]\d|1[01]\d)\b",
        "short",
        None,
        unless=r"\bsentences?\b|\b(?:at least|atleast|more than|over|minimum|exceed\w*|longer than|or more)\b",
    ),
    _mention(
        r"\b(?:short|brief|concise|terse|succinct)\b(?! forms?| sentences?| paragraphs?)",
        "short",
        "long",
        unless=r"\bsentences?\b|\bparagraphs?\b|\bforms?\b",
    ),
    _mention(
        r"\b(?:at least|more than|over|atleast|minimum of|exceed\w*|longer than) (?:1\d\d|[2-9]\d\d|a hundred)\b|"
        r"\b1\d\d words (?:or more|upwards?|and up|plus)\b|\b\d{3}\+ words\b",
        "long",
        "short",
        unless=_SENTENCE_LENGTH,
    ),
    _mention(
        r"\blengthy\b|\bdetailed\b|\bthorough\w*|\bin-depth\b|\binto detail\b|\blong\b|\bextensive\w*",
        "long",
        "short",
        unless=r"\bsentences?\b|\bparagraphs?\b",
    ),
    _mention(r"\b(?:single|one)[- ](?:\w+ )?(?:paragraph|block)\b|\bunbroken\b", "one-paragraph", "many-paragraphs"),
    _mention(
        r"\b(?:four|several|multiple|many|separate|4)\b[^.]*\bparagraphs\b|\bown paragraph\b|"
        r"\bparagraph breaks\b",
        "many-paragraphs",
        "one-paragraph",
    ),
    _mention(
        r"\b(?:short|brief|simple|crisp)\b.*\bsentences?\b|\bsentences?\b.*\b(?:short|brief|simple)\b|"
        rf"\bsentences?\b.*\b(?:atmost|at most|under|below|fewer than|less than|up to) {_NUMBER}\b|"
        rf"\bsentences? to {_NUMBER}\b|\bsentences?\b.*\b{_NUMBER} words or (?:fewer|less)\b",
        "short-sentences",
        "long-sentence",
        unless=r"\blong(?:er)?\b.*\bmore than\b",
    ),
    _mention(
        rf"\b(?:long|winding|complex|longer)\b.*\bsentences?\b|\bsentences?\b.*\b(?:long|longer)\b|"
        rf"\bsentences?\b.*\b(?:more than|over|exceed\w*|longer than|at least|beyond|past) {_NUMBER}\b",
        "long-sentence",
        "short-sentences",
        unless=r"\batmost\b",
    ),
    _mention(
        r"\b(?:conclusions?|bottom line|outcome|verdict|main result|result|takeaway|recommendations?|"
        r"main (?:point|message))\b",
        "conclusion-first",
        "conclusion-last",
        needs=_FIRST,
        unless=_LAST,
    ),
    _mention(
        r"\b(?:conclusions?|bottom line|outcome|verdict|main result|result|takeaway|recommendations?|"
        r"main (?:point|message))\b",
        "conclusion-last",
        "conclusion-first",
        needs=_LAST,
    ),
    _mention(
        r"\bquestions?\b|\bask\w*\b",
        "end-question",
        "no-questions",
        needs=_LAST,
        unless=r"question mark|\b(?:open|start|begin)\w* with a question",
    ),
    _mention(
        r"\bquestions?\b|\bask(?:s|ing|ed)?\b(?! (?:for|to)\b)|\bquestion-free\b",
        None,
        "no-questions",
        unless=rf"{_LAST}|question mark|\banswer\b",
    ),
    _mention(
        r"\bquestion marks?\b|\bnothing\b.*\basked\b|\bask(?:s|ing)? nothing\b",
        None,
        "no-questions",
        unless=r"\b(?:answer|clos|end)\w*\b",
    ),
    _mention(
        r"\bsources?\b|\bcit(?:e|es|ed|ing|ation|ations)\b|\breferenc\w+\b|\battribut\w+|"
        r"\bwhere (?:\w+ )?(?:facts?|information|claims?|statements?|numbers?|things?)\b(?: \w+)* from\b|"
        r"\bwhere (?:the )?(?:facts|information|claims)\b",
        "source",
        "no-source",
    ),
    _mention(
        r"\bexamples?\b|\b(?:concrete|specific|real) cases?\b|\banecdot\w+|\billustrat(?:e|es|ion|ions)\b",
        "example",
        "no-example",
    ),
    _mention(
        r"\brisks?\b|\bdangers?\b|\bwarn\w*|\bhazards?\b|\bdownsides?\b|\b(?:could|might|may|can) go wrong\b|"
        r"\bpitfalls?\b|"
        r"\balarming\b",
        "risk",
        "no-risk",
        unless=r"honest about|\b(?:take|takes|taking|run|runs) (?:a )?risks?\b",
    ),
    _mention(
        r"\bdeadlines?\b|\bdue dates?\b|\bby when\b|\bby (?:what|which) date\b|"
        r"\bdates?\b.*\b(?:when|by)\b.*\b(?:complete|done)|\bdate by which\b|\bhave to be done by\b|\btime pressure\b|"
        r"\btime limits?\b",
        "deadline",
        "no-deadline",
    ),
    _mention(r"\b(?:timing|time frame|timeline|dates?) open\b", "no-deadline", "deadline"),
    _mention(
        r"\bfigures?\b|\bnumbers\b|\b(?:single|any|concrete|exact) number\b|\bnumerals?\b|\bnumeric(?:al)?\b|"
        r"\bdigits?\b|\bstatistics?\b|\bquantif\w+|\bpercentages?\b",
        "figures",
        "no-figures",
        unless=r"\bcarry numbers\b|\benumerat|\bfigures? of speech\b",
    ),
    _mention(
        r"\bcomparisons?\b|\bcompar(?:e|es|ing)\b|\banalog(?:y|ies)\b|\bmetaphors?\b|\bsimiles?\b|\bliken\w*\b|"
        r"\b(?:image|picture)s? from (?:daily|everyday) life\b|"
        r"\bcompared (?:to|with) (?:something|things?|an?|everyday|familiar)\b",
        "comparison",
        "no-comparison",
        unless=r"\bcompare the (?:two|options)\b|\bwith each other\b",
    ),
    _mention(r"\bexclamation\b", "exclamation", "no-exclamation"),
    _mention(
        r"\bfirst[- ]person\b|(?:^|[\s(])['\"](?:i|we)['\"]|"
        r"\b(?:pronouns?|words?|say|use|using|without) (?:i|we)\b",
        "first-person",
        "no-first-person",
    ),
    _mention(
        r"\bimpersonal\w*|\bthird[- ]person\b",
        "no-first-person",
        "first-person",
        unless=r"['\"](?:i|we)['\"]|\bfirst[- ]person\b",
    ),
    _mention(
        r"\bsecond[- ]person\b|(?:^|[\s(])['\"]you['\"]|\bword you\b|"
        r"\baddress\w* (?:the|its|their|a)?\s?readers?\b|"
        r"\b(?:speak|talk)\w* (?:directly )?to (?:the|its|their) reader\b|\bthe reader\b.*\baddressed\b",
        "second-person",
        "no-second-person",
    ),
    _mention(r"\bcontract(?:ion|ions|ed|ing)\b|\bshort(?:ened)? forms?\b", "contractions", "no-contractions"),
    _mention(
        r"\b(?:written|write|spell\w*) out\b|\bfullforms\b|\bin full\b(?! paragraphs)|\bfull forms?\b",
        "no-contractions",
        "contractions",
        unless=r"contract",
    ),
    _mention(
        r"\bjargon\b|\bbuzzwords?\b|\bbusiness vocabulary\b|\bcorporate (?:vocabulary|phrases|terms)\b|"
        r"\bsynerg\w+|\b(?:business|management|corporate) terms\b|"
        r"\bcorporate (?:language|speak)\b|\bmanagement[- ]speak\b|"
        r"\bbusiness (?:language|speak)\b",
        "jargon",
        "no-jargon",
    ),
    _mention(r"\beveryday words\b|\bplain (?:language|words|english)\b", "no-jargon", "jargon", unless=r"jargon|buzz"),
    _mention(
        r"\bhedg\w+|\buncertain\w*|\btentative\w*|(?:^|[\s(])['\"](?:perhaps|maybe|probably|possibly|might)['\"]|"
        r"\b(?:words|terms|such as|like|without|no|say|using) (?:perhaps|maybe|probably|possibly|might)\b",
        "hedging",
        "no-hedging",
    ),
    _mention(
        r"\bcertain(?:ty|ly)?\b|\bassertive\w*|\bdefinite\w*|\babsolute\w*|\bcategorical\w*",
        "no-hedging",
        "hedging",
        unless=r"\ba certain\b|\bperhaps\b|\bmaybe\b|\bprobably\b|\bhedg",
    ),
    _mention(r"\bmetric\b|\bkilomet\w+|\bkilograms?\b|\bmet(?:re|er)s\b", "metric", "imperial"),
    _mention(
        r"\bimperial\b|\bmiles\b|\bfeet\b|\bpounds\b|\binches\b|\bbritish (?:units|measures)\b", "imperial", "metric"
    ),
    _mention(
        r"\bgreet\w*|\bsalutations?\b|(?:^|[\s(])['\"](?:dear|hello|hi)\b|\bsay hello\b", "greeting", "no-greeting"
    ),
)
