"""History views: what of a user's history a model sees. Pure functions over records.

full    everything      gold    the dialogues that hold the evidence      none    nothing
"""

from bowstring.history.views import HISTORY_NAMES, view

__all__ = ["HISTORY_NAMES", "view"]
