#!/bin/sh
# Prolog and Epilog of slurmd, as both: sets the power limit that job_submit/adept decided for a job on the job's GPUs, and puts
# their default back. slurm.conf: Prolog=/path/power_limit.sh Epilog=/path/power_limit.sh
# Never fails, as slurmd would drain the node. The limit is digits; the board itself refuses one outside its range.
[ -n "${SLURM_JOB_ID:-}" ] && [ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
limit=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *AdminComment=adept: .* limit_w=\([0-9.]*\) .*/\1/p' | head -n 1)
[ -n "$limit" ] || exit 0
for gpu in $(echo "$SLURM_JOB_GPUS" | tr , ' '); do
    case ${SLURM_SCRIPT_CONTEXT:-} in
    epilog*) limit=$(nvidia-smi -i "$gpu" --query-gpu=power.default_limit --format=csv,noheader,nounits) ;;
    esac
    nvidia-smi -i "$gpu" -pl "$limit" >/dev/null || echo "power_limit.sh: GPU $gpu stays as it is, not at $limit W" >&2
done
exit 0
