"""The viewer's pages: every run is listed, its page has its own numbers, and nothing is loaded from elsewhere."""

import json
import re
import shutil
import socket
from html import unescape
from urllib.parse import quote

import pytest
from markupsafe import escape

import bowstring
from bowstring.files.escaping import escape_control_characters
from bowstring.reports import page
from bowstring.web.serving import cookie_name
from tests.support.viewer import PEOPLE, TOKEN, Viewer, copied

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{ 7 * 7 }}"


@pytest.fixture(scope="module")
def seen(made_runs):
    with Viewer(made_runs) as found:
        yield found


@pytest.fixture
def runs(made_runs, tmp_path):
    """A copy, to be changed."""
    shutil.copytree(made_runs, tmp_path / "runs")
    return tmp_path / "runs"


def names(response):
    return [unescape(name) for name in re.findall(r'<tr role="row" data-run="([^"]*)"', response.text)]


def text(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def row(response, name):
    return text(re.search(rf'<tr role="row" data-run="{re.escape(name)}".*?</tr>', response.text, re.DOTALL)[0])


def test_the_list_has_every_run_and_sweep(seen):
    listed = seen.get("/")
    assert set(names(listed)) == {"general", "gold", "other/cupid", "sweep", "sweep/gold", "sweep/none"}
    e = json.loads((seen.folder / "gold" / "metrics.json").read_text())["metrics"]["score.total"]
    score = f"{e['value']:.1f} {e['low']:.1f} – {e['high']:.1f} * score.total {e['n']} complete"
    assert row(listed, "gold").startswith(
        f"gold hicupid data mini not the benchmark baseline/gold builtin full temperature 0.6 {score} 20"
    )
    assert "temperature 0.0" in row(listed, "general")
    assert "2 settings" in row(listed, "sweep")


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("name", "general", "sweep/none"),
        ("-name", "sweep/none", "general"),
        ("benchmark", "other/cupid", "gold"),
        ("-model", "other/cupid", "general"),
        ("history", "general", "sweep/none"),
        ("-when", "other/cupid", "gold"),
        ("nonsense", "other/cupid", "gold"),
    ],
)
def test_headings_sort(seen, asked, first, last):
    found = names(seen.get("/", params={"sort": asked}))
    assert first in found[:3]
    assert last in found[-3:]


def test_sorted_by_score_what_has_none_comes_last_either_way(runs):
    copied(runs / "gold", runs / "failed", status="failed")
    (runs / "general" / "metrics.json").write_text("x")
    with Viewer(runs) as seen:
        for asked in ("score", "-score"):
            assert set(names(seen.get("/", params={"sort": asked}))[-2:]) == {"failed", "general"}
        scores = [names(seen.get("/", params={"sort": asked}))[:5] for asked in ("score", "-score")]
    assert sorted(scores[0]) == sorted(scores[1])
    assert scores[0] != scores[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cupid inference", {"other/cupid"}),
        ("GENERAL", {"general"}),
        ("baseline/gold none", {"sweep/none"}),
        ("sweep complete", {"sweep", "sweep/gold", "sweep/none"}),
        ("no such thing", set()),
        (EVIL, set()),
    ],
)
def test_the_filter_wants_every_word(seen, words, expected):
    listed = seen.get("/", params={"q": words})
    assert set(names(listed)) == expected
    assert "<script>alert" not in listed.text


def test_a_page_has_a_hundred_runs(runs):
    for n in range(230):
        copied(runs / "gold", runs / f"copy-{n:03d}", written=f"2020-01-01T{n // 60:02d}:{n % 60:02d}:00+00:00")
    with Viewer(runs) as seen:
        pages = [names(seen.get("/", params={"q": "copy-", "page": n})) for n in (1, 2, 3, 4, "x", -1)]
    assert [len(found) for found in pages] == [100, 100, 30, 30, 100, 100]
    assert pages[0][0] == "copy-229"
    assert pages[2] == [f"copy-{n:03d}" for n in reversed(range(30))]


