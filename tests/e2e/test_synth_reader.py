"""`bowstring synth hicupid` with a reader: authors and readers whose rates are known beforehand."""

import json
from pathlib import Path

import pytest

from bowstring.benchmarks.loading import load_hicupid
from tests.support.command import bowstring
from tests.support.reader import Reader
from tests.support.server import Server
from tests.support.writer import Writer

USERS = 8
SIZES = ["--users", str(USERS), "--dimensions", "5", "--turns", "2", "--schedules", "3", "--profile-questions", "2"]
SHOWN, BLIND = "persona, from its dialogue", "persona, without the dialogue"
GOLD, GENERAL = (f"persona, from question and {kind} answer" for kind in ("personalized", "general"))
STATED, WORDS = "persona is not stated in its dialogue", "persona is not stated in its dialogue, by words"
N = USERS * 5  # persona dialogues, and questions


def made(folder: Path, author: Writer, *more: str) -> dict:
    """The quality report of a set by this author; it is read by the author's reader."""
    with Server(author.answer) as server:
        reader = ["--reader", server.model("r")]
        ran = bowstring("synth", "hicupid", "--model", server.model("m"), *SIZES, *reader, "--out", str(folder), *more)
        assert ran.code == 0, ran.err
    found = json.loads((folder / "quality.json").read_text())
    return found | {"said": ran.out, "rows": {(r["check"], r["phase"]): r for r in found["checks"]["rates"]}}


def able(found: dict) -> dict[str, bool]:
    return {kind: one["able"] for kind, one in found["checks"]["known_texts"].items()}


def rate(found: dict, check: str, phase: str = "first") -> float:
    return found["rows"][check, phase]["value"]


def personas(folder: Path) -> int:
    return sum(q.type == "persona" for q in load_hicupid(str(folder)).questions())


class Guessless(Writer):
    """Dialogues without a trace of the persona."""

    def dialogue_shows(self, fact: str) -> str:
        return "Nothing else came of it."


class Golds(Writer):
    """Golds without a trace of the persona."""

    def gold(self, facts, what):
        return f"Since it is that time of the year, take {what} and enjoy it."


class Telling(Writer):
    """General answers that show the persona."""

    def general(self, facts, what):
        return f"Most people, {' '.join(map(self.of, facts))}, are happy with {what}."

    def of(self, fact):
        from tests.support.reader import trace

        return trace(fact)


class OneGeneral(Writer):
    def general(self, facts, what):
        return "That depends on taste and time, so follow your own mood."


class Adores(Writer):
    def dialogue_shows(self, fact: str) -> str:
        return f"I absolutely adore {fact.split(' ', 1)[1]}."


class Beats(Writer):
    """Personas stated in words that no rule knows."""

    def dialogue_shows(self, fact: str) -> str:
        return f"Nothing in the world beats {fact.split(' ', 1)[1]} for me."


def test_a_good_author_passes_and_the_rates_are_those_known_beforehand(tmp_path):
    found = made(tmp_path / "s", Writer())
    assert set(able(found).values()) == {True}
    assert found["flaws"] == {}
    for check in (SHOWN, GOLD, STATED, WORDS, "appointment, from its dialogue", "profile value, from its dialogue"):
        assert rate(found, check) == 100, check
    for check in (SHOWN, GOLD):
        assert rate(found, check, "kept") == 100
        assert found["rows"][check, "kept"]["n"] == N
    for check in (BLIND, GENERAL, "persona, from the question alone", "persona, from the assistant's turns alone"):
        row = found["rows"][check, "first"]
        assert row["low"] < row["chance"] == 25 < row["high"], check
    assert not [row for row in found["rows"].values() if row["problem"]]
    assert personas(tmp_path / "s") == N
    card = (tmp_path / "s" / "README.md").read_text()
    assert f"| {GENERAL} | in the set |" in card
    assert "| personas from their dialogues | 100.0% [90.1, 100.0] | 40 | 25% | yes |" in card


