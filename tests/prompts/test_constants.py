"""A file of constants is read as data: what can be told without running it, and nothing else."""

import pytest

from bowstring.errors import DataError
from bowstring.prompts.constants import read_constants


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("X = 'a'", "a"),
        ('X = """\n a\n""".strip()', "a"),
        ("X = ' a '.lstrip().rstrip()", "a"),
        ("X = 'a' 'b' + 'c'", "abc"),
        ("Y = 'a'\nX = {'k': [Y, (1, -2.5, None, True)]}", {"k": ["a", (1, -2.5, None, True)]}),
        ("X: str = 'a'", "a"),
        ("X = 'a'\nX = 'b'", "b"),
    ],
)
def test_data_is_read(source, value):
    assert read_constants(source, "c.py")["X"] == value


@pytest.mark.parametrize(
    "source",
    [
        "X = open('/tmp/pwned', 'w')",
        "X = __import__('os').system('touch /tmp/pwned')",
        "X = f'{1 + 1}'",
        "X = [c for c in 'abc']",
        "X = 'a'.join(['b'])",
        "X = 'a' * 10**9",
        "X = {'k': unknown}",
        "X = {**{}}",
        "X = 'a'\nX = print()",
        "X: str",
        "def X(): pass",
    ],
)
def test_nothing_is_run_and_what_is_no_data_is_not_there(source):
    assert "X" not in read_constants(source, "c.py")


@pytest.mark.parametrize("source", ["X = (", "\0", "X = " + "[" * 5000])
def test_what_is_not_python_is_named(source):
    with pytest.raises(DataError, match=r"c\.py: not Python that can be parsed"):
        read_constants(source, "c.py")
