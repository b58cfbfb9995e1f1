"""How much faster are Bowstring's BLEU and ROUGE-L than the libraries whose values they equal?

    pip install evaluate datasets rouge-score sacrebleu
    python bench/text_overlap.py
    python bench/text_overlap.py --metrics DIR    without access to the hub: DIR has bleu/bleu.py, rouge/rouge.py

Each answer is scored alone, as the benchmark requires. The references are `evaluate`, called per example (its `load`
fetches code from the hub), and rouge_score, which it uses, with a scorer that is created once. The values are
compared.
"""

import argparse
import importlib.util
import time

from rouge_score.rouge_scorer import RougeScorer

from bowstring.benchmarks.loading import load_hicupid
from bowstring.metrics.text import bleu, rouge_l


def timed(score, pairs):
    start = time.perf_counter()
    values = [score(said, wanted) for said, wanted in pairs]
    return (time.perf_counter() - start) / len(pairs), values


def of_evaluate(folder):
    """Both metrics through `evaluate`, or None if it or its scripts are not available."""
    if importlib.util.find_spec("evaluate") is None:
        return None
    import evaluate

    try:
        found = [evaluate.load(f"{folder}/{name}" if folder else name) for name in ("bleu", "rouge")]
    except (OSError, ValueError) as error:
        print(f"evaluate cannot load its metrics: {str(error).splitlines()[0][:100]}")
        return None

    def both(said, wanted):
        ours = {"predictions": [said], "references": [wanted]}
        return found[0].compute(**ours, smooth=True)["bleu"], found[1].compute(**ours, rouge_types=["rougeL"])["rougeL"]

    return both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--metrics")
    reference = of_evaluate(parser.parse_args().metrics)
    pairs = [(q.general_answer, q.personalized_answer) for q in load_hicupid("mini").questions()]
    # All different, so that nothing is cached.
    fresh = [(f"{said} {n}", f"{wanted} {n}") for n in range(50) for said, wanted in pairs]
    ours, values = timed(lambda said, wanted: (bleu(said, wanted), rouge_l(said, wanted)), fresh)
    print(f"{len(fresh)} answers\n  {'bowstring, both':34} {1e6 * ours:10.1f} µs per answer")
    scorer = RougeScorer(["rougeL"])
    seconds, theirs = timed(lambda said, wanted: scorer.score(wanted, said)["rougeL"].fmeasure, fresh)
    worst = max(abs(a[1] - b) for a, b in zip(values, theirs, strict=True))
    print(
        f"  {'rouge_score alone, ROUGE-L':34} {1e6 * seconds:10.1f} µs   {seconds / ours:6.1f} x   differs {worst:.0e}"
    )
    if reference:
        few = fresh[:120]
        seconds, theirs = timed(reference, few)
        known = zip(values, theirs, strict=False)
        worst = max(abs(a - b) for mine, other in known for a, b in zip(mine, other, strict=True))
        name = "evaluate per example, both"
        print(f"  {name:34} {1e6 * seconds:10.1f} µs   {seconds / ours:6.1f} x   differs {worst:.0e}")


if __name__ == "__main__":
    main()
