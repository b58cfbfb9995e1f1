"""People in real browsers: a study from its first page to the exported ratings."""

import json
import re
from collections import Counter
from urllib.parse import urlencode

import httpx
import pytest

from bowstring.benchmarks.cupid.people import covered_item, rated_item
from bowstring.benchmarks.hicupid.people import item_of
from bowstring.datasets.ratings import read_ratings
from tests.support.annotating import (
    READY,
    Annotating,
    answers,
    at,
    begin,
    enter,
    everything_sent,
    exported,
    press,
    records,
    side_of,
)
from tests.support.command import bowstring as command


def test_a_study_by_keys_and_mouse_says_what_was_chosen(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(
        asked["secret-alpha"], "--annotators", "anna", "--limit", "12", "--checks", "0.1", "--db", db
    ) as study:
        page = enter(browser, study.links["anna"])
        assert "token" not in page.url
        begin(page)
        keys = {"A": ["a", "1", "ArrowLeft"], "B": ["b", "2", "ArrowRight"]}
        meant = {}
        for n in range(13):
            assert at(page) == f"{n + 1} of 13"
            side = side_of(page, "Whimsy")
            question = page.locator(".asked .text").inner_text()
            if side is None:  # a check: one of the two was written for somebody else
                meant[question, "check"] = "tie"
                press(page, "t")
            elif n % 4 == 0:
                meant[question, "rated"] = "win"
                page.fill("textarea", f"note {n} ✓\nmore")
                with page.expect_navigation():
                    page.get_by_role("button", name=f"Answer {side}").click()
                page.wait_for_selector(READY, state="attached")
            elif n % 4 == 1:
                meant[question, "rated"] = "lose"
                other = "B" if side == "A" else "A"
                press(page, keys[other][n % 3])
            elif n % 4 == 2:
                meant[question, "rated"] = "tie"
                press(page, "0")
            else:
                meant[question, "rated"] = "win"
                press(page, keys[side][n % 3])
        assert page.get_by_role("heading").inner_text() == "Thank you, anna"
    lines = exported(db)
    rows = {r["key"]: r for r in records(asked["secret-alpha"])}
    said = {(rows[line["key"]]["question"], "check" if line["gold"] else "rated"): line["label"] for line in lines}
    assert said == meant
    assert [line["place"] for line in lines] == list(range(1, 14))
    noted = [line["comment"] for line in lines if line["comment"]]
    assert noted
    assert all(re.fullmatch(r"note \d+ ✓\nmore", note) for note in noted)
    for line in lines:
        assert line["seconds"] > 0
        if not line["gold"]:
            assert line["item"] == item_of("compare", rows[line["key"]])
            assert line["cluster"] == str(rows[line["key"]]["user"])
            assert (
                line["first"]
                == ("secret-alpha" if (line["choice"] == "A") == (line["label"] == "win") else "gold answer")
                or line["label"] == "tie"
            )
    check = next(line for line in lines if line["gold"])
    assert (check["expected"], check["right"]) == (["win"], False)


def test_two_people_at_once_share_what_is_shared_and_nothing_else(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    arguments = (
        asked["secret-alpha"],
        asked["secret-beta"],
        "--annotators",
        "anna,ben",
        "--limit",
        "10",
        "--overlap",
        "0.4",
        "--checks",
        "0",
    )
    with Annotating(*arguments, "--db", db) as study:
        people = {name: enter(browser, study.links[name]) for name in ("anna", "ben")}
        for page in people.values():
            begin(page)
        for n in range(7):
            for name, page in people.items():
                assert at(page) == f"{n + 1} of 7"
                # Anna prefers whimsy, and ben does not.
                press(page, side_of(page, "Whimsy" if name == "anna" else "Terse").lower())
        for name, page in people.items():
            assert page.get_by_role("heading").inner_text() == f"Thank you, {name}"
    lines = exported(db)
    by_name = {name: {line["item"]: line for line in lines if line["rater"] == name} for name in people}
    assert {line["label"] for line in by_name["anna"].values()} == {"win"}
    assert {line["label"] for line in by_name["ben"].values()} == {"lose"}
    both = by_name["anna"].keys() & by_name["ben"].keys()
    assert len(both) == 4
    assert both == {line["item"] for line in lines if line["shared"]}
    assert len(by_name["anna"].keys() | by_name["ben"].keys()) == 10
    for lines_of in by_name.values():
        assert Counter(line["first"] for line in lines_of.values())["secret-alpha"] in (3, 4)


def test_a_reload_a_way_back_and_a_change(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(asked["secret-alpha"], "--limit", "5", "--checks", "0", "--db", db) as study:
        page = enter(browser, study.links["annotator-1"])
        begin(page)
        press(page, "a")
        press(page, "b")
        before = answers(page)
        page.reload()
        page.wait_for_selector(READY, state="attached")
        assert at(page) == "3 of 5"
        assert answers(page) == before
        # A link that is opened again goes on where one was.
        page.goto(study.links["annotator-1"])
        begin(page)
        assert at(page) == "3 of 5"
        press(page, "z")
        assert at(page) == "2 of 5"
        assert page.locator("button[aria-pressed=true]").get_attribute("value") == "B"
        press(page, "t")
        assert at(page) == "3 of 5"
        page.go_back()
        page.wait_for_selector(READY, state="attached")
        assert at(page) == "2 of 5"
        assert page.locator("button[aria-pressed=true]").get_attribute("value") == "tie"
    lines = exported(db)
    assert [(line["choice"], line["changes"]) for line in lines] == [("A", 0), ("tie", 1)]


def test_criteria_are_rated_beside_the_choice(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(
        *(asked["secret-alpha"], "--limit", "3", "--checks", "0", "--db", db),
        *("--criteria", "personalization,logical-validity"),
    ) as study:
        page = enter(browser, study.links["annotator-1"])
        begin(page)
        assert page.evaluate("document.activeElement.tagName") == "H1"
        page.keyboard.press("Enter")  # nothing is chosen yet: the browser asks for it
        assert at(page) == "1 of 3"
        whimsy = side_of(page, "Whimsy")
        other = "B" if whimsy == "A" else "A"
        page.keyboard.press(whimsy.lower())
        for side, degree in ((whimsy, "2"), (other, "5")):
            page.get_by_role("group", name=f"personalization, answer {side}").get_by_label(degree).check()
        press(page, "Enter")
        assert at(page) == "2 of 3"
        press(page, "z")
        assert page.get_by_role("group", name=f"personalization, answer {other}").get_by_label("5").is_checked()
    (line,) = exported(db)
    assert line["label"] == "win"
    assert line["criteria"] == {"personalization": 2}
    assert line["criteria_of_other"] == {"personalization": 5}


def test_a_digit_is_for_the_criterion_that_has_the_focus(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(
        *(asked["secret-alpha"], "--limit", "3", "--checks", "0", "--db", db),
        *("--criteria", "personalization,logical-validity"),
    ) as study:
        page = enter(browser, study.links["annotator-1"])
        assert "rate the criterion that has the focus" in page.locator("dl.keys").inner_text()
        begin(page)
        whimsy = side_of(page, "Whimsy")
        rated = page.get_by_role("group", name=f"personalization, answer {whimsy}")
        page.keyboard.press("a" if whimsy == "A" else "b")
        rated.get_by_text("3", exact=True).click()
        page.keyboard.press("2")  # on second thoughts; elsewhere it would choose answer B
        assert rated.get_by_label("2").is_checked()
        for beyond in "079":  # no degree, and yet no choice: 0 is a tie elsewhere
            page.keyboard.press(beyond)
        page.keyboard.press("4")  # the focus is where it was
        assert rated.get_by_label("4").is_checked()
        page.keyboard.press("Tab")
        page.keyboard.press("1")
        assert page.locator("input[name=choice]:checked").input_value() == whimsy
        page.keyboard.press("b" if whimsy == "A" else "a")  # letters are the question's own everywhere
        press(page, "Enter")
    (line,) = exported(db)
    assert line["label"] == "lose"
    assert line["criteria"] == {"personalization": 4}
    assert line["criteria_of_other"] == {"personalization" if whimsy == "A" else "logical-validity": 1}


def test_an_answer_is_rated_from_1_to_10(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(asked["secret-delta"], "--limit", "3", "--checks", "0.4", "--db", db) as study:
        page = enter(browser, study.links["annotator-1"])
        begin(page)
        for key in ("7", "0"):
            assert "I see" in page.locator(".answer").inner_text()
            assert page.locator(".entries li").count() >= 2
            press(page, key)
        for _ in range(2):
            with page.expect_navigation():
                page.get_by_role("button", name="3", exact=True).click()
            page.wait_for_selector(READY, state="attached")
        assert page.get_by_role("heading").inner_text() == "Thank you, annotator-1"
    lines = exported(db)
    assert [line["label"] for line in lines] == ["7", "10", "3", "3"]
    assert {line["task"] for line in lines} == {"rate"}
    rows = {r["key"]: r for r in records(asked["secret-delta"])}
    for line in lines:
        if line["gold"]:
            assert line["right"] == (line["label"] in line["expected"])
        else:
            assert line["item"] == rated_item(rows[line["key"]])


def test_coverage_is_a_label_a_point(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(asked["secret-delta"], "--task", "coverage", "--limit", "2", "--checks", "0", "--db", db) as study:
        page = enter(browser, study.links["annotator-1"])
        begin(page)
        assert "Keep it short" in page.locator(".answer").inner_text()
        points = page.locator("fieldset.part").count()
        page.keyboard.press("Enter")
        assert at(page) == "1 of 2"
        page.keyboard.press("f")
        page.keyboard.press("p")
        for _ in range(points - 2):
            page.keyboard.press("n")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.wait_for_selector(READY, state="attached")
        assert at(page) == "2 of 2"
    lines = exported(db)
    assert [line["label"] for line in lines] == ["Fully Covered", "Partially Covered"] + ["Not Covered"] * (points - 2)
    row = next(r for r in records(asked["secret-delta"]) if r["key"] == lines[0]["key"])
    assert [line["item"] for line in lines] == [covered_item(row, "recall", n) for n in range(points)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize(("run", "task"), [("secret-alpha", "compare"), ("secret-delta", "coverage")])
def test_pages_fit_and_have_names_for_everything(browser, asked, tmp_path, scheme, width, run, task):
    with Annotating(
        asked[run], "--task", task, "--limit", "2", "--criteria", "clarity", "--db", tmp_path / "s.sqlite"
    ) as study:
        page = enter(browser, study.links["annotator-1"], viewport={"width": width, "height": 700}, color_scheme=scheme)
        for _ in range(2):
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.locator("h1").count() == 1
            unnamed = (
                "[...document.querySelectorAll('input:not([type=hidden]), textarea')].filter(e => !e.labels.length)"
            )
            assert page.evaluate(f"{unnamed}.length") == 0
            ink, paper = page.evaluate(
                "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
            )
            assert (_light(ink) > _light(paper)) == (scheme == "dark")
            if page.locator("form").count() == 0:
                begin(page)
        wide = page.locator("main").bounding_box()["width"]
        for part in (".asked", "textarea", ".bar-below"):
            assert page.locator(part).bounding_box()["width"] == pytest.approx(wide, abs=2)
        if task == "compare":
            one, other = (answer.bounding_box() for answer in page.locator(".pair .answer").all())
            assert (one["y"] == other["y"]) == (width > 1000)  # side by side where there is room


def _light(color):
    return sum(map(float, re.findall(r"[\d.]+", color)[:3]))


def test_ratings_can_be_read_for_agreement(asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(
        asked["secret-alpha"], "--annotators", "anna,ben", "--limit", "9", "--checks", "0.2", "--db", db
    ) as study:
        for link in study.links.values():
            everything_sent(study, link)
    assert command("annotate", "export", db, "--out", tmp_path / "people.jsonl").code == 0
    assert command("annotate", "export", db, "--out", tmp_path / "not" / "yet" / "people.jsonl").code == 0
    assert (tmp_path / "not" / "yet" / "people.jsonl").read_text() == (tmp_path / "people.jsonl").read_text()
    for out, said in (
        (tmp_path / "not", f"{tmp_path / 'not'} is a folder; expected a file to write"),
        (db / "people.jsonl", f"{db} is not a folder; choose another path"),
    ):
        ran = command("annotate", "export", db, "--out", out)
        assert (ran.code, ran.err.splitlines()) == (2, [said])
    read = read_ratings(tmp_path / "people.jsonl")
    assert {rating.task for _, rating in read.rows} == {"compare"}
    assert Counter(rating.item for _, rating in read.rows).most_common()[0][1] == 2
    assert sum(read.left_out.values()) == 2  # a gold check each
    ran = command("agree", tmp_path / "people.jsonl", asked["secret-alpha"], "--json")
    assert ran.code == 0, ran.err
    assert {"anna", "ben", "builtin"} <= set(re.findall(r'"(anna|ben|builtin)"', ran.out))
    ran = command("annotate", "status", db, "--json")
    found = json.loads(ran.out)
    assert [(s["annotator"], s["done"] == s["total"], s["checked"], s["right"]) for s in found["annotators"]] == [
        ("anna", True, 1, 0),
        ("ben", True, 1, 0),
    ]
    assert "anna" in command("annotate", "status", db).out


def answered(study, link, choose):
    """Somebody's whole study, by the beginnings of both answers."""
    with httpx.Client(follow_redirects=True) as client:
        client.get(link)
        page = client.get(study.origin + "/next")
        while "/item/" in str(page.url):
            seen = re.findall(r'role="group" aria-labelledby="answer-[AB]">(.*?)</div>', page.text, re.DOTALL)
            body = urlencode({"choice": choose([text.partition(":")[0] for text in seen])})
            page = client.post(page.url, content=body, headers={"Origin": study.origin})


def test_two_runs_that_people_compared_are_told_as_such(asked, tmp_path):
    db, people, both = (
        tmp_path / "study.sqlite",
        tmp_path / "people.jsonl",
        [asked["secret-alpha"], asked["secret-beta"]],
    )

    def for_whimsy(seen):
        return "AB"[seen.index("Whimsy speaking")] if "Whimsy speaking" in seen else "tie"

    turn = iter(range(1000))
    whims = {"anna": for_whimsy, "ben": lambda seen: "tie" if next(turn) % 2 else for_whimsy(seen)}
    some = ("--annotators", "anna,ben", "--limit", "20", "--overlap", "0.5", "--checks", "0.1", "--db", db)
    with Annotating(*both, *some) as study:
        for name, link in study.links.items():
            answered(study, link, whims[name])
    assert command("annotate", "export", db, "--out", people).code == 0
    lines = [line for line in exported(db) if not line["gold"]]
    score = {"win": 1.0, "tie": 0.5, "lose": 0.0}
    by_item = {}
    for line in lines:
        by_item.setdefault(line["item"], []).append(score[line["label"]])
    ran = command("agree", people, *both, "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)["tasks"]
    told = found["secret-alpha against secret-beta"]
    assert set(told["raters"]) == {"anna", "ben"}, "no judge saw two runs"
    assert {"anna", "ben"}.isdisjoint(found["compare"]["raters"])
    rate = told["preference"]["win_rate"]
    assert rate["value"] == pytest.approx(100 * sum(sum(own) / len(own) for own in by_item.values()) / len(by_item))
    assert (rate["n"], rate["clusters"]) == (20, len({line["cluster"] for line in lines}))
    assert rate["low"] < rate["value"] < rate["high"]
    for name in ("anna", "ben"):
        own = [score[line["label"]] for line in lines if line["rater"] == name]
        rate = told["preference"]["by_rater"][name]
        assert (rate["value"], rate["n"]) == (pytest.approx(100 * sum(own) / len(own)), len(own))
    shown = " ".join(command("agree", people, *both).out.split())
    assert "secret-alpha against secret-beta: win, tie or lose, from the side of secret-alpha" in shown
    assert "win rate of secret-alpha against secret-beta, 0–100" in shown
    assert "(gold check)" in shown
    assert "! people compared two runs with each other, but judges compare an answer with the gold answer" in shown
    alone = command("agree", people, "--rater", "anna")
    assert alone.code == 0, "one person's preference is an answer too"
    assert "rater anna" in alone.out
    assert "judges" not in alone.out

    ran = command("audit", both[0], "--checks", "length", "--labels", people)
    assert ran.code == 2
    assert ran.err.strip() == (
        f"{people}: its labels compare two runs, secret-alpha and secret-beta, and cannot correct a score; collect "
        f"labels of answers against gold answers with: bowstring annotate {both[0]}"
    )
