"""`python -m bowstring …`: the command line, for launchers that start modules (accelerate launch -m bowstring …)."""

from bowstring.cli import main

if __name__ == "__main__":
    main()
