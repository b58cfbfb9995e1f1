"""The names of verdicts and choices, in records, ratings, exports and figures."""

from __future__ import annotations

from typing import Final, Literal

WIN: Final = "win"
TIE: Final = "tie"
LOSE: Final = "lose"
YES: Final = "yes"
NO: Final = "no"
PERSONALIZED: Final = "personalized"
GENERAL: Final = "general"
Compared = Literal["win", "tie", "lose"]
YesOrNo = Literal["yes", "no"]
COMPARED = (WIN, TIE, LOSE)  # an answer against another one
YES_OR_NO = (YES, NO)
PREFERRED = (PERSONALIZED, TIE, GENERAL)  # which of two gold answers people want
# What a label counts. A tie is half a win.
COMPARED_SCORES = {WIN: 1.0, TIE: 0.5, LOSE: 0.0}
PREFERRED_SCORES = {PERSONALIZED: 1.0, TIE: 0.5, GENERAL: 0.0}
YES_OR_NO_SCORES = {YES: 1.0, NO: 0.0}
