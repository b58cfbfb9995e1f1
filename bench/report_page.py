"""The page of a full-size run: its size, and the seconds to write it, open it and search it in a real browser.

    python bench/report_page.py                    # 500 users, 20,000 questions with full-size histories
    python bench/report_page.py --users 60 --chromium /usr/bin/chromium

The reference has the same items as plain HTML, with every text in the document, and no histories.
"""

import argparse
import html
import json
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

import bowstring
from bowstring.api.calls import synthesize
from bowstring.benchmarks.loading import load_hicupid
from bowstring.reports.items import histories_of
from bowstring.reports.page import write_page


def plainly(records) -> str:
    """A page with every item as plain HTML."""
    rows = [
        "<details><summary>" + html.escape(r["question"]) + "</summary><dl>"
        + "".join(f"<dt>{k}</dt><dd>{html.escape(str(v))}</dd>" for k, v in r.items())
        + "</dl></details>"
        for r in records
    ]  # fmt: skip
    return "<!doctype html><meta charset=utf-8>" + "\n".join(rows)


def timed(name: str, call):
    start = time.perf_counter()
    found = call()
    print(f"{name}: {time.perf_counter() - start:.2f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        synthesize("hicupid", offline=True, users=args.users, share=10, seed=5, out=work / "set")
        data = load_hicupid(str(work / "set"))
        run = bowstring.evaluate(
            "hicupid",
            model=lambda messages: f"An answer to {messages[-1]['content']}",
            judge="truth",
            data=str(work / "set"),
            runs=work / "runs",
            splits=list(data.splits),
        )
        metrics = json.loads((run.folder / "metrics.json").read_text())
        records = run.records()
        pages = {"bowstring": work / "page.html", "plain": work / "plain.html"}
        text = timed("written", lambda: write_page(metrics, records, histories_of(data)))
        pages["bowstring"].write_text(text, encoding="utf-8")
        pages["plain"].write_text(plainly(records), encoding="utf-8")
        print(
            f"{len(records):,} items; " + ", ".join(f"{n} {p.stat().st_size / 2**20:.1f} MB" for n, p in pages.items())
        )
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=args.chromium)
            for name, path in pages.items():
                page = browser.new_page()
                start = time.perf_counter()
                page.goto(path.as_uri())
                if name == "bowstring":
                    page.wait_for_selector("html[data-ready]")
                print(f"{name}: opened in {time.perf_counter() - start:.2f} s")
                if name == "bowstring":
                    key = records[-1]["answer"][-60:]
                    start = time.perf_counter()
                    page.get_by_label("Search").fill(key)
                    expect(page.locator("#found")).to_contain_text("of", timeout=60_000)
                    expect(page.locator("#found")).not_to_contain_text("Reading", timeout=60_000)
                    print(f"{name}: first search {time.perf_counter() - start:.2f} s")
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
