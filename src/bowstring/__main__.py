"""python -m bowstring …: the command, for launchers that start modules (accelerate launch -m bowstring train …)."""

from bowstring.cli import main

if __name__ == "__main__":
    main()
