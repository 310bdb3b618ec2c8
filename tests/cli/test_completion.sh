# Completion offers what the program has: commands, options, the words of an option, GPUs; and leaves files to the shell.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
command -v bash >/dev/null 2>&1 || { echo "no bash"; exit 77; }
: >"$work/err"

# completes EXPECTED WORD...: with the last word under the cursor, the replies joined by blanks
completes() {
    expected=$1
    shift
    bash --norc --noprofile -c '
        . "$ADEPT_SOURCE_DIR/tools/packaging/completion/adept.bash" || exit 1
        COMP_WORDS=("$ADEPT" "$@")
        COMP_CWORD=$#
        _adept
        echo "${COMPREPLY[*]}"' complete "$@" >"$work/out" 2>"$work/err"
    checks=$((checks + 1))
    [ "$(cat "$work/out")" = "$expected" ] || fail "'$*' completes to '$(cat "$work/out")', expected '$expected'"
}

completes 'predict profile plan' p
completes 'gpus' gp
completes '--help --version' --
completes '--power-limit --power-scope --pp --precision --prefill-chunk --prompt --price --pue' predict --p
completes '--power-limit --power-scope' predict model.pt --gpu a100 --power
completes 'train' predict --mode t
completes 'parameters' diff --sort p
completes 'time energy memory flops' diff --fail-on ''
completes 'train fwbw infer generate' predict --mode ''
completes 'train fwbw infer generate' predict --mode =
completes 'infer' predict model.pt --mode = i
completes 'fp32 fp16 fp8 fp8:row fp8:block' predict --precision fp
completes 'operator' predict --granularity o
completes 'layer op kind layer,op' profile --by ''
completes 'h100-nvl h100-pcie-80gb h100-sxm-80gb' predict model.pt --gpu h1
completes 't4' gpus t
completes '' predict model
completes '' predict --power-limit 2
completes '' nonsense x

# All options of all commands are found, none is made up.
for command in predict report profile sweep diff explain gpus handlers; do
    run "$command" --help-all
    grep -Eo '^ {2,6}(-[a-zA-Z], )?--[a-z-]+' "$work/out" | grep -o -e '--[a-z-]*' | sort >"$work/expected"
    bash --norc --noprofile -c '. "$ADEPT_SOURCE_DIR/tools/packaging/completion/adept.bash"; _adept_options "$ADEPT" "$1"' x "$command" |
        sort >"$work/got"
    checks=$((checks + 1))
    [ "$(wc -l <"$work/got")" -ge 3 ] && diff "$work/expected" "$work/got" >"$work/out" || fail "options of $command"
done
if command -v zsh >/dev/null 2>&1; then
    checks=$((checks + 1))
    zsh -n "$ADEPT_SOURCE_DIR/tools/packaging/completion/_adept" 2>"$work/err" || fail "zsh cannot read its completion"
fi
finish
