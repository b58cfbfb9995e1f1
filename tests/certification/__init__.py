from pathlib import Path

CHECKOUTS = Path(__file__).parent / "checkouts"
RECORDINGS = Path(__file__).parent / "recordings"
