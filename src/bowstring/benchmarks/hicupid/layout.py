"""HiCUPID's files: dialogue/{train,test}.parquet, qa/{train,test_1,test_2}.parquet, evaluation/*.parquet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from bowstring.datasets.layout import Choice, Parts, SetLocation, find_configs
from bowstring.datasets.sources import files_below
from bowstring.errors import DataError

JUDGEMENTS_CONFIG = "evaluation"  # judge transcripts, the training data of judges
# The dialogue split of each question split: seen users are in `train`, unseen users in `test`.
_DIALOGUES_OF = {"train": "train", "test_1": "train", "test_2": "test"}


class HicupidFormat:
    benchmark = "hicupid"
    configs: tuple[str, ...] = ("dialogue", "qa", JUDGEMENTS_CONFIG)
    default_configs: tuple[str, ...] = ("dialogue", "qa")
    items = "qa"
    expected = "dialogue/ and qa/ parquet files (HiCUPID)"

    def find_parts(self, paths: Sequence[str]) -> Parts | None:
        return find_configs(paths, self.configs) or None

    def around_file(self, path: Path) -> SetLocation | None:
        """The set that a file of questions belongs to, limited to the split of the file."""
        full = path.absolute()
        for root in list(full.parents)[1:3]:  # qa/test_1.parquet, qa/test_1/0000.parquet
            inside = full.relative_to(root).as_posix()
            if inside.split("/")[0] not in self.configs or not (parts := self.find_parts(files_below(root))):
                continue
            for config, splits in parts.items():
                for split, files in splits.items():
                    if inside in files and config == self.items:
                        return SetLocation(root, parts, (split,))
                    if inside in files:
                        raise DataError(f"{path} is the {config} part of a HiCUPID set; give its folder: {root}")
        return None

    def narrowed(self, parts: Parts, choice: Choice) -> Parts:
        splits = parts.get(self.items, {})
        wanted = choice.of(splits)
        chosen = {config: dict(files) for config, files in parts.items()}
        if self.items in chosen:
            chosen[self.items] = {s: f for s, f in splits.items() if s in wanted}
        if "dialogue" in chosen and not choice.whole and len(wanted) < len(splits):
            needed = dialogue_splits_for(wanted, chosen["dialogue"].keys())
            chosen["dialogue"] = {s: f for s, f in chosen["dialogue"].items() if s in needed}
        return chosen


def dialogue_splits_for(question_splits: Iterable[str], available: Collection[str]) -> set[str]:
    """The dialogue splits that questions of these splits refer to; all of them for an unknown split name."""
    wanted: set[str] = set()
    for split in question_splits:
        known = _DIALOGUES_OF.get(split)
        if known is None or known not in available:
            return set(available)
        wanted.add(known)
    return wanted
