# Wrong usage: exit code 2 and one line that names the option and quotes what was given.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json

run
checks=$((checks + 1))
[ "$rc" -eq 2 ] && grep -q 'no command given' "$work/err" || fail "exit code $rc of adept alone"
shows '^Usage: adept COMMAND'
expect_ok help
shows '^Usage: adept COMMAND'
expect_ok help sweep
shows '^Usage: adept sweep'
expect_error 2 "unknown command 'sleep'" help sleep
expect_error 2 "unknown command 'swoop'" swoop
expect_error 2 "unknown command 'predcit'; did you mean 'predict'" predcit
expect_error 2 "unknown option '--gpu'" --gpu a100
expect_error 2 "unknown command ''" ''

expect_error 2 'predict needs a MODEL or PROFILE' predict
expect_error 2 'profile needs a MODEL' profile
expect_error 2 "'two' is one too many" predict one two --gpu a100
expect_error 2 "'two' is one too many" profile one two
expect_error 2 "'two' is one too many" gpus one two
expect_error 2 'handlers takes no argument' handlers one
expect_error 2 '--gpu is missing' predict "$p"

# option syntax
expect_error 2 "unknown option '--gpuz=1'; did you mean --gpu" predict "$p" --gpuz=1
expect_error 2 "unknown option '--colour'" predict "$p" --gpu a100 --colour
expect_error 2 "unknown option '-x'" predict "$p" -x
expect_error 2 "unknown option '-xo'" profile "$p" --json -xo
expect_error 2 "'--gpu' needs a value" predict "$p" --gpu
expect_error 2 "'-o' needs a value" profile "$p" -o
expect_error 2 "'--json' takes no value" predict "$p" --gpu a100 --json=yes
expect_error 2 "'--p' is ambiguous" predict "$p" --p 3 --gpu a100
expect_error 2 'file name is empty' profile "$p" -o ''

# numbers
for option in --batch --gpus --grad-accum --steps --samples --epochs --dataset-size --depth; do
    for value in '' x 1x 1.5 1.5e0 1e 0x10 ' 1' '1 ' nan inf; do
        expect_error 2 "$option: '$value' is not a whole number" predict "$p" --gpu a100 --by layer "$option" "$value"
    done
    for value in 1e18 1e30 1e999 -1e18; do
        expect_error 2 "$option: '$value' is out of range" predict "$p" --gpu a100 --by layer "$option" "$value"
    done
    expect_error 2 "$option: '0' is too small" predict "$p" --gpu a100 --by layer "$option" 0
    expect_error 2 "$option: '-3' is too small" predict "$p" --gpu a100 --by layer "$option" -3
    expect_error 2 "$option: '9223372036854775808' is out of range: from 1 to 9223372036854775807$" \
        predict "$p" --gpu a100 --by layer "$option" 9223372036854775808
done
expect_ok predict "$p" --gpu a100 --samples 1280000 --json
mv "$work/out" "$work/plain"
expect_ok predict "$p" --gpu a100 --samples 1.28e6 --json
cmp -s "$work/plain" "$work/out" || fail '1.28e6 samples are not 1280000'
for option in --carbon-intensity --price --pue --gpu-hour-price --host-power; do
    for value in '' x 1x 0x10 ' 1' nan NAN inf -inf 1e 1,5; do
        expect_error 2 "$option: '$value' is not a number" predict "$p" --gpu a100 --steps 1 "$option" "$value"
    done
    expect_error 2 "$option: '-1' is too small" predict "$p" --gpu a100 --steps 1 "$option" -1
    expect_error 2 "$option: '1e999' is out of range: from [01] to 1.79769e.308$" predict "$p" --gpu a100 --steps 1 "$option=1e999"
done
expect_error 2 "--power-limit: '0' is out of range: above 0, up to 1.79769e.308$" predict "$p" --gpu a100 --power-limit 0
expect_error 2 "--pue: '0.5' is too small, at least 1" predict "$p" --gpu a100 --steps 1 --price 1 --pue 0.5
expect_error 2 'power limit 5000 W' predict "$p" --gpu a100 --power-limit 5000

for value in 0us -3us 0s; do
    expect_error 2 "--host-launch: '$value' is out of range: above 0, up to 1.79769e.308${value##*[0-9]}$" predict "$p" --gpu a100 "--host-launch=$value"
