"""The page of a run, in a real browser: it opens from disk, needs no other file, and never renders text as markup."""

import json
import re

from playwright.sync_api import expect

import bowstring
from bowstring.benchmarks.loading import load_hicupid
from bowstring.benchmarks.view import ShownDialogue
from bowstring.reports.page import write_page
from bowstring.reports.sweep_page import write_sweep_page

HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    "</script></details>{{ 7*7 }}&amp;<b>bold</b> \u202eright to left\u202c 😀 ＜ "
)
LONG = "word " * 20_000  # 100 KB


class Hostile:
    """Every answer is an injection attack; the first one is also long."""

    identity = "hostile"

    def __init__(self):
        self.asked = 0

    def __call__(self, messages):
        self.asked += 1
        return HOSTILE + (LONG if self.asked == 1 else f"number {self.asked}")


def run_of(tmp_path, model, **settings):
    return bowstring.evaluate("hicupid", model=model, runs=tmp_path / "runs", concurrency=1, **settings)


def test_hostile_answers_are_read_as_text(tmp_path, opened):
    run = run_of(tmp_path, Hostile(), limit=10)
    found = opened(run.folder / "report.html")
    page = found.page
    page.locator("#items > details").first.locator("summary").first.click()
    answer = page.locator("#items dd").nth(1)
    answer.wait_for()
    assert answer.inner_text().startswith("<script>document.title='taken'</script><img src=x")
    assert "\\u202eright to left\\u202c 😀" in answer.inner_text()
    assert len(answer.inner_text()) > 100_000
    assert page.locator("#items b").count() == 0
    assert page.title().startswith("hicupid: ")
    assert found.errors == []
    assert found.asked == [(run.folder / "report.html").as_uri()]
    # Neither does a long answer make the page wide, nor a mark reorder what stands around it.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_names_are_read_as_text(tmp_path, opened):
    run = run_of(tmp_path, Hostile(), limit=2)
    records = run.records()
    metrics = json.loads((run.folder / "metrics.json").read_text())
    metrics["config"]["model"] = metrics["config"]["judge"] = metrics["config"]["data"]["name"] = HOSTILE
    metrics["notes"] = [HOSTILE]
    metrics["groups"] = {HOSTILE: {HOSTILE: metrics["metrics"]}}
    for record in records:
        record |= {"key": HOSTILE, "type": HOSTILE, "judgement": HOSTILE, "question": HOSTILE}
    path = tmp_path / "page.html"
    path.write_text(write_page(metrics, records), encoding="utf-8")
    found = opened(path)
    assert "<script>document.title='taken'</script>" in found.page.locator("h1").inner_text()
    assert "taken" not in found.page.title()[:3]
    assert found.page.evaluate("document.images.length") == 0
    assert found.errors == []


def test_a_sweeps_page_takes_no_name_for_markup(tmp_path, browser):
    swept = bowstring.sweep("hicupid", model=Hostile(), out=tmp_path / "s", history=["none", "gold"], limit=2)
    summary = json.loads((swept.folder / "sweep.json").read_text(encoding="utf-8"))
    point = next(iter(summary["points"].values()))
    summary["points"] = {HOSTILE: point | {"folder": f'"><script>{HOSTILE}'}, "javascript": point}
    summary["points"]["javascript"] = point | {"folder": "javascript:alert(1)//"}
    summary["config"] |= {"model": HOSTILE, "judge": HOSTILE}
    summary |= {"notes": [HOSTILE], "tokenizer": HOSTILE}
    path = tmp_path / "page.html"
    path.write_text(write_sweep_page(summary), encoding="utf-8")
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    assert "<script>document.title='taken'</script>" in page.locator("body").inner_text()
    assert page.title() != "taken"
    assert page.evaluate("document.images.length") == 0
    assert page.locator("b").count() == 0
    assert set(page.evaluate("[...document.links].map(link => link.protocol)")) == {"file:"}
    assert said == []
    page.close()


def test_items_are_found_by_words_and_by_facets(tmp_path, opened):
    gold = {q.question: q.personalized_answer for q in load_hicupid("mini").questions()}
    run = run_of(tmp_path, lambda messages: gold[messages[-1]["content"]])
    page = opened(run.folder / "report.html").page
    assert page.locator("#found").inner_text() == "60 items"
    assert page.locator("#items > details").count() == 50
    page.locator("#after").click()
    assert page.locator("#items > details").count() == 10
    page.get_by_label("type").select_option("schedule")
    schedule = [r for r in run.records() if r["type"] == "schedule"]
    assert page.locator("#found").inner_text() == f"{len(schedule)} of 60 items"
    page.get_by_label("type").select_option("")
    page.locator("select[name=score]").select_option("0.5")
    half = [r for r in run.records() if r["score"] == 0.5]
    assert page.locator("#found").inner_text() == f"{len(half)} of 60 items"
    page.locator("select[name=score]").select_option("")
    # Words of an answer, which is not in the list itself.
    record = run.records()[37]
    page.get_by_label("Search").fill(record["answer"][5:45].upper())
    expect(page.locator("#items > details")).to_have_count(1)
    assert record["question"] in page.locator("#items > details summary").inner_text()


