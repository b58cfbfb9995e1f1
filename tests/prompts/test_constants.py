"""A file of constants is read as data, without executing it."""

import pytest

from bowstring.errors import DataError
from bowstring.prompts.constants import NotData, read_constants


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("X = 'a'", "a"),
        ('X = """\n a\n""".strip()', "a"),
        ("X = ' a '.lstrip().rstrip()", "a"),
        ("X = '\\na\\n'.strip('\\n')", "a"),
        ("X = {'k': 'a', 'l': f(), **{}}['k'] if 0 else 'b'", NotData(1)),
        ("X = {'k': 'a', 'l':\n f()}", {"k": "a", "l": NotData(2)}),
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
        "X = 'a'\nX = print()",
    ],
)
def test_nothing_is_run_and_what_is_no_data_knows_its_line(source):
    assert read_constants(source, "c.py")["X"] == NotData(source.count("\n") + 1)


@pytest.mark.parametrize("source", ["X: str", "def X(): pass", "X.y = 1", "X[0] = 1"])
def test_what_is_no_assignment_is_not_there(source):
    assert "X" not in read_constants(source, "c.py")


def test_a_string_that_doubles_does_not_grow_for_ever():
    source = "A = 'x' * 1\nA = 'xxxxxxxxxxxxxxxx'\n" + "A = A + A\n" * 60
    assert isinstance(read_constants(source, "c.py")["A"], NotData)


@pytest.mark.parametrize("source", ["X = (", "\0", "X = " + "[" * 5000])
def test_what_is_not_python_is_named(source):
    with pytest.raises(DataError, match=r"c\.py: cannot be parsed as Python"):
        read_constants(source, "c.py")
