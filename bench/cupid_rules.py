"""Does training on one's own sessions raise the share of rules that answers meet, also for rules never trained on?

    python bench/cupid_rules.py --work DIR --model hf-folder-or-id [--train 250] [--test 100] [--epochs 2]

Makes an offline CUPID set, asks the model to answer the requests of the split test, trains it on the split train (SFT
on accepted replies, then DPO from there, and DPO alone), asks again, and prints the share of rules met: rules that the
training data has, and held-out ones. Every step resumes: repeat the command after it was stopped. `--stop-after` ends
after one step, for machines that lend time in pieces.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bowstring
from bowstring.api.calls import synthesize
from bowstring.benchmarks.cupid.rules import rules
from bowstring.benchmarks.cupid.truth import load_truth
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate
from bowstring.training.settings import Method

STEPS = ("base", "sft", "dpo", "sft+dpo")


def main() -> None:
    options = _options()
    data = options.work / "set"
    if not data.exists():
        synthesize("cupid", offline=True, personas=options.test, train_personas=options.train, out=data)
    print(f"{'model':10}{'rules seen in training':>34}{'held-out rules':>34}{'score':>8}", flush=True)
    for step in STEPS[: STEPS.index(options.stop_after) + 1]:
        if step not in options.steps:
            continue
        adapter = None if step == "base" else _trained(step, data, options)
        run = _answered(step, adapter, data, options)
        seen, held_out = (_share(_rules_met(run, data, held_out=which)) for which in (False, True))
        score = run.metrics["metrics"]["generation.score"]["value"]
        print(f"{step:10}{seen:>34}{held_out:>34}{score:8.2f}", flush=True)
    for control in run.metrics["controls"]:
        print(f"{control['kind']}: {control['name']:24}{control['scores']['generation.score']:8.2f}")


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", default="embedded", help="weights: a folder, a hub id, or embedded")
    parser.add_argument("--train", type=int, default=250, help="personas to train on")
    parser.add_argument("--test", type=int, default=100, help="personas to test on; every second has held-out rules")
    parser.add_argument("--history", default="gold", choices=("gold", "full"))
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--lr", type=float, default=2e-4, help="of SFT; DPO has a twentieth of it")
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--limit", type=int, help="train on the first so many instances only")
    parser.add_argument("--ask", type=int, help="ask the first so many instances only")
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--max-length", type=int, default=8192)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", nargs="+", default=list(STEPS), choices=STEPS)
    parser.add_argument("--stop-after", default=STEPS[-1], choices=STEPS)
    return parser.parse_args()


def _trained(step: str, data: Path, options: Any) -> Path:
    """The adapter of a step; training resumes where it was stopped."""
    out: Path = options.work / f"{step}-{options.seed}"
    method: Method = "sft" if step == "sft" else "dpo"
    given: dict[str, Any] = {"alpha": 2 * options.rank, "rank": options.rank, "dropout": 0.0}
    if step == "sft+dpo":
        given = {"init_from": str(_trained("sft", data, options))}
    if method == "sft":
        given["task"] = "generation"
    bowstring.train(
        method,
        data=str(data),
        model=options.model,
        out=out,
        history=options.history,
        epochs=options.epochs,
        lr=options.lr if method == "sft" else options.lr / 20,
        limit=options.limit,
        max_length=options.max_length,
        precision=options.precision,
        seed=options.seed,
        **given,
    )
    return out


def _answered(step: str, adapter: Path | None, data: Path, options: Any) -> Any:
    model = f"hf/{options.model}" + (f"+{adapter}" if adapter else "")
    return bowstring.evaluate(
        "cupid",
        model=model,
        data=str(data),
        judge="truth",
        task="generation",
        history=options.history,
        max_tokens=options.max_tokens,
        limit=options.ask,
        out=options.work / f"run-{step}-{options.seed}",
    )


def _rules_met(run: Any, data: Path, *, held_out: bool) -> list[tuple[str, bool]]:
    """For each answer and each rule of its preference: the persona, and whether the answer meets the rule."""
    truth = load_truth(str(data))
    instances = {instance.key: instance for instance in bowstring.load_cupid(str(data), splits=["test"]).instances}
    found = []
    for record in run.records():
        if "response" not in record.get("generation", {}):
            continue
        instance = instances[record["key"]]
        verdict = truth.verdict(instance, record["generation"]["response"])
        for rule in (*verdict.met, *verdict.unmet):
            if rules()[rule].held_out == held_out:
                found.append((instance.persona_id, rule in verdict.met))
    return found


def _share(met: Sequence[tuple[str, bool]]) -> str:
    if not met:
        return "–"
    scores = [Score(persona, float(is_met)) for persona, is_met in met]
    found = estimate({"x": scores}, lambda means: means["x"], ends=(0, 1))
    assert found is not None
    return f"{100 * found.value:.1f}% [{100 * found.low:.1f}, {100 * found.high:.1f}] n {found.n}"


if __name__ == "__main__":
    main()
