# A scripted model counts as the traced one does: recurrent modules keep their weights in a list beside their names.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
golden=$ADEPT_SOURCE_DIR/tests/golden/models

for kind in lstm gru rnn; do
    for how in traced scripted; do
        expect_ok profile "$golden/${kind}_$how.pt" --json
        sed -n '/"totals"/,/}/p' "$work/out" >"$work/$how"
    done
    checks=$((checks + 1))
    [ -s "$work/traced" ] && cmp -s "$work/traced" "$work/scripted" || fail "a scripted $kind counts otherwise than a traced one"
done
finish