done

# quantities: a number, then a unit; case counts (Mb is no MB)
for value in '' x MHz 1400mhz '1400 MHz' 1400MHzz 1e 0x10 nan inf 1,5; do
    expect_error 2 "--clock: '$value' is not a number with a unit: MHz, Hz, kHz, GHz" predict "$p" --gpu a100 --clock "$value"
done
expect_error 2 "--clock: '-1' is out of range: above 0" predict "$p" --gpu a100 --clock=-1
expect_error 2 "--clock: '0' is out of range: above 0, up to 1.79769e.302$" predict "$p" --gpu a100 --clock 0
expect_error 2 "--clock: '1e999' is out of range: from " predict "$p" --gpu a100 --clock 1e999GHz
expect_error 2 'core clock 1500 MHz is outside the range of a100-sxm-40gb, [0-9.]* to 1410 MHz' predict "$p" --gpu a100 --clock 1500
expect_error 2 'core clock 1e-06 MHz is outside the range' predict "$p" --gpu a100 --clock 1Hz
for value in 1200 1200MHz 1.2GHz 1.2e9Hz 12e2 1200000kHz; do
    expect_ok predict "$p" --gpu a100 --clock "$value" --json
    shows '"clock_hz":[[:space:]]*1200000000'
done
expect_ok predict "$p" --gpu a100 --clock 1200
shows '^GPU .*clock locked to 1.20 GHz'

# networks
expect_error 2 "--nodes: 'x' is not a whole number" predict "$p" --gpu a100 --nodes x
expect_error 2 "--nodes: '0' is too small" predict "$p" --gpu a100 --nodes 0
expect_error 2 'several nodes need the bandwidth between them: --internode-bandwidth' predict "$p" --gpu a100 --gpus 8 --nodes 2
expect_error 2 '6 GPUs cannot be shared equally by 4 nodes' \
    predict "$p" --gpu a100 --gpus 6 --nodes 4 --internode-bandwidth 25GB/s
expect_error 2 'need --nodes' predict "$p" --gpu a100 --gpus 8 --internode-bandwidth 25GB/s
expect_error 2 'need --nodes' predict "$p" --gpu a100 --gpus 8 --internode-latency 5us
# a number alone could be meant in several units
expect_error 2 "--internode-bandwidth: '200' is not a number with a unit: B/s, MB/s, GB/s, Mbit/s, Gbit/s, Mbps, Gbps, Mb/s, Gb/s" \
    predict "$p" --gpu a100 --gpus 8 --nodes 2 --internode-bandwidth 200
expect_error 2 "--internode-latency: '10' is not a number with a unit: s, ms, us, ns" \
    predict "$p" --gpu a100 --gpus 8 --nodes 2 --internode-bandwidth 25GB/s --internode-latency 10
expect_error 2 "--host-launch: '30' is not a number with a unit" predict "$p" --gpu a100 --host-launch 30
expect_error 2 "--internode-latency: '5min' is not a number with a unit: s" \
    predict "$p" --gpu a100 --gpus 8 --nodes 2 --internode-bandwidth 25GB/s --internode-latency 5min
expect_error 2 "--bucket-bytes: '0' is out of range: above 0" predict "$p" --gpu a100 --gpus 8 --bucket-bytes 0
expect_error 2 "--allreduce: 'rings' is not one of ring, tree, auto" predict "$p" --gpu a100 --allreduce rings
expect_error 2 "--overlap: 'all' is not one of auto, fixed, bucketed, none" predict "$p" --gpu a100 --overlap all
expect_ok predict "$p" --gpu a100 --gpus 8 --overlap bucketed
expect_ok predict "$p" --gpu a100 --gpus 8 --overlap none
expect_error 2 'granularity "model" has none' predict "$p" --gpu a100 --gpus 8 --overlap bucketed --granularity model
# 200 Gbit/s are 25 GB/s
expect_ok predict "$p" --gpu a100 --gpus 8 --nodes 2 --internode-bandwidth 200Gbit/s --json
shows '"nodes":[[:space:]]*2'
grep comm_s "$work/out" >"$work/gbit"
for rate in 25e9B/s 25GB/s 200Gbps 200Gb/s 200000Mbit/s; do
    expect_ok predict "$p" --gpu a100 --gpus 8 --nodes 2 --internode-bandwidth "$rate" --internode-latency 0.01ms --json
    grep comm_s "$work/out" >"$work/bytes"
    cmp -s "$work/gbit" "$work/bytes" || fail "200Gbit/s are not $rate"