@pytest.mark.parametrize(
    ("author", "check", "flaw"),
    [
        (Guessless, SHOWN, "the dialogue does not show the persona"),
        (Golds, GOLD, "the personalized answer does not show the persona"),
    ],
)
def test_what_shows_no_persona_is_dropped_but_for_lucky_guesses(author, check, flaw, tmp_path):
    """Four of five guesses are right in 1.6% of the attempts; there are three attempts."""
    found = made(tmp_path / "s", author())
    row = found["rows"][check, "first"]
    assert row["low"] < 25 < row["high"]
    assert row["problem"] == "at chance or near it"
    assert personas(tmp_path / "s") <= 0.2 * N
    assert found["flaws"][flaw] >= 2.5 * 0.8 * N
    assert f"problem: {check}, as first written" in found["said"]


def test_general_answers_that_show_the_persona_are_dropped(tmp_path):
    found = made(tmp_path / "s", Telling())
    assert rate(found, GENERAL) == 100
    assert found["rows"][GENERAL, "first"]["problem"] == "above chance"
    assert personas(tmp_path / "s") == 0
    assert {d["reason"] for d in found["dropped"]} == {
        "the general answer shows the persona",
        "the general answer shows the persona and profile",
    }


def test_one_general_answer_for_everything_is_refused_also_across_users(tmp_path):
    found = made(tmp_path / "s", OneGeneral())
    assert personas(tmp_path / "s") == 1
    assert found["dropped_by_reason"]["the general answer is that to another question"] == N + 2 * USERS - 1


def test_one_answer_for_everything_gets_nothing_past_the_reader(tmp_path):
    """The simplest wrong program: every text is the same."""

    class Same(Writer):
        def gold(self, facts, what):
            return "You could take the usual thing, whatever that may be."

        def dialogue_shows(self, fact):
            return ""

        general = OneGeneral.general

    made(tmp_path / "s", Same())
    assert personas(tmp_path / "s") == 0


def test_a_persona_that_is_stated_is_found_by_words_and_in_other_words_by_the_reader(tmp_path):
    found = made(tmp_path / "adores", Adores())
    assert rate(found, WORDS) == 0
    assert found["dropped_by_reason"]["the dialogue states the persona"] == N
    found = made(tmp_path / "beats", Beats())
    assert rate(found, WORDS) == 100, "the control: the words are not known"
    assert rate(found, STATED) == 0
    assert found["dropped_by_reason"]["the dialogue states the persona"] == N


@pytest.mark.parametrize(
    ("reader", "right"),
    [
        (Reader(able=lambda kind: 0.0), None),
        (Reader(answer=lambda options: "Yes."), 0),
        (Reader(answer=lambda options: options[0][0]), None),
        (Reader(answer=lambda options: next((o for o, said in options if said.startswith("Yes")), "A")), 50),
    ],
    ids=["coin", "yes", "first", "always stated"],
)
def test_a_reader_that_cannot_read_is_found_out_and_drops_nothing(reader, right, tmp_path):
    author = Golds(reader=reader)
    found = made(tmp_path / "s", author)
    assert set(able(found).values()) == {False}
    known = found["checks"]["known_texts"]
    for kind, one in known.items():
        assert right == 0 or one["low"] <= one["chance"] <= one["high"] + 3, kind  # a coin may be unlucky
    if right is not None:
        assert known["whether a dialogue states a persona"]["value"] == right
    assert [row["check"] for row in found["checks"]["rates"]] == [WORDS], "nothing of the set was read"
    assert personas(tmp_path / "s") >= 0.9 * N
    assert found["said"].count("cannot be trusted with this") == 4
    assert (tmp_path / "s" / "README.md").read_text().count("% | no |") == 4
    assert author.reader.asked.total() < 4 * 40, "a reader that is bad early is not asked for everything"


