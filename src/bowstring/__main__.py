"""The console script, and `python -m bowstring …` for launchers of modules (accelerate launch -m bowstring …)."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while the command line itself is imported."""
    try:
        from bowstring.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
