"""The llama.cpp server of the embedded model, as a program: it prints its address and serves until its input ends.

    python embedded_server.py model.gguf 8192

A process can be ended at any time. A server inside this process could not: destroying it with a request in flight
blocks for ever. The input ends when the parent ends, however that happens. Nothing of Bowstring is imported.
"""

import os
import sys


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = int(sys.argv[2])
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = -1
    params.ui = False
    # Threads must not spin while waiting: on a busy machine that costs more than it gains.
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    # Nobody reads its output from here on.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