def test_a_reader_that_can_read_only_facts_decides_only_about_those(tmp_path):
    found = made(tmp_path / "s", Beats(reader=Reader(able=lambda kind: float(kind == "fact"))))
    assert sum(able(found).values()) == 3
    assert STATED not in {row["check"] for row in found["checks"]["rates"]}
    assert set(found["dropped_by_reason"]) == {"the dialogue does not show the persona"}, "there is no code in it"


def test_a_fair_reader_keeps_most_of_what_a_good_author_wrote(tmp_path):
    """It reads nine texts in ten and guesses the others: 92.5% right."""
    found = made(tmp_path / "s", Writer(reader=Reader(able=lambda kind: 0.9)))
    assert set(able(found).values()) == {True}
    for check in (SHOWN, GOLD):
        row = found["rows"][check, "first"]
        assert row["low"] < 92.5 < row["high"]
    assert personas(tmp_path / "s") >= 0.9 * N


def test_no_reader_is_a_choice_and_the_card_says_so(tmp_path):
    author = Golds()
    with Server(author.answer) as server:
        given = ["--model", server.model("m"), *SIZES, "--reader", "none", "--out", str(tmp_path / "s")]
        ran = bowstring("synth", "hicupid", *given)
    assert ran.code == 0, ran.err
    assert not author.reader.asked
    assert "No model read the set" in (tmp_path / "s" / "README.md").read_text()


def test_one_worker_and_many_make_the_same_set_and_report(tmp_path):
    """Also with texts that fail and are asked for again."""
    files = []
    with Server(Writer(reader=Reader(able=lambda kind: 0.85)).answer) as server:
        for n in (1, 32):
            folder = tmp_path / str(n) / "s"
            given = ["--model", server.model("m"), *SIZES, "--concurrency", str(n), "--share", "2"]
            ran = bowstring("synth", "hicupid", *given, "--out", str(folder))
            assert ran.code == 0, ran.err
            files.append({p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()})
    assert files[0] == files[1]
    assert json.loads(files[0][Path("quality.json")])["flaws"], "the control: something was asked for again"


def test_readings_are_counted_by_role_in_a_dry_run(tmp_path):
    def requests(*more: str) -> dict[str, int]:
        ran = bowstring("synth", "hicupid", "--model", "openai/m", *SIZES, "--dry-run", *more, cwd=tmp_path)
        assert ran.code == 0, ran.err
        rows = [line.split() for line in ran.out.splitlines()]
        return {row[0]: int(row[1].replace(",", "")) for row in rows if row and row[0] in ("writer", "reader")}

    author = Writer()
    with Server(author.answer) as server:
        given = ["--model", server.model("m"), *SIZES, "--out", str(tmp_path / "s")]
        assert bowstring("synth", "hicupid", *given).code == 0
    planned, asked = requests()["reader"], sum(author.reader.asked.values())
    assert 0.85 * asked < planned < 1.15 * asked
    assert "reader" not in requests("--reader", "none")
    assert requests("--draws", "3")["reader"] < planned


def test_the_embedded_model_is_at_chance_and_the_product_says_so(tmp_path):
    """Of appointments only, so that the little model has little to read."""
    author = Writer(lambda what, n: "no" if what == "persona_dialogue" else None)
    sizes = ["--users", "1", "--dimensions", "1", "--schedules", "2", "--profile-questions", "0"]
    with Server(author.answer) as server:
        given = ["--model", server.model("m"), *sizes, "--reader", "embedded", "--out", str(tmp_path / "s")]
        ran = bowstring("synth", "hicupid", *given)
    assert ran.code == 0, ran.err
    found = json.loads((tmp_path / "s" / "quality.json").read_text())
    assert set(able(found).values()) == {False}
    assert ran.out.count("cannot be trusted with this") == len(able(found)) == 1
    assert len(load_hicupid(str(tmp_path / "s")).questions()) == 2, "nothing was dropped by it"
    assert not author.reader.asked
