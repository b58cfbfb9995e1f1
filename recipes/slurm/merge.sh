#!/bin/bash
# Merge the stores of all shards, and write the run from them. It needs no GPU and no API key.
#SBATCH --job-name=bowstring-merge
#SBATCH --nodes=1
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
#SBATCH --output=slurm-%j-merge.log

set -euo pipefail

EVAL=${EVAL:?the arguments of bowstring eval, in the file that EVAL names}
STORES=${STORES:-stores}

mapfile -t ARGUMENTS < <(grep -v '^[[:space:]]*\(#\|$\)' "$EVAL")

bowstring store merge "$STORES"/shard-*/responses.sqlite --store "$STORES/merged/responses.sqlite"
exec bowstring eval "${ARGUMENTS[@]}" --no-ask --store "$STORES/merged/responses.sqlite"
