# What check_slurm.sh asks Slurm and adept. Sourced, with work, adept, checks and failures set.

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
}

cat >"$work/job.sh" <<'EOC'
#!/bin/sh
echo "$SLURM_JOB_PARTITION $SLURM_GPUS_ON_NODE"
EOC

# Without slurmctld every command would wait for it.
count() {
    checks=$((checks + 1))
    kill -0 "$ctld" 2>/dev/null && return 0
    tail -n 20 "$work/daemons.log"
    echo "slurmctld is gone"
    exit 1
}

# submit OPTION...: leaves id
submit() {
    count
    id=$(sbatch --parsable --output="$work/jobs/%j" "$@" "$work/job.sh" 2>"$work/err") || fail "sbatch $*: $(cat "$work/err")"
}

# refuse PATTERN OPTION...: not submitted, with a message like that
refuse() {
    count
    pattern=$1
    shift
    if sbatch --parsable --hold --output=/dev/null "$@" "$work/job.sh" >"$work/out" 2>"$work/err"; then
        fail "accepted: sbatch $*"
    elif ! grep -Eq -e "$pattern" "$work/err"; then
        fail "sbatch $*: the message does not match '$pattern': $(cat "$work/err")"
    fi
}

job() {
    scontrol show job "$1" 2>/dev/null
}

expect_job() {
    checks=$((checks + 1))
    job "$1" | grep -Eq "^ *(.* )?$2" || fail "job $1 is not $2: $(job "$1")"
}

job_field() {
    job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}

# expect_limits ID GPUS: before the job each of its GPUs was set to the limit of its note, and to the default after it
expect_limits() {
    checks=$((checks + 1))
    limit=$(job "$1" | sed -n 's/^ *AdminComment=.* limit_w=\([0-9.]*\) .*/\1/p')
    set_to=$(grep "^$1 " "$work/nvidia-smi.log" 2>/dev/null | sed 's/.*-pl //' | tr '\n' ' ')
    expected=
    [ -z "$limit" ] || expected=$(for w in "$limit" 400.00; do for gpu in $(seq "$2"); do printf '%s ' $w; done; done)
    [ "$set_to" = "$expected" ] || fail "power limits of job $1: '$set_to', expected '$expected'"
}

all_done() {
    [ -z "$(squeue -h -t PENDING,RUNNING,COMPLETING,CONFIGURING)" ]
}

all_ids() {
    squeue -h -t all -o %i
}

# predict NAME BATCH GPU GPUS LIMIT: "step_time_s power_avg_w", as the program says
predict() {
    set -- "$work/profiles/$1.profile.json" --batch "$2" --gpu "$3" --gpus "$4" ${5:+--power-limit "$5"} --json
    "$adept" predict "$@" 2>/dev/null | awk '/^\t"step_time_s"/ { t = $2 } /^\t"power_avg_w"/ { p = $2 } END { sub(",", "", t); sub(",", "", p); print t, p }'
}

# options_of NAME BATCH: lines "partition type gpus limit power time" of every placement that adept.conf lists
options_of() {
    while read -r partition type gpu counts limits; do
        for count in $(echo "$counts" | tr , ' '); do
            for limit in 0 $(echo "$limits" | tr , ' '); do
                [ "$limit" = 0 ] && given='' || given=$limit
                # shellcheck disable=SC2046  # two numbers
                set -- "$1" "$2" $(predict "$1" "$2" "$gpu" "$count" "$given")
                echo "$partition $type $count $limit $4 $3"
            done
        done
    done <<EOC
volta v100 v100-pcie-32gb 1,2,4,5,6,7,8 130,200
ampere a100 a100-sxm-40gb 1,2,3,4 200
turing t4 t4 1,2
EOC
}

# best_of OPTIONS BATCH OBJECTIVE SAMPLES POWER DEADLINE: the best line and its job's time and energy; thesis, algorithm 6. Steps that
# wait for the host take one time under every limit: then the least energy counts
best_of() {
    awk -v batch="$2" -v objective="$3" -v samples="$4" -v budget="$5" -v deadline="$6" '
        {
            steps = samples / (batch * $3)
            if (steps > int(steps)) steps = int(steps) + 1
            t = steps * $6
            e = t * $5
            if ((budget > 0 && $5 > budget) || (deadline > 0 && t > deadline)) next
            goal = objective == "time" ? t : objective == "energy" ? e : e * t
            if (!found || goal < least || (goal == least && (t < least_t || (t == least_t && e < least_e)))) {
                found = 1
                least = goal
                least_t = t
                least_e = e
                line = $1 " " $2 " " $3 " " $4 " " t " " e
            }
        }
        END { print line }' "$1"
}

job_times() {
    awk -v batch="$2" -v samples="$3" '{ s = samples / (batch * $3); if (s > int(s)) s = int(s) + 1; print s * $6 }' "$1"
}

# place NAME OBJECTIVE SAMPLES POWER DEADLINE WORDS: submitted with these words, the job is where the program says it is best
place() {
    eval "batch=\$batch_$1"
    # shellcheck disable=SC2046  # six words
    set -- "$1" "$6" $(best_of "$work/$1.options" "$batch" "$2" "$3" "$4" "$5")
    [ $# -eq 8 ] || fail "no best placement of $1 $2"
    submit --comment="adept:$1 batch=$batch $2"
    note=$(job "$id" | sed -n 's/^ *AdminComment=//p')
    expect_job "$id" "Partition=$3 "
    expect_job "$id" "TresPerNode=gres:gpu:$4:$5\$"
    echo "$note" | awk -v partition="$3" -v gpus="$5" -v limit="$6" -v t="$7" -v e="$8" '
        { for (i = 2; i <= NF; i++) { split($i, a, "="); v[a[1]] = a[2] } }
        function near(a, b) { return a > b * 0.99999 && a < b * 1.00001 }
        END { exit !(v["partition"] == partition && v["gpus"] == gpus && v["limit_w"] + 0 == limit && near(v["time_s"], t) && near(v["energy_j"], e)) }' ||
        fail "adept:$1 $2: the note is '$note', expected $3 $4 x $5, limit $6 W, $7 s, $8 J"
    echo "adept:$1 $2 -> $5 x $4 in $3, limit $6 W"
}
