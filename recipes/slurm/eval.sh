#!/bin/bash
# One shard of an evaluation on each node. Start it as README.md says.
#SBATCH --job-name=bowstring-eval
#SBATCH --array=1-8
#SBATCH --nodes=1
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --output=slurm-%A-%a.log

set -euo pipefail

EVAL=${EVAL:?the arguments of bowstring eval, in the file that EVAL names}
STORES=${STORES:-stores}

# Not SLURM_ARRAY_TASK_COUNT: with --array=3, which repeats shard 3 alone, that is 1.
SHARDS=${SHARDS:?the number of shards, which is the last number of --array}
SHARD="$SLURM_ARRAY_TASK_ID/$SHARDS"

mapfile -t ARGUMENTS < <(grep -v '^[[:space:]]*\(#\|$\)' "$EVAL")

# A store belongs to one machine, with the files beside it: each shard has its own folder. A job that is repeated
# continues where it was.
exec bowstring eval "${ARGUMENTS[@]}" --shard "$SHARD" --store "$STORES/shard-$SLURM_ARRAY_TASK_ID/responses.sqlite"
