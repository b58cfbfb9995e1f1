"""Assignment of items and sides: random, balanced and reproducible; and errors of a study."""

import json
import os
import re
import shutil
import sqlite3
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bowstring
from bowstring.benchmarks.cupid.people import CupidPeople
from bowstring.benchmarks.hicupid.people import HicupidPeople
from bowstring.benchmarks.people import Unit
from bowstring.errors import DataError, StoreError, UsageError
from bowstring.web.annotating.checks import generated_checks
from bowstring.web.annotating.dealing import chosen, deal, shared, units_by_annotator
from bowstring.web.annotating.opening import open_study
from bowstring.web.annotating.results import export, standings
from bowstring.web.annotating.study import Study
from bowstring.web.annotating.tasks import Incomplete, PageResponse, read_form
from bowstring.web.annotating.units import collect_units, read_runs
from tests.support.command import bowstring as command
from tests.support.run_files import without_sums

TASKS = {task.name: task for task in (*HicupidPeople.tasks, *CupidPeople.tasks)}


def units(n, types=("persona", "profile")):
    return [
        Unit(
            (f"item/{i}",),
            str(i),
            f"user {i // 4}",
            types[i % len(types)],
            (),
            f"question {i}",
            (f"a{i}", f"b{i}"),
            right=f"b{i}",
        )
        for i in range(n)
    ]


def whimsical(messages):
    return f"Whimsy speaking: {len(messages[-1]['content'])} letters were asked."


def inferring(messages):
    return f"{whimsical(messages)}\n\n### Most Likely Preference\nKeep it short, with bullet points."


def silent(messages):
    return ""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, model in (("one", whimsical), ("two", silent)):
        bowstring.evaluate("hicupid", model=model, judge="builtin", out=folder / name)
    bowstring.evaluate("cupid", model=inferring, judge="builtin", out=folder / "cupid")
    return folder


@pytest.mark.parametrize(
    ("n", "people", "overlap"), [(50, 3, 0.2), (7, 2, 0.5), (1, 4, 0.0), (30, 1, 0.3), (12, 5, 1.0)]
)
def test_a_share_is_for_all_and_the_rest_is_dealt_evenly(n, people, overlap):
    names = [f"p{i}" for i in range(people)]
    flags = shared(units(n), overlap, 7)
    assert sum(flags) == round(overlap * n)
    given = [
        Unit(**{f: getattr(u, f) for f in u.__slots__} | {"shared": flag})
        for u, flag in zip(units(n), flags, strict=True)
    ]
    hands = units_by_annotator(given, names, 7)
    turns = deal(given, hands, 7)
    times = Counter(turn.unit for turn in turns)
    assert all(times[i] == (people if flag else 1) for i, flag in enumerate(flags))
    sizes = Counter(turn.annotator for turn in turns)
    assert max(sizes[name] for name in names) - min(sizes[name] for name in names) <= 1
    for name in names:
        mine = sorted((t for t in turns if t.annotator == name), key=lambda t: t.place)
        assert [t.place for t in mine] == list(range(len(mine)))
        assert abs(sum(t.swapped for t in mine) - len(mine) / 2) <= 0.5
    assert turns == deal(given, hands, 7)
    if n > 10:
        assert turns != deal(given, units_by_annotator(given, names, 8), 8)


def test_types_are_spread_over_people():
    given = units(40, types=("persona", "persona", "persona", "profile"))
    turns = deal(given, units_by_annotator(given, ["anna", "ben"], 0), 0)
    for name in ("anna", "ben"):
        assert Counter(given[t.unit].type for t in turns if t.annotator == name) == {"persona": 15, "profile": 5}


def test_a_larger_limit_keeps_what_a_smaller_one_took():
    few, more = chosen(units(50), 5, 3), chosen(units(50), 20, 3)
    assert (len(few), len(more)) == (5, 20)
    assert {u.ids for u in few} < {u.ids for u in more}
    assert [u.key for u in more] == sorted((u.key for u in more), key=int)