def test_a_run_is_shown_by_its_numbers_and_not_by_the_page_in_its_folder(runs):
    (runs / "gold" / "report.html").write_text("<script>alert('someone else')</script>")
    with Viewer(runs) as seen:
        shown = seen.get("/run/gold")
        policy = shown.headers["content-security-policy"]
    assert "someone else" not in shown.text
    assert "baseline/gold" in shown.text
    assert '<a href="/">All runs</a>' in shown.text
    assert policy.startswith(page.policy())
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("data", "there"), [("mini", True), ("12kimih/HiCUPID", False), ("/nowhere", False), (["mini"], False)]
)
def test_histories_come_from_a_set_at_hand_and_nothing_is_fetched(runs, data, there):
    path = runs / "gold" / "run.json"
    manifest = json.loads(path.read_text())
    manifest["config"]["data"]["name"] = data
    path.write_text(json.dumps(manifest))
    with Viewer(runs) as view:
        page = view.get("/run/gold")
    assert page.status_code == 200
    assert ('id="history-0"' in page.text) == there


def test_a_page_changes_with_its_run(runs):
    with Viewer(runs) as seen:
        before = seen.get("/run/gold").text
        metrics = json.loads((runs / "gold" / "metrics.json").read_text())
        (runs / "gold" / "metrics.json").write_text(json.dumps(metrics | {"notes": ["quite another note"]}))
        after = seen.get("/run/gold").text
    assert "quite another note" not in before
    assert "quite another note" in after


def test_a_sweeps_links_lead_to_its_runs(seen):
    shown = seen.get("/run/sweep")
    links = re.findall(r'href="([^"]*report\.html)"', shown.text)
    assert links == ["/run/sweep/none/report.html", "/run/sweep/gold/report.html"]
    came = seen.get(links[0])
    assert (came.status_code, came.headers["location"]) == (303, "/run/sweep/none")
    assert seen.get("/run/sweep/none").status_code == 200


def test_a_sweeps_links_do_not_leave_the_folder(runs, tmp_path):
    shutil.copytree(runs / "gold", tmp_path / "outside")
    summary = json.loads((runs / "sweep" / "sweep.json").read_text())
    summary["points"]["none"]["folder"] = "../../outside"
    (runs / "sweep" / "sweep.json").write_text(json.dumps(summary))
    with Viewer(runs) as seen:
        links = re.findall(r'href="([^"]*report\.html)"', seen.get("/run/sweep").text)
        assert seen.get(links[0]).status_code == 303  # the run of that name in the sweep's own folder
        assert "outside" not in links[0]
        compared = seen.get("/compare", params={"run": "sweep"})
    assert compared.status_code == 400


def raw(seen, path):
    """The server's answer to a path that no library has normalized."""
    with socket.create_connection(("127.0.0.1", seen.address.port)) as connection:
        port = seen.address.port
        cookie = f"{cookie_name(seen.address, PEOPLE)}={TOKEN}"
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Cookie: {cookie}"]
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        return connection.makefile("rb").read()


@pytest.mark.parametrize("way", ["/run/", "/progress/", "/compare?run="])
@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "..%2Foutside",
        "%2e%2e/outside",
        "gold/../../outside",
        "gold%2F..%2F..%2Foutside",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "gold%00",
        "gold/run.json",
        "..%5Coutside",
        "",
        "%FF%FE",
    ],
)
def test_a_name_is_never_a_path(runs, way, name):
    shutil.copytree(runs / "gold", runs.parent / "outside")
    with Viewer(runs) as seen:
        assert raw(seen, way + name).split(b" ", 2)[1] in (b"404", b"400")


ODD = [
    "<script>alert(1)<",
    "a b?c#d%2F&e=f",
    "quotes \"'",
    "\u202egnp.\u2066",
    "雪 ünï",
    "back\\slash",
    "%00",
]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_work_and_are_text(runs, name):
    copied(runs / "gold", runs / name)
    with Viewer(runs) as seen:
        listed = seen.get("/")
        assert escape_control_characters(name) in names(listed)
        assert f'name="run" value="{escape(name)}"' in listed.text
        assert "<script>alert" not in listed.text
        shown = seen.get("/run/" + quote(name))
        assert shown.status_code == 200
        assert "<script>alert" not in shown.text
        assert seen.get("/progress/" + quote(name)).json()["status"] == "complete"
        assert seen.get("/compare", params={"run": [name, "general"]}).status_code == 200


def test_what_a_run_holds_is_text(runs):
    folder = copied(runs / "gold", runs / "evil", config={"model": EVIL, "judge": EVIL}, reason=EVIL)
    metrics = json.loads((folder / "metrics.json").read_text())
    metrics["notes"] = [EVIL]
    metrics["metrics"][EVIL] = metrics["metrics"]["win"]
    (folder / "metrics.json").write_text(json.dumps(metrics))
    copied(runs / "evil", runs / "stopped", status="running")
    usage = {EVIL: {"model": EVIL, "requests": EVIL, "cost": EVIL}}
    (runs / "stopped" / "progress.json").write_text(
        json.dumps({"done": 1, "total": 2, "written": EVIL, "usage": usage})
    )
    with Viewer(runs) as seen:
        for path in (
            "/",
            "/run/evil",
            "/run/stopped",
            "/compare?run=evil&run=other/cupid",
            "/compare?run=evil&run=gold",
        ):
            shown = seen.get(path)
            assert shown.status_code == 200
            assert "<script>alert" not in shown.text
            assert "<img src=x" not in shown.text
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown.text