done
for limit in 250 250W 0.25kW; do
    expect_ok predict "$p" --gpu a100 --power-limit "$limit" --json
    shows '"power_limit_w":[[:space:]]*250'
done
expect_ok predict "$p" --gpu a100 --gpus 8 --nodes 2 --internode-bandwidth 25GB/s
shows '^GPU      8 x a100-sxm-40gb in 2 nodes'
shows '^  All-reduce: .* hidden behind the backward pass'

# words: in any case, and as others say them
same() { # OPTIONS... -- OTHER...: the same prediction
    one=
    while [ "$1" != -- ]; do one="$one $1"; shift; done
    shift
    expect_ok predict "$p" --gpu a100 --json $one
    grep -v '"warnings"' "$work/out" >"$work/one"
    expect_ok predict "$p" --gpu a100 --json "$@"
    grep -v '"warnings"' "$work/out" | cmp -s - "$work/one" || fail "$one and $* differ"
}
for word in FP16 float16 half amp; do same --precision fp16 -- --precision "$word"; done
same --precision bf16 -- --precision BFloat16
same --precision fp32 -- --precision float32
for word in inference eval INFER; do same --mode infer -- --mode "$word"; done
for word in flash SDPA; do same --attention fused -- --attention "$word"; done
same --optimizer adamw -- --optimizer AdamW
# what a mode does not do is said where it is asked for
expect_ok predict "$p" --gpu a100 --mode infer --optimizer sgd --grad-accum 2
shows '^  the optimizer is not counted: the mode is not train$'
shows '^  inference accumulates no gradients: the passes are counted as one step$'
for word in '--optimizer-impl fused' --grad-scaler '--clip-grad-norm'; do
    # shellcheck disable=SC2086
    for mode in '--mode infer' '--mode fwbw' '--optimizer none'; do
        expect_ok predict "$p" --gpu a100 $mode $word
        shows '^  optimizer_impl, .* are not counted: no optimizer runs$'
    done
done
expect_ok predict "$p" --gpu a100 --allreduce tree
shows '^  allreduce, bucket_bytes, overlap and link have no effect: one GPU sends nothing$'
expect_ok predict "$p" --gpu a100 --optimizer-impl fused --gpus 2 --allreduce tree --bucket-bytes 1MiB
checks=$((checks + 1))
! grep -q 'not counted\|no effect' "$work/out" || fail 'a warning of what acts'
expect_ok predict "$p" --gpu a100 --mode train --optimizer sgd --grad-accum 2
checks=$((checks + 1))
! grep -q 'not counted\|accumulates no' "$work/out" || fail 'a warning of what is done'
expect_error 2 "--mode: 'trian' is not one of train, fwbw, infer" predict "$p" --gpu a100 --mode trian
expect_error 2 "--precision: 'fp4' is not one of fp32, tf32, bf16, fp16" predict "$p" --gpu a100 --precision fp4
expect_error 2 "--attention: '' is not one of auto, eager, fused" predict "$p" --gpu a100 --attention=
expect_error 2 "--memory-format: 'nhcw' is not one of auto, nchw, channels_last" predict "$p" --gpu a100 --memory-format nhcw
expect_ok predict "$p" --gpu a100 --memory-format nhwc
expect_ok predict "$p" --gpu a100 --memory-format nchw --execution compile
shows '^  images lie in channels_last, not in nchw: torch.compile lays them out so$'
for how in '--memory-format nchw' '--execution compile' '--memory-format nhwc --execution compile'; do
    expect_ok predict "$p" --gpu a100 $how
    checks=$((checks + 1))
    ! grep -q 'images lie in' "$work/out" || fail "a warning of images that lie as $how asks"