def test_a_made_check_pairs_what_is_right_with_somebody_elses():
    given = units(40)
    taken = given[:30]
    checks = generated_checks(TASKS["compare"], given, 9, 1, dealt=taken)
    assert len(checks) == 5  # of ten free items: each gives a question with its answer, or an answer
    by_right = {u.right: u for u in given}
    for check in checks:
        right, wrong = (by_right[answer] for answer in check.answers)
        assert right.asked == check.asked
        assert right.cluster != wrong.cluster
        assert right not in taken
        assert wrong not in taken
        assert check.expected == (("win",),)
        assert check.ids[0] not in {u.ids[0] for u in given}
    assert len({answer for check in checks for answer in check.answers}) == 10
    # One user alone: there is nobody to take an answer from.
    assert generated_checks(TASKS["compare"], given[:3], 5, 1, dealt=[]) == []


@pytest.mark.parametrize(
    ("run", "task", "settings"),
    [
        ("one", "compare", {"overlap": 1, "checks": 0.1}),
        ("one", "compare", {"annotators": "anna,ben,carl", "overlap": 0.3, "checks": 0.2}),
        ("one", "compare", {"annotators": "anna,ben", "limit": 20, "checks": 0.3}),
        ("one", "personal", {"checks": 0.15}),
        ("one", "satisfaction", {"checks": 0.2}),
        ("cupid", "rate", {"checks": 0.2}),
        ("cupid", "coverage", {"checks": 0.2}),
    ],
)
def test_nobody_meets_a_question_or_a_text_of_a_check_twice(runs, tmp_path, run, task, settings):
    said = []
    study = open_study([runs / run], task=task, db=tmp_path / "s.sqlite", tell=said.append, **settings)
    all_units = collect_units(read_runs([runs / run]), TASKS[task]).units
    kept = len(all_units) - study.items
    assert ("limit" in settings) or any(line.startswith(f"{kept} left out: reserved") for line in said) == (kept > 0)
    for name in study.about["settings"]["annotators"]:
        mine = [given.unit for given in study.assignments() if given.annotator == name]
        checks = [unit for unit in mine if unit.expected]
        assert len(checks) == round(settings["checks"] * (len(mine) - len(checks)))
        assert checks
        asked = Counter(unit.asked for unit in mine)
        texts = Counter(text for unit in mine for text in set(unit.answers))
        assert {asked[unit.asked] for unit in checks} == {1}
        assert {texts[text] for unit in checks for text in unit.answers} == {1}
    study.close()


def test_too_few_checks_are_said(runs, tmp_path):
    said = []
    study = open_study([runs / "one"], checks=1, overlap=1, db=tmp_path / "s.sqlite", tell=said.append)
    (standing,) = standings(study)
    assert 0 < standing.checks < study.items
    found = next(line for line in said if "gold checks could be generated" in line)
    assert found.startswith(f"{standing.checks} of {study.items} gold checks could be generated: there are too few")
    study.close()


@pytest.mark.parametrize(
    ("swapped", "choice", "label"),
    [(False, "A", "win"), (True, "A", "lose"), (False, "B", "lose"), (True, "B", "win"), (True, "tie", "tie")],
)
def test_a_side_becomes_a_source_again(swapped, choice, label):
    assert TASKS["compare"].label(choice, swapped=swapped) == label


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"choice": [""]},
        {"choice": ["C"]},
        {"choice": ["A"], "criterion-x/A": ["6"]},
        {"choice": ["A"], "comment": ["x" * 300_000]},
    ],
)
def test_a_form_that_says_nothing_is_refused(form):
    with pytest.raises(Incomplete):
        read_form(form, TASKS["compare"], parts=1, criteria=("x",), fields={})


def test_two_runs_meet_and_one_is_held_against_gold(runs):
    one = collect_units(read_runs([runs / "one"]), TASKS["compare"])
    assert {u.type for u in one.units} == {"persona", "profile"}
    assert {u.sources for u in one.units} == {("one", "gold answer")}
    both = collect_units(read_runs([runs / "one", runs / "two"]), TASKS["compare"])
    assert {u.type for u in both.units} == {"persona", "profile", "schedule"}
    assert {u.sources for u in both.units} == {("one", "two")}
    assert {u.answers[1] for u in both.units} == {""}
    assert not {u.ids for u in one.units} & {u.ids for u in both.units}
    with pytest.raises(UsageError, match="annotate them separately"):
        read_runs([runs / "one", runs / "cupid"])


