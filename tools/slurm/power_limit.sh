#!/bin/sh
# Prolog and Epilog of slurmd, as both: sets the power limit that job_submit/adept decided for a job on the job's GPUs, and puts
# their default back. slurm.conf: Prolog=/path/power_limit.sh Epilog=/path/power_limit.sh
# Never fails, as slurmd would drain the node. The limit is digits; the board itself refuses one outside its range.
[ -n "${SLURM_JOB_ID:-}" ] && [ -n "${SLURM_JOB_GPUS:-}" ] || exit 0

# scontrol prints names, comments and paths as the user wrote them, line ends too. A line is the job's AdminComment where it is the only
# such behind the only UserId; else squeue is asked for the field alone.
text=$(scontrol show job "$SLURM_JOB_ID")
comment=$(echo "$text" | sed '1,/^ *UserId=/d' | sed -n 's/^ *AdminComment=//p')
unclear=
if [ "$(echo "$text" | grep -c '^ *UserId=')" != 1 ] || [ "$(echo "$comment" | wc -l)" -gt 1 ]; then
    comment=$(squeue -h -j "$SLURM_JOB_ID" -O AdminComment:1024 2>/dev/null) || comment= unclear=yes
fi
limit=
case $comment in
adept:*)
    limit=${comment#* limit_w=}
    limit=${limit%%[!0-9.]*}
    ;;
esac
[ "$limit$unclear" ] || exit 0
for gpu in $(echo "$SLURM_JOB_GPUS" | tr , ' '); do
    case ${SLURM_SCRIPT_CONTEXT:-} in
    epilog*) limit=$(nvidia-smi -i "$gpu" --query-gpu=power.default_limit --format=csv,noheader,nounits) ;;
    *)
        if [ "$unclear" ]; then # whoever writes such lines gains nothing by it
            echo "power_limit.sh: job $SLURM_JOB_ID has more than one AdminComment: GPU $gpu gets its least limit" >&2
            limit=$(nvidia-smi -i "$gpu" --query-gpu=power.min_limit --format=csv,noheader,nounits)
        fi
        ;;
    esac
    nvidia-smi -i "$gpu" -pl "$limit" >/dev/null || echo "power_limit.sh: GPU $gpu stays as it is, not at $limit W" >&2
done
exit 0
