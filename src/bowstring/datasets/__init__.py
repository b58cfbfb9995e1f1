"""Data sets: rows of the published formats <-> records, where data comes from, and whether it is sound.

    load("mini/hicupid"), load("kixlab/CUPID"), load("path/to/folder"), load_judgements("transcripts.parquet")

Here lives what knows about files, columns and ids. What is asked of a model, and what a score is, does not.
"""

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.datasets.judgements import load_coverage, load_judgements
from bowstring.datasets.loading import DataSet, Reading, load, load_cupid, load_hicupid, read

__all__ = [
    "CupidSet",
    "DataSet",
    "HicupidSet",
    "Reading",
    "load",
    "load_coverage",
    "load_cupid",
    "load_hicupid",
    "load_judgements",
    "read",
]