def moved_users(folder, by):
    """The same set with other ids: what was one user's is another's now."""
    for path in [*folder.glob("qa/*.parquet"), *folder.glob("dialogue/*.parquet")]:
        table = pq.read_table(path)
        ids = pa.array([n + by for n in table["user_id"].to_pylist()], table["user_id"].type)
        pq.write_table(table.set_column(table.schema.get_field_index("user_id"), "user_id", ids), path)


def test_runs_of_other_data_are_not_put_together(tmp_path, hicupid_folder):
    for name in ("one", "other"):
        bowstring.evaluate("hicupid", model=whimsical, judge="builtin", data=str(hicupid_folder), out=tmp_path / name)
        moved_users(hicupid_folder, 1)
    ran = command("annotate", tmp_path / "one", tmp_path / "other", "--task", "personal", "--port", "0")
    assert ran.code == 2
    prints = [json.loads((tmp_path / n / "run.json").read_text())["config"]["data"] for n in ("one", "other")]
    shown = " and ".join(f"{hicupid_folder} ({p['fingerprint'][:8]})" for p in prints)
    assert f"cannot be annotated together: their data differ: {shown}" in ran.err
    assert len(ran.err.splitlines()) == 1


def of_splits(data, folder):
    for split in ("test_1", "test_2"):
        bowstring.evaluate("hicupid", model=whimsical, judge="builtin", data=data, splits=[split], out=folder / split)
    return [folder / "test_1", folder / "test_2"]


def test_runs_of_other_splits_are_not_put_together(tmp_path, hicupid_folder):
    with pytest.raises(UsageError, match="their splits differ: test_1 and test_2"):
        read_runs(of_splits(str(hicupid_folder), tmp_path))


def test_every_run_has_its_own_conversations(tmp_path):
    """Those of the bundled set are of the same data, whatever split they read."""
    study = open_study(of_splits("mini", tmp_path), task="personal", checks=0, db=tmp_path / "s.sqlite")
    assert all(given.unit.dialogues for given in study.assignments())
    assert {given.unit.cluster for given in study.assignments()} == set("012345")
    study.close()


def test_sources_tell_runs_of_the_same_name_apart(runs, tmp_path):
    for above, name in (("a", "one"), ("b", "two")):
        shutil.copytree(runs / name, tmp_path / above / "run")
    both = collect_units(read_runs([tmp_path / "a" / "run", tmp_path / "b" / "run"]), TASKS["compare"])
    assert {u.sources for u in both.units} == {("a/run", "b/run")}
    assert both.runs == ("a/run", "b/run")


