"""Names of the models that servers have: --served-as [ROLE=]NAME.

>>> served_names(["llama", "judge=qwen"], ["model", "judge"], ["model", "judge", "matcher"])
{'model': 'llama', 'judge': 'qwen'}
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bowstring.datasets.problems import join_choices
from bowstring.errors import UsageError
from bowstring.settings import did_you_mean


def served_names(given: Sequence[str], roles: Collection[str], known: Sequence[str]) -> dict[str, str]:
    """Return the names by role. `roles` have a model; all roles that there may be are `known`."""
    found: dict[str, str] = {}
    for one in given:
        role, name = role_and_name(one)
        if role not in known:
            raise UsageError(f"--served-as {one}: {role!r} is not a role; {did_you_mean(role, known)}")
        if role not in roles:
            raise UsageError(f"--served-as {one}: there is no {role} here; expected {join_choices(list(roles))}")
        if not name.strip() or not name.isprintable():
            raise UsageError(f"--served-as {one!r}: expected a name")
        if "=" in name:
            raise UsageError(f"--served-as {one}: a name may not contain '='")
        if role in found:
            unnamed = next((other for other in roles if other not in found), None)
            way_out = f"did you mean {unnamed}={name}?" if unnamed else "give one name per role"
            raise UsageError(f"--served-as {one}: the {role} already has the name {found[role]}; {way_out}")
        found[role] = name
    return found


def role_and_name(served_as: str) -> tuple[str, str]:
    """Return the parts of ROLE=NAME; a name alone is for the evaluated model."""
    role, equals, name = served_as.partition("=")
    return (role, name) if equals else ("model", served_as)