BROKEN = {
    "metrics.json": [
        "x",
        '{"notes": ["half a pair: \\ud800"]}',
        '{"n": NaN}',
        "[]",
        "{}",
        '{"metrics": [1], "groups": 3}',
        '{"metrics": {"score.total": 1}}',
        None,
    ],
    "records.jsonl": ["x", '{"key": 1}\n[', "[]\n", "3\n"],
    "run.json": ["x", "{}", None],
}


@pytest.mark.parametrize(("name", "content"), [(name, one) for name, several in BROKEN.items() for one in several])
def test_a_broken_run_is_listed_and_shown_with_the_reason(runs, name, content):
    path = copied(runs / "gold", runs / "broken") / name
    path.unlink()
    if content is not None:
        path.write_text(content)
    with Viewer(runs) as seen:
        listed = seen.get("/")
        assert {"broken", "gold"} <= set(names(listed))
        if name != "records.jsonl":
            assert f"broken {name} " in row(listed, "broken")
        shown = seen.get("/run/broken")
        assert shown.status_code == 200
        assert name in text(shown.text)
        assert seen.get("/compare", params={"run": ["broken", "gold"]}).status_code == 200
        assert "broken" not in row(listed, "gold")


def test_numbers_without_records_are_shown(runs):
    (runs / "gold" / "records.jsonl").unlink()
    with Viewer(runs) as seen:
        shown = text(seen.get("/run/gold").text)
    assert "records.jsonl is missing, so no items are shown" in shown
    assert "score.total" in shown


@pytest.mark.parametrize("name", ["metrics.json", "records.jsonl"])
def test_a_link_in_place_of_a_file_is_not_followed(runs, tmp_path, name):
    secret = tmp_path / "secret"
    shutil.move(runs / "gold" / name, secret)
    (runs / "gold" / name).symlink_to(secret)
    with Viewer(runs) as seen:
        assert f"{name} is not a regular file" in text(seen.get("/run/gold").text)
        assert f"{name} is not a regular file" in text(seen.get("/compare?run=gold&run=general").text)


def test_a_run_whose_process_is_gone_is_interrupted(runs):
    copied(runs / "gold", runs / "killed", status="running")
    progress = {"written": "2026-01-01T12:00:00+00:00", "done": 7, "total": 60, "usage": {}}
    (runs / "killed" / "progress.json").write_text(json.dumps(progress))
    with Viewer(runs) as seen:
        told = row(seen.get("/"), "killed")
        shown = seen.get("/run/killed")
        earlier = seen.get("/run/killed?results")
    assert "interrupted 7 of 60 items" in told
    assert "run the same command again to resume" in told
    assert "Run the same command again to resume" in text(shown.text)
    assert 'http-equiv="refresh"' not in shown.text
    assert "score.total" in text(earlier.text)


def test_a_failed_run_says_why(runs):
    copied(runs / "gold", runs / "failed", status="failed", reason="the key was refused")
    with Viewer(runs) as seen:
        assert "failed the key was refused" in row(seen.get("/"), "failed")
        assert "the key was refused" in text(seen.get("/run/failed").text)


