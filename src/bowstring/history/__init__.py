"""History views: what of a user's history a model sees. Pure functions over records."""

from bowstring.history.views import View, parse_view, select

__all__ = ["View", "parse_view", "select"]
