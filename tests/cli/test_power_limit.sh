# tools/slurm/power_limit.sh: the limit is that of the job's AdminComment, whatever its user writes into other fields.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"

mkdir "$work/bin"
cat >"$work/bin/nvidia-smi" <<'EOS'
#!/bin/sh
case $* in
*default_limit*) echo 250.00 ;;
*min_limit*) echo 100.00 ;;
*) echo "$*" >>"$SAID" ;;
esac
EOS
printf '#!/bin/sh\ncat "$TEXT"\n' >"$work/bin/scontrol"
printf '#!/bin/sh\n[ "$*" = "-h -j 5 -O AdminComment:1024" ] && [ -s "$FIELD" ] && cat "$FIELD"\n' >"$work/bin/squeue"
chmod +x "$work"/bin/*
TEXT=$work/text FIELD=$work/field SAID=$work/said
export TEXT FIELD SAID
: >"$FIELD"

# sets LINES CONTEXT WATTS...: what the boards are told of a job that scontrol shows so
sets() {
    printf 'JobId=5 JobName=x\n%s\n' "$1" >"$TEXT"
    context=$2
    shift 2
    : >"$SAID"
    checks=$((checks + 1))
    PATH=$work/bin:$PATH SLURM_JOB_ID=5 SLURM_JOB_GPUS=0,2 SLURM_SCRIPT_CONTEXT=$context sh "$ADEPT_SOURCE_DIR/tools/slurm/power_limit.sh" \
        2>"$work/err" || fail "it fails"
    for watts; do
        printf -- '-i 0 -pl %s\n-i 2 -pl %s\n' "$watts" "$watts"
    done >"$work/expected"
    cmp -s "$work/expected" "$SAID" || { cat "$TEXT" "$SAID"; fail "$context: not $*"; }
}

good='   AdminComment=adept: partition=gpu gpu=a100 gpus=2 batch=64 limit_w=150 steps=1 profile=mlp'
forged='   AdminComment=adept: a limit_w=700 b'
user='   UserId=u(1000)'
sets "$user
$good" prolog_slurmd 150
sets "$user
$good" epilog_slurmd 250.00
sets "$user
   AdminComment=adept: gpus=2" prolog_slurmd
sets "$user
   Comment=adept: limit_w=700 x" prolog_slurmd
sets "$forged
$user
$good" prolog_slurmd 150
sets "$forged
$user" prolog_slurmd
# which one it is, only the field alone tells; without it the least
for text in "$user
$good
   Comment=x
$forged" "$user
   WorkDir=/tmp/x
$forged
$good" "$user
$forged
$user
$good" "$user
$good
   Comment=x
$user"; do
    sets "$text" prolog_slurmd 100.00
    grep -q 'more than one AdminComment' "$work/err" || fail "without a word"
    sets "$text" epilog_slurmd 250.00
    echo "${good#*=}" >"$FIELD"
    sets "$text" prolog_slurmd 150
    : >"$FIELD"
done
finish