def test_what_two_runs_answered_alike_is_left_out_and_counted(runs, tmp_path):
    same = tmp_path / "same"
    without_sums(shutil.copytree(runs / "one", same))
    rows = [json.loads(line) for line in (same / "records.jsonl").read_text().splitlines()]
    for n, row in enumerate(rows):
        row["answer"] = f"  {row['answer']}\n" if n < 5 else "another"
    (same / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = []
    open_study([runs / "one", same], checks=0, db=tmp_path / "s.sqlite", tell=said.append).close()
    assert "5 left out: identical in both runs" in said
    study = Study(tmp_path / "s.sqlite")
    assert study.items == len(rows) - 5
    assert not {row["key"] for row in rows[:5]} & {given.unit.key for given in study.assignments()}
    study.close()


def test_a_study_is_for_its_owner_alone(runs, tmp_path):
    before = os.umask(0o022)
    try:
        study = open_study([runs / "one"], limit=2, db=tmp_path / "s.sqlite")
    finally:
        os.umask(before)
    study.save(next(study.assignments()).page, PageResponse(("A",)), 1.0)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert found == dict.fromkeys(("s.sqlite", "s.sqlite-wal", "s.sqlite-shm"), 0o600)
    study.close()


def test_curating_is_named_by_help_and_taken_with_an_equals_sign(tmp_path):
    assert "annotate --curate DATA" in " ".join(command("annotate", "--help").out.split())
    ran = command("annotate", f"--curate={tmp_path / 'nothing'}", "--port", "0")
    assert (ran.code, str(tmp_path / "nothing") in ran.err, "No such option" in ran.err) == (2, True, False)


def test_schedules_are_satisfied_or_not(runs, tmp_path):
    study = open_study([runs / "one"], task="satisfaction", checks=0.3, db=tmp_path / "s.sqlite")
    given = list(study.assignments())
    assert {g.unit.type for g in given} == {"schedule"}
    assert [g.unit.expected for g in given if g.unit.expected] == [(("no",),)] * round(0.3 * study.items)
    study.save(given[0].page, PageResponse(("yes",)), 1.0)
    (line,) = export(study)
    assert (line["label"], line["task"]) == ("yes", "satisfaction")
    study.close()


def test_a_study_that_does_not_name_its_benchmark_is_opened(runs, tmp_path):
    """Earlier versions did not write it down."""
    path = tmp_path / "s.sqlite"
    open_study([runs / "cupid"], task="coverage", checks=0, db=path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("DELETE FROM study WHERE name = 'benchmark'").rowcount == 1
        connection.commit()
    study = open_study([runs / "cupid"], task="coverage", checks=0, db=path)
    assert study.task == TASKS["coverage"]
    study.close()


def test_a_study_whose_settings_lack_an_annotator_is_damaged(runs, tmp_path):
    path = tmp_path / "s.sqlite"
    open_study([runs / "one"], db=path, annotators="anna,ben").close()
    with closing(sqlite3.connect(path)) as connection:
        settings = json.loads(connection.execute("SELECT value FROM study WHERE name = 'settings'").fetchone()[0])
        settings["annotators"].remove("ben")
        connection.execute("UPDATE study SET value = ? WHERE name = 'settings'", (json.dumps(settings),))
        connection.commit()
    with pytest.raises(StoreError, match=r"is damaged: .*its settings name other annotators than its links"):
        Study(path)


def test_personalized_answers_meet_general_ones(runs, tmp_path):
    study = open_study([runs / "one", runs / "two"], task="personal", checks=0, limit=6, db=tmp_path / "s.sqlite")
    for given in list(study.assignments()):
        study.save(given.page, PageResponse(("A",)), 1.0)
    lines = list(export(study))
    assert {(line["label"], line["first"]) for line in lines} == {
        ("personalized", "personalized answer"),
        ("general", "general answer"),
    }
    study.close()


def test_many_who_save_at_once_lose_nothing(runs, tmp_path):
    names = [f"annotator-{n}" for n in range(1, 5)]
    path = tmp_path / "s.sqlite"
    open_study([runs / "one"], annotators="4", overlap=1, limit=15, checks=0, db=path).close()

    def work(name):
        study = Study(path)  # a connection of its own, as another process has
        for given in [g for g in study.assignments() if g.annotator == name]:
            study.note_sent(given.page)
            study.save(given.page, PageResponse(("A",), comment=name), 1.0)
        study.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, names))
    study = Study(path)
    lines = list(export(study))
    study.close()
    assert Counter(line["rater"] for line in lines) == dict.fromkeys(names, 15)
    assert all(line["comment"] == line["rater"] and line["changes"] == 0 for line in lines)


def test_checks_of_a_file_go_to_everybody_and_are_no_ratings(runs, tmp_path):
    unit = collect_units(read_runs([runs / "one"]), TASKS["compare"]).units[3]
    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps({"item": unit.ids[0], "label": "lose"}) + "\n")
    study = open_study(
        [runs / "one"], annotators="anna,ben", limit=4, checks=0, gold=gold, overlap=0, db=tmp_path / "s.sqlite"
    )
    assert study.items == 4
    assert [s.total for s in standings(study)] == [3, 3]
    for given in list(study.assignments()):
        study.save(
            given.page, PageResponse(("tie",) if given.unit.key != unit.key else ("B" if given.swapped else "A",)), 1.0
        )
    lines = list(export(study))
    checked = [line for line in lines if line["gold"]]
    assert [(line["rater"], line["label"], line["right"]) for line in checked] == [
        ("anna", "win", False),
        ("ben", "win", False),
    ]
    assert len({line["item"] for line in lines if not line["gold"]}) == 4
    assert [(s.right, s.checked) for s in standings(study)] == [(0, 1), (0, 1)]
    study.close()
    gold.write_text(json.dumps({"item": "nothing", "label": "win"}) + "\n")
    with pytest.raises(DataError, match="'nothing' is not in these runs"):
        open_study([runs / "one"], gold=gold, db=tmp_path / "other.sqlite")
    gold.write_text(json.dumps({"item": unit.ids[0], "label": "A"}) + "\n")
    with pytest.raises(DataError, match="label is 'A'; expected win, tie or lose"):
        open_study([runs / "one"], gold=gold, db=tmp_path / "other.sqlite")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"annotators": "anna,carl"}, "--annotators"),
        ({"overlap": 0.5}, "--overlap"),
        ({"seed": 1}, "--seed"),
        ({"task": "personal"}, "--task"),
        ({"criteria": "clarity"}, "--criteria"),
    ],
)
def test_another_study_in_the_same_file_is_refused(runs, tmp_path, change, named):
    same = {"annotators": "anna,ben", "db": tmp_path / "s.sqlite"}
    first = open_study([runs / "one"], **same)
    links = first.links()
    first.close()
    again = open_study([runs / "one"], **same)
    assert again.links() == links
    again.close()
    with pytest.raises(UsageError, match=re.escape(f"contains another study, with different {named}")):
        open_study([runs / "one"], **same | change)
    with pytest.raises(UsageError, match="with different runs"):
        open_study([runs / "two"], **same)