def test_items_can_be_put_in_order(tmp_path, opened):
    lengths = iter(range(100, 0, -1))
    run = run_of(tmp_path, lambda messages: "word " * next(lengths), limit=20)
    page = opened(run.folder / "report.html").page
    page.get_by_label("order").select_option(label="words, lowest first")
    first = page.locator("#items > details").first
    shortest = min(run.records(), key=lambda r: len(r["answer"]))
    assert shortest["key"] in first.inner_text()


def test_the_history_shows_what_the_answer_needs(tmp_path, opened):
    run = run_of(tmp_path, lambda messages: "yes", limit=1, history="bm25/dialogue/3")
    (record,) = run.records()
    page = opened(run.folder / "report.html").page
    page.locator("#items summary").first.click()
    page.locator("#items .past > summary").click()
    history = load_hicupid("mini").history(record["user"])
    dialogues = page.locator("#items .past > details")
    dialogues.nth(len(history) - 1).wait_for()  # the history is unpacked when it is opened
    assert dialogues.count() == len(history)
    marked = [n for n in range(len(history)) if "evidence" in dialogues.nth(n).locator("summary").inner_text()]
    found = [n for n in range(len(history)) if "retrieved" in dialogues.nth(n).locator("summary").inner_text()]
    assert [history[n].id for n in marked] == record["evidence"]
    assert sorted(history[n].id for n in found) == sorted(record["retrieved"])
    assert dialogues.nth(marked[0]).get_attribute("open") is not None
    assert history[marked[0]].messages[0].text in dialogues.nth(marked[0]).inner_text()


def test_a_run_of_20000_items_opens_and_is_searched(tmp_path, opened):
    run = run_of(tmp_path, lambda messages: "yes", limit=40)
    some = run.records()
    records = [r | {"key": f"{n}/{r['key']}", "answer": f"answer number {n}"} for n in range(500) for r in some]
    metrics = json.loads((run.folder / "metrics.json").read_text())
    data = load_hicupid("mini")
    told = [ShownDialogue(d.id, d.kind, [(m.role, m.text) for m in d.messages]) for d in data.history(some[0]["user"])]
    path = tmp_path / "page.html"
    path.write_text(write_page(metrics, records, lambda user: told), encoding="utf-8")
    page = opened(path).page
    assert page.locator("#found").inner_text() == "20,000 items"
    assert page.locator("#items > details").count() == 50
    page.get_by_label("Search").fill("answer number 499")
    expect(page.locator("#found")).to_have_text("40 of 20,000 items", timeout=300_000)


def test_a_run_without_items_has_a_page(tmp_path, opened):
    run = run_of(tmp_path, lambda messages: "yes", limit=1)
    metrics = json.loads((run.folder / "metrics.json").read_text())
    path = tmp_path / "page.html"
    path.write_text(write_page(metrics, []), encoding="utf-8")
    found = opened(path)
    assert "no items" in found.page.locator("#items").inner_text()
    assert found.errors == []


def test_without_a_script_the_numbers_are_there(tmp_path, browser):
    run = run_of(tmp_path, lambda messages: "yes")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((run.folder / "report.html").as_uri())
    assert "score.total" in page.locator("table").first.inner_text()
    assert "records.jsonl has all items" in page.locator("#items").inner_text()
    context.close()


def test_the_same_run_has_the_same_page(tmp_path):
    one, two = (run_of(tmp_path / name, Hostile(), limit=6) for name in ("a", "b"))
    pages = [re.sub(r"hostile\S*", "", (run.folder / "report.html").read_text()) for run in (one, two)]
    assert pages[0] == pages[1]


def test_cupid_items_say_what_was_covered(tmp_path, opened):
    run = bowstring.evaluate(
        "cupid",
        model=lambda messages: "### Most Likely Preference\n\nShort answers in plain words.",
        runs=tmp_path / "runs",
    )
    found = opened(run.folder / "report.html")
    page = found.page
    page.locator("#items > details summary").first.click()
    record = run.records()[0]
    text = page.locator("#items dl").inner_text()
    assert record["preference"] in text
    assert all(entry in text for entry in record["checklist"])
    assert "missing: " in text or "covered: " in text or "partly: " in text
    page.locator("#items .past > summary").click()
    assert record["context_factor"] in page.locator("#items .needed summary").first.inner_text()
    assert found.errors == []