done
expect_error 2 "--host: 'pytorch' is not one of profile, torch1, torch2" predict "$p" --gpu a100 --host pytorch
expect_ok predict "$p" --gpu a100 --host torch2
expect_error 2 'a launch takes what host "torch2" says, or a time: not both' predict "$p" --gpu a100 --host torch2 --host-launch 30us
expect_ok predict "$p" --gpu a40 --gpus 2 --link nvlink-bridge
expect_error 2 'a100-sxm-40gb takes no bridge' predict "$p" --gpu a100 --gpus 2 --link bridge
expect_error 2 "--execution: 'lazy' is not one of eager, graphs, compile" predict "$p" --gpu a100 --execution lazy
expect_ok predict "$p" --gpu a100 --execution graphs --host-launch 30us
expect_error 2 'knows no host' predict "$p" --gpu a100 --granularity model --host-launch 30us
expect_error 2 "--optimizer-impl: 'apex' is not one of auto, foreach, fused, forloop" predict "$p" --gpu a100 --optimizer-impl apex
expect_error 2 "--optimizer-extras: 'clip,swa' is not one of clip, unscale, master, ema, zero_grad" \
    predict "$p" --gpu a100 --optimizer-extras clip,swa
expect_ok predict "$p" --gpu a100 --optimizer-extras none
expect_error 2 "--optimizer: 'sdg' is not one of .*adamw" predict "$p" --gpu a100 --optimizer sdg
expect_error 2 "--saturation: 'relu' is not one of sigmoid" predict "$p" --gpu a100 --saturation relu
expect_error 2 "--by: 'layers' is not one of layer, op, kind" predict "$p" --gpu a100 --by layers
expect_error 2 "--input '3y'" profile "$p" --input 3y
expect_error 2 "--input ''" profile "$p" --input ''
expect_error 2 "--input 'f32:0x3'|--input 'f33:2x3'" profile "$p" --input f33:2x3

# a result is no model
expect_ok predict "$p" --gpu a100 --mode infer --json
cp "$work/out" "$work/result.json"
expect_error 3 "neither a model's configuration nor a workload profile, but a prediction's result: adept compare and " predict "$work/result.json" --gpu a100
expect_error 3 "neither a model's configuration nor a workload profile, but a prediction's result: adept compare and " diff "$work/result.json" "$p" --gpu a100
echo '{"a":1}' >"$work/other.json"
expect_error 3 "neither a model's configuration nor a workload profile \\(it has no \"kind\"\\)" predict "$work/other.json" --gpu a100
expect_ok predict "$p" --gpu a100 --mode infer
shows "^Most expensive layers \\(a step's forward pass\\)"
expect_ok predict "$p" --gpu a100
shows "^Most expensive layers \\(a step's forward and backward passes\\)"

# options that need or exclude others
expect_error 2 '--depth needs --by layer' predict "$p" --gpu a100 --depth 2
expect_error 2 '--depth needs --by layer' predict "$p" --gpu a100 --depth 2 --by kind
expect_error 2 '--steps, --samples and --epochs exclude' predict "$p" --gpu a100 --steps 2 --samples 2
expect_error 2 '--price needs --steps, --samples or --epochs' predict "$p" --gpu a100 --price 1
expect_error 2 '--carbon-intensity needs --steps, --samples or --epochs' predict "$p" --gpu a100 --carbon-intensity 1
expect_error 2 '--pue needs' predict "$p" --gpu a100 --pue 1.5
expect_error 2 '--country needs' predict "$p" --gpu a100 --country DE
expect_error 2 '--carbon-intensity needs' predict "$p" --gpu a100 --carbon-intensity DE
expect_error 2 '--host-power needs' predict "$p" --gpu a100 --host-power 1
expect_error 2 '--gpu-hour-price needs' predict "$p" --gpu a100 --gpu-hour-price 1
expect_error 2 '--epochs needs --dataset-size' predict "$p" --gpu a100 --epochs 1
expect_error 2 '--dataset-size needs --epochs' predict "$p" --gpu a100 --dataset-size 1
expect_error 2 "--country: 'Germny' is not a zone; did you mean 'Germany'" predict "$p" --gpu a100 --steps 1 --country Germny
expect_error 2 "--carbon-intensity: 'Germny' is not a number, nor a zone; did you mean 'Germany'" predict "$p" --gpu a100 --steps 1 --carbon Germny
expect_error 2 "--country: 'XX' is not one of WORLD, EU, " predict "$p" --gpu a100 --steps 1 --country XX
expect_error 2 "--carbon-intensity: 'XX' is not a number, nor one of WORLD, EU, " predict "$p" --gpu a100 --steps 1 --carbon XX
for first in --country --carbon; do
    second=$([ $first = --carbon ] && echo --country || echo --carbon)
    expect_error 2 '--country and --carbon-intensity both say where' predict "$p" --gpu a100 --steps 1 $first DE $second FR
