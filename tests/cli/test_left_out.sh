# What a build lacks is refused by name, with exit code 2, before anything is done: commands, and options of parts left out.
# ADEPT_LEFT_OUT names the parts: of a whole build none, whose options are then taken.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"

# option PART WORD ARGUMENT...: refused by its name if that part was left out
option() {
    part=$1
    word=$2
    shift 2
    rm -f "$work/ran" "$work/a.adept"
    case " ${ADEPT_LEFT_OUT-} " in
    *" $part "*)
        expect_error 2 "$word.*built without|built without.*$word" "$@"
        [ ! -e "$work/ran" ] || fail "the command ran: adept $*" ;;
    *)
        run "$@"
        checks=$((checks + 1))
        ! grep -q 'built without' "$work/err" || fail "$part is there, and refused: adept $*" ;;
    esac
}

echo '{"power":24.5}' >"$work/m.json"
option meters --meter measure --meter "file://$work/m.json /power W m1 node" -- touch "$work/ran"
option meters --meter measure --list --meter "file://$work/m.json /power W m1 node"
option meters --meter attribute record --source proc --duration 100ms -o "$work/a.adept" --meter "file://$work/m.json /power W m1 node"
option bpf bpf attribute record --source bpf --duration 100ms -o "$work/a.adept"
option pictures --plot measure --plot "$work/p.svg" -- touch "$work/ran"
option pictures --plot sweep "$data/mlp.profile.json" --gpu a100 --vary batch=1,2 --plot "$work/p.svg"
option calibrate calibrate calibrate "$work/none.csv" --gpu a100
option calibrate evaluate evaluate "$work/none.csv" --gpu a100
option serve serve serve "$work/none.profile.json"
finish
