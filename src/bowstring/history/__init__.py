"""History views: which part of a user's history a model sees. Pure functions over records."""

from bowstring.history.reader import Reader
from bowstring.history.views import View, parse_view

__all__ = ["Reader", "View", "parse_view"]