done
expect_error 2 '--label needs --steps, --samples or --epochs' predict "$p" --gpu a100 --label l.md
expect_error 2 "--label: 'l.txt' ends in neither" predict "$p" --gpu a100 --steps 1 --label l.txt
expect_error 2 '--label and --set exclude' predict "$p" --gpu a100 --steps 1 --label l.md --set specs.mem_bytes_per_s=x2

# options and arguments may be mixed, whatever the environment says
POSIXLY_CORRECT=1 expect_ok predict "$p" --gpu a100
expect_ok predict --gpu=a100 -- "$p"
# What other programs call an option, what is not there yet, and several GPUs.
m=$data/mlp.profile.json
# one name a word: an option is also called as the column, in units of SI
expect_ok predict "$p" --gpu a100 --batch 8 --power-limit 250W --clock 1200 --json
mv "$work/out" "$work/plain"
expect_ok predict "$p" --gpu a100 --batch-size 8 --power-limit-w 250 --clock-hz 1.2e9 --json
cmp -s "$work/plain" "$work/out" || fail 'an option is another under its long name'
expect_error 2 "--clock-hz: '1.2GHz' is not a number" predict "$p" --gpu a100 --clock-hz 1.2GHz
expect_error 2 "unknown option '--dtype'; did you mean --precision\?" predict "$m" --gpu a100 --dtype bf16
expect_error 2 "unknown option '--presicion'; did you mean --precision\?" explain "$m" --gpu a100 --presicion bf16
for option in tensor-parallel-size:tp pipeline-parallel:pp zero-stage:zero sequence-parallel:sp; do
    expect_error 2 "unknown option '--${option%:*}'; did you mean --${option#*:}\?" predict "$m" --gpu a100 "--${option%:*}" 8
done
expect_error 2 '^adept: --deepspeed: say --zero 1, 2 or 3' predict "$m" --gpu a100 --deepspeed x
expect_error 2 'there are no elasticities of a layout' explain "$m" --gpu a100 --gpus 2 --zero 1 --all
expect_error 2 'this model has no blocks' predict "$m" --gpu a100 --activation-checkpoint full
for command in predict explain; do
    expect_error 2 'several side by side: adept sweep MODEL --vary gpu=a100,h100$' "$command" "$m" --gpu a100,h100
done
# ---- a file of options
printf '# of a step\ngpu = a100\n--batch=64\n\nmode infer\r\n' >"$work/options"
expect_ok predict "$data/mlp.profile.json" --gpu a100 --batch 64 --mode infer
cp "$work/out" "$work/plain"
expect_ok predict --options "$work/options" "$data/mlp.profile.json"
checks=$((checks + 1))
cmp -s "$work/out" "$work/plain" || fail 'a file of options says something else than the options'
expect_ok predict --options "$work/options" "$data/mlp.profile.json" --batch 32 # comes later
shows 'batch 32'
# wherever it stands, the command line's own hold; of measure it may be the command's
expect_ok predict --batch 32 "$data/mlp.profile.json" --options "$work/options"
shows 'batch 32'
run measure --json -o /dev/null -- echo --options "$work/options"
shows "^--options $work/options"
printf 'gpu = a100\nbx 3\n' >"$work/options"
expect_error 2 "unknown option '--bx" predict --options "$work/options" "$data/mlp.profile.json"
printf 'gpu = a100\n$batch 3\n' >"$work/options"
expect_error 3 'options:2: not an option' predict --options "$work/options" "$data/mlp.profile.json"
expect_error 3 'none: cannot open' predict --options "$work/none" "$data/mlp.profile.json"
expect_error 2 '--options needs a FILE' predict --options

finish
