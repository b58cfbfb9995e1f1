"""python -m bowstring …: the command, for launchers that start modules (accelerate launch -m bowstring train …)."""

from bowstring.cli import main

main()