def test_a_run_without_a_score_is_not_ticked_off(runs, monkeypatch, tmp_path):
    (tmp_path / "broken_models.py").write_text(
        "def model(prompt, **settings):\n    raise ValueError('the <b>cable</b> is out')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    bowstring.evaluate("hicupid", model="python:broken_models:model", limit=3, out=runs / "unscored")
    with Viewer(runs) as seen:
        told = row(seen.get("/"), "unscored")
        shown = text(seen.get("/run/unscored").text)
    assert "no scores 0 unscored 3 failed" in told
    assert "complete" not in told
    assert "3 of the failures:" in shown
    assert "the <b>cable</b> is out" in shown


def test_an_empty_folder_says_how_to_fill_it(tmp_path):
    with Viewer(tmp_path) as seen:
        shown = seen.get("/")
    assert shown.status_code == 200
    assert "No runs here yet. bowstring demo creates some" in text(shown.text)


def test_comparing_gives_paired_differences(seen):
    shown = seen.get("/compare", params={"run": ["gold", "general"]})
    assert "2 runs compared" in text(shown.text)
    assert shown.headers["content-security-policy"].startswith(page.policy())
    assert '<a href="/run/general">' in shown.text
    assert "2 runs compared" in text(seen.get("/compare", params={"run": "sweep"}).text)


def test_runs_that_cannot_be_paired_stand_side_by_side_with_the_reason(seen):
    shown = text(seen.get("/compare", params={"run": ["gold", "other/cupid"]}).text)
    assert "their benchmark differs" in shown
    metrics = json.loads((seen.folder / "gold" / "metrics.json").read_text())["metrics"]
    for name, e in metrics.items():
        assert f"n {e['n']}" in shown.partition(f" {name} ")[2][:60]
    assert str(seen.folder) not in shown


def test_what_to_keep_in_mind_of_runs_stands_above_their_numbers(runs):
    for name, said in (("gold", {"failed": 3}), ("other/cupid", {"failed": EVIL, "notes": [EVIL, 7]})):
        path = runs / name / "metrics.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | said))
    with Viewer(runs) as seen:
        shown = seen.get("/compare", params={"run": ["gold", "general", "other/cupid"]}).text
    notes = [text(note) for note in re.findall(r'<p class="note">.*?</p>', shown)]
    builtin = "judged by builtin, which compares words: a smoke test, not a measurement"
    evil = EVIL.replace("\u202e", "\\u202e")
    small = (
        "is a small set bundled with Bowstring for trying it out. Scores on it cannot be compared with published ones."
    )
    assert notes[1:] == [
        f"gold , general : Not the HiCUPID benchmark: mini/hicupid {small}",
        f"gold , general : {builtin}",
        "gold : of 60 items: 3 failed",
        f"other/cupid : Not the CUPID benchmark: mini/cupid {small}",
        f"other/cupid : {evil}",
    ]


def test_one_run_is_not_compared(seen):
    for asked in ({}, {"run": "gold"}, {"run": ["gold", "gold"]}):
        assert seen.get("/compare", params=asked).status_code == 400


def test_a_run_of_a_benchmark_that_is_not_installed_is_listed_and_says_so(runs):
    run = copied(runs / "gold", runs / "foreign", config={"benchmark": "elsewhere"})
    metrics = json.loads((run / "metrics.json").read_text())
    e = {"value": 1234.5678, "low": 0.25, "high": 9000.0, "n": 7, "clusters": 3, "trusted": False}
    metrics |= {"benchmark": "elsewhere", "metrics": {"joy": e, "score.total": e}}
    (run / "metrics.json").write_text(json.dumps(metrics))
    swept = shutil.copytree(runs / "sweep", runs / "foreign-sweep")
    summary = json.loads((swept / "sweep.json").read_text())
    summary |= {"benchmark": "elsewhere", "config": summary["config"] | {"benchmark": "elsewhere"}}
    summary["points"] = {name: point | {"metrics": {"joy": e}} for name, point in summary["points"].items()}
    (swept / "sweep.json").write_text(json.dumps(summary))
    with Viewer(runs) as seen:
        listed = seen.get("/", params={"sort": "score"})
        assert "elsewhere data mini not the benchmark baseline/gold builtin full" in row(listed, "foreign")
        assert "1,235 0.25 – 9,000 * joy 7 complete" in row(listed, "foreign")
        assert "fewer than 30 clusters" in listed.text
        assert "joy, 2 settings" in row(listed, "foreign-sweep")
        for name in ("foreign", "foreign-sweep"):
            opened = seen.get(f"/run/{name}")
            assert opened.status_code == 200
            assert "a run of the benchmark elsewhere, which is not installed" in text(opened.text)
        beside = seen.get("/compare", params={"run": ["foreign", "gold"]})
        assert beside.status_code == 200
        assert "1,235" in text(beside.text)


def test_a_run_of_the_year_1_is_listed_with_the_others(runs):
    copied(runs / "gold", runs / "first", written="0001-01-01T00:00:00+14:00")
    copied(runs / "gold", runs / "last", written="9999-12-31T23:59:59-12:00")
    with Viewer(runs) as seen:
        listed = seen.get("/")
        assert seen.get("/run/first").status_code == 200
    assert listed.status_code == 200
    assert all(f"/run/{name}" in listed.text for name in ("first", "last", "gold", "sweep"))