def test_dialogues_are_shown_where_the_data_is_as_it_was(runs, tmp_path, hicupid_folder):
    run = tmp_path / "run"
    bowstring.evaluate("hicupid", model=whimsical, judge="builtin", data=str(hicupid_folder), out=run)
    said = []
    study = open_study([run], limit=3, db=tmp_path / "a.sqlite", tell=said.append)
    assert all(given.unit.dialogues for given in study.assignments())
    study.close()
    (hicupid_folder / "dialogue" / "test.parquet").unlink(missing_ok=True)
    (hicupid_folder / "dialogue" / "train.parquet").unlink()
    study = open_study([run], limit=3, db=tmp_path / "b.sqlite", tell=said.append)
    assert not any(given.unit.dialogues for given in study.assignments())
    study.close()
    assert any(line.startswith("the dialogues are not shown") for line in said)


def test_conversations_are_found_from_any_folder_and_missed_where_the_set_is_gone(
    tmp_path, hicupid_folder, monkeypatch
):
    monkeypatch.chdir(hicupid_folder.parent)
    bowstring.evaluate("hicupid", model=whimsical, judge="builtin", data=hicupid_folder.name, out=tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    said = []
    study = open_study([tmp_path / "run"], limit=3, db=tmp_path / "s.sqlite", tell=said.append)
    assert all(given.unit.dialogues for given in study.assignments())
    study.close()
    hicupid_folder.rename(tmp_path / "gone")
    study = open_study([tmp_path / "run"], limit=3, db=tmp_path / "t.sqlite", tell=said.append)
    assert not any(given.unit.dialogues for given in study.assignments())
    study.close()
    assert any(line.startswith("the dialogues are not shown: ") for line in said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{}/nothing"], "is not a run"),
        (["{}/one", "--task", "rate"], "--task rate is for cupid runs; these are hicupid"),
        (["{}/cupid", "--task", "compare"], "these are cupid: rate or coverage"),
        (["{}/one", "--task", "comparr"], "--task 'comparr' is not a task of hicupid runs; did you mean compare?"),
        (["{}/cupid", "--task", "xyz"], "--task 'xyz' is not a task of cupid runs; expected rate or coverage"),
        (["{}/one", "--annotators", "anna,anna"], "anna appears twice"),
        (["{}/one", "--annotators", "0"], "expected names such as anna,ben"),
        (["{}/one", "--criteria", "a,,b"], "--criteria a,,b"),
        (["{}/one", "--public-url", "nonsense"], "--public-url nonsense"),
        (["--overlap", "1"], "no run was given"),
        (["--db", "{}/responses.sqlite"], "is not a study"),
        (["export", "{}/nothing.sqlite"], "does not exist"),
        (["status", "{}/one/run.json"], "cannot be used for a study"),
        (["--curate", "{}/nothing"], "nothing"),
    ],
)
def test_what_cannot_be_meant_is_one_line(runs, tmp_path, arguments, said):
    more = []
    if arguments[0] not in ("export", "status"):
        more = ["--port", "0"]
    if any("{}" in argument for argument in arguments) and "--db" not in arguments and more:
        more += ["--db", tmp_path / "s.sqlite"]
    ran = command("annotate", *(a.format(runs) for a in arguments), *more)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
