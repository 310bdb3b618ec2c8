#!/bin/sh
# Jobs of a real Slurm, on the loopback, are placed where adept itself says they are best. As root, with Debian's slurmctld, slurmd and
# munge; leaves nothing running. Exit code 77: not possible here, and why.
# usage: check_slurm.sh BUILD
set -u
LC_ALL=C
export LC_ALL
build=$(CDPATH='' cd -- "$1" && pwd) || exit 1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
adept=$build/tools/adept
plugin=$build/tools/slurm
skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "not root"
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch scontrol; do
    command -v $program >/dev/null || skip "no $program; sh tools/install_deps.sh slurm installs it"
done
[ -f "$plugin/job_submit_adept.so" ] || skip "built without the plugin (Slurm's headers were missing, or sanitizers are on)"
for plugins in /usr/lib/*/slurm-wlm /usr/lib64/slurm /usr/lib/slurm; do
    [ -f "$plugins/select_cons_tres.so" ] && break
done
[ -f "$plugins/select_cons_tres.so" ] || skip "Slurm's plugins are in no folder known"

umask 022
work=$(mktemp -d /tmp/adept-slurm.XXXXXX) || exit 1
checks=0 failures=0
nodes="v1 a1 t1"
. "$here/cluster.sh"
finish() {
    trap - EXIT
    stop_cluster
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
. "$here/expect.sh"

# ---- the site ----
mkdir "$work/profiles" "$work/jobs"
cp "$here/../cli/data/mlp.profile.json" "$work/profiles/mlp.profile.json"
cp "$here/../cli/data/lengths.profile.json" "$work/profiles/lengths.profile.json"
names="mlp lengths"
if [ -n "${ADEPT_TORCH_MODULE:-}" ] && "$adept" profile "$here/../../data/models/resnet50.pt" \
    -o "$work/profiles/resnet50.profile.json" >"$work/profiled" 2>&1; then
    names="$names resnet50"
fi
write_adept_conf() { # EXTRA
    cat >"$work/adept.new" <<EOC
# partitions and what their GPUs are called
ProfileDir=$work/profiles $1
PartitionName=volta GresType=v100 Gpu=v100-pcie-32gb Gpus=1,2,4-8 PowerLimits=130W,200W IdlePower=43W
PartitionName=ampere GresType=a100 Gpu=a100-sxm-40gb Gpus=1-4 PowerLimits=200W
PartitionName=turing GresType=t4 Gpu=t4 Gpus=1,2
EOC
    mv "$work/adept.new" "$work/adept.conf"
}
write_adept_conf "TimeMargin=1.5 TimeExtra=2min"
write_slurm_conf
start_cluster || { tail -n 20 "$work"/*.log >&2; echo "Slurm does not start"; exit 1; }
cd "$work" || exit 1

# ---- what adept says, of every placement, by the program ----
for name in $names; do
    case $name in
    mlp) batch=256 ;;
    lengths) batch=3 ;;
    *) batch=32 ;;
    esac
    options_of "$name" $batch >"$work/$name.options"
    [ "$(wc -l <"$work/$name.options")" -eq 31 ] || fail "placements of $name: $(cat "$work/$name.options")"
    eval "batch_$name=$batch"
done

# ---- placed where it is best ----
for name in $names; do
    eval "batch=\$batch_$name"
    place "$name" time 1e7 0 0 "samples=1e7 objective=time"
    place "$name" energy 1e7 0 0 "samples=1e7 objective=energy"
    place "$name" edp 1e7 0 0 "objective=edp samples=1e7"
    # a budget between the extremes, so that it binds
    power=$(sort -k5,5n "$work/$name.options" | awk 'NR == 7 { printf "%.3f", $5 }')
    place "$name" time 1e7 "$power" 0 "samples=1e7 objective=time power=${power}W"
    deadline=$(job_times "$work/$name.options" "$batch" 1e7 | sort -n | awk 'NR == 6 { printf "%.4f", $1 * 1.0001 }')
    place "$name" energy 1e7 0 "$deadline" "samples=1e7 objective=energy deadline=${deadline}s"
done
placed=$(all_ids)
wait_until 60 all_done || fail "jobs do not end: $(squeue -h)"
for id in $placed; do
    expect_job "$id" 'JobState=COMPLETED'
    gpus=$(job_field "$id" TresPerNode | sed 's/.*://')
    expect_limits "$id" "$gpus"
    [ "$(cat "$work/jobs/$id")" = "$(job_field "$id" Partition) $gpus" ] || fail "job $id ran with: $(cat "$work/jobs/$id")"
done

grep -q -e ' -pl 200$' "$work/nvidia-smi.log" || fail "no job ran under a power limit"

# ---- what the user fixes stays ----
submit --hold --partition=turing --comment="adept:mlp gpus=1-2"
expect_job "$id" 'Partition=turing'
submit --hold --partition=plain,volta --comment="adept:mlp"
expect_job "$id" 'Partition=volta'
submit --hold --gres=gpu:v100 --comment="adept:mlp"
expect_job "$id" 'TresPerNode=gres:gpu:v100:[0-9]'
submit --hold --gpus=t4:2 --comment="adept:mlp"
expect_job "$id" 'TresPerJob=gres:gpu:t4:2'
submit --hold --gpus-per-node=3 --comment="adept:mlp"
expect_job "$id" 'TresPerNode=gres:gpu:a100:3'
submit --hold --time=7 --comment="adept:mlp samples=1e6"
expect_job "$id" 'TimeLimit=00:07:00'
submit --hold --comment="adept:mlp"
expect_job "$id" 'TimeLimit=UNLIMITED' # of one step nothing is known
submit --hold --comment="adept:mlp batch=7 steps=10" # any batch
expect_job "$id" 'AdminComment=adept: .* batch=7 .*steps=10 '
submit --hold --comment="adept:mlp steps=1000 gpus=1"
scontrol update JobId="$id" Comment="adept:../../etc/passwd" || fail "a comment cannot be changed"
expect_job "$id" 'AdminComment=adept: partition=.* steps=1000'
for comment in "" "hello" "Adept:mlp" " adept:mlp"; do
    submit --hold --comment="$comment"
    expect_job "$id" 'Partition=plain'
    job "$id" | grep -E 'TresPer|AdminComment' && fail "a job with the comment '$comment' was changed"
done
ran=$(timeout 60 srun --quiet --comment="adept:mlp gpus=2" sh -c 'echo $SLURM_JOB_PARTITION $SLURM_GPUS_ON_NODE' 2>"$work/err")
[ "$ran" = "ampere 2" ] || [ "$ran" = "volta 2" ] || fail "srun: $ran $(cat "$work/err")"

# ---- refused, with the reason ----
refuse 'adept: no placement keeps within the deadline of 1 ms: the nearest of 31, .* needs .* ' --comment="adept:mlp samples=1e9 deadline=0.001s"
refuse 'keeps within the power budget of 1 W: .*turing.* W$' --comment="adept:mlp power=1W"
refuse 'keeps within the energy budget of 2.778e-07 kWh' --comment="adept:mlp samples=1e9 energy=1J"
refuse "within the job's own time limit of 1 min" --time=1 --comment="adept:mlp samples=1e12"
refuse 'no placement agrees with the partition, type and number' --partition=plain --comment="adept:mlp"
refuse 'no placement agrees' --gpus=64 --comment="adept:mlp"
refuse 'asks for 2 nodes' -N 2 --comment="adept:mlp"
refuse 'GPUs per task' -n 1 --gpus-per-task=1 --comment="adept:mlp"
refuse 'in more than one way' --gpus=1 --gres=gpu:1 --comment="adept:mlp"
refuse "there is no profile 'nothing'" --comment="adept:nothing"

# ---- hostile ----
ln -s /etc/passwd "$work/profiles/link.profile.json"
mkfifo "$work/profiles/fifo.profile.json"
mkdir "$work/profiles/folder.profile.json"
echo '{"schema_version": 1, ' >"$work/profiles/broken.profile.json"
head -c 9000000 /dev/zero | tr '\0' ' ' >"$work/profiles/large.profile.json"
: >"$work/profiles/empty.profile.json"
refuse "profile 'link' cannot be used" --comment="adept:link"
refuse "profile 'fifo' cannot be used" --comment="adept:fifo"
refuse "profile 'folder' cannot be used" --comment="adept:folder"
refuse "profile 'broken'" --comment="adept:broken"
refuse "profile 'large' cannot be used" --comment="adept:large"
refuse "profile 'empty'" --comment="adept:empty"
for comment in "adept:" "adept: " "adept:../mlp" "adept:/etc/passwd" "adept:.." "adept:mlp/../mlp" "adept:mlp batch=" "adept:mlp =" \
    "adept:mlp batch=1e400" "adept:mlp batch=-1" "adept:mlp batch=99999999999999999999" "adept:mlp samples=nan" "adept:mlp samples=0x10" \
    "adept:mlp steps=inf" "adept:mlp gpus=0" "adept:mlp gpus=1-" "adept:mlp gpus=99999999999" "adept:mlp deadline=5" "adept:mlp power=1Ws" \
    "adept:mlp samples=1 samples=2" "adept:mlp samples=1 steps=1" "adept:mlp deadline=1h" "adept:mlp objective=%s%s%n" "adept:%n%n%n%s" \
    "adept:$(printf 'x%.0s' $(seq 70))" "adept:mlp $(printf 'x=%.0s' $(seq 600))" "$(printf 'adept:mlp\033[2J')" "$(printf 'adept:m\377\376lp')" \
    "$(printf 'adept:mlp\nbatch=1')" "adept:mlp batch=1 batch=1" "adept:mlp size=1"; do
    refuse '(adept: .|[Pp]athname|too long)' --comment="$comment"
done
chmod o+w "$work/profiles"
refuse 'anyone can write in it' --comment="adept:mlp"
chmod o-w "$work/profiles"

# ---- a new adept.conf counts at once, a bad one does not ----
write_adept_conf "Objective=thrift
Waiting=3 Running=12"
submit --hold --comment="adept:mlp samples=1e6"
expect_job "$id" 'AdminComment=.* limit_w=[0-9]* .* objective=thrift'
sed -n 's|^ *\*/5 \* \* \* \* f=/etc/slurm/adept.conf;|f=$work/adept.conf;|p' "$here/../../tools/slurm/README.md" | sed 's/\\%/%/' >"$work/crontab.sh"
work=$work sh "$work/crontab.sh" || fail "the line for cron: $(cat "$work/crontab.sh")"
grep -qx "Waiting=$(squeue -h -t PD | wc -l) Running=$(squeue -h -t R | wc -l)" "$work/adept.conf" || fail "adept.conf after the line for cron: $(cat "$work/adept.conf")"
submit --hold --comment="adept:mlp batch=4096 samples=1e6" # held jobs wait: GPUs are too scarce for limits that cost time
expect_job "$id" 'AdminComment=.* batch=4096 steps=.* objective=thrift'
write_adept_conf "OnError=pass Objective=energy Tell=no"
submit --hold --comment="adept:nothing"
expect_job "$id" 'Partition=plain'
submit --hold --comment="adept:mlp samples=1e6"
expect_job "$id" 'AdminComment=.* objective=energy'
echo 'Gibberish' >>"$work/adept.conf"
submit --hold --comment="adept:mlp samples=1e6"
expect_job "$id" 'AdminComment=.* objective=energy'
grep -q "adept.conf:6: 'Gibberish' is not KEY=VALUE; what was read before stays" "$work/slurmctld.log" || fail "no message of a bad adept.conf"

# ---- many ----
write_adept_conf "Tell=no"
began=$(date +%s%N)
n=0
while [ $n -lt 200 ]; do
    n=$((n + 1))
    sbatch --parsable --hold --output=/dev/null --comment="adept:mlp samples=${n}e5" "$work/job.sh" >>"$work/ids" 2>>"$work/err" || fail "submission $n"
done
ms=$((($(date +%s%N) - began) / 1000000))
[ "$(wc -l <"$work/ids")" -eq 200 ] || fail "not 200 jobs: $(tail -n 3 "$work/err")"
[ $ms -lt 300000 ] || fail "200 submissions took $ms ms"
usec=$(grep '_slurm_rpc_submit_batch_job: JobId=' "$work/slurmctld.log" | tail -n 200 | sed 's/.*usec=//' | sort -n | sed -n 100p)
echo "200 submissions of 31 placements each: $ms ms, slurmctld worked $usec us on the median one"

# ---- slurmctld is still the first ----
checks=$((checks + 1))
kill -0 "$ctld" 2>/dev/null && scontrol ping | grep -q 'is UP' || fail "slurmctld is gone: $(tail -n 20 "$work/daemons.log")"
stop_cluster
basename "$work" >pattern
left=$(grep -alF -f pattern /proc/[0-9]*/cmdline 2>/dev/null | head -n 5)
cd / || exit 1
[ -z "$left" ] || fail "left running: $left"
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ] && [ "$checks" -ge 60 ]
exit
