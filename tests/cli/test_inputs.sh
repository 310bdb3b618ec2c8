# Inputs by name: dicts, lists, numbers and texts, and those that a file brings along.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
need_torch
golden=$ADEPT_SOURCE_DIR/tests/golden/models

# a dict: two words' tables of 10 x 8, by 4: as parts, or in the order in which the program asks for them
for inputs in "--input i64:2x5 --input 2x5" "--input batch.mask=2x5 --input batch.ids=i64:2x5" \
    "--input batch.ids=i64:BxS --input batch.mask=BxS --batch 2 --seq-length 5"; do
    # shellcheck disable=SC2086
    expect_ok profile "$golden/words.pt" $inputs --json
    shows '"macs_forward":[[:space:]]*320,'
    shows '"name":[[:space:]]*"batch.ids"'
    shows '"batch_size":[[:space:]]*2,'
done
expect_ok profile "$golden/words.pt" --input i64:2x5 --input 2x5 --batch 6 --json
shows '"macs_forward":[[:space:]]*960,'
expect_error 2 "shape of input 'batch.ids'; give it with --input, for instance --input batch.ids=Bx" profile "$golden/words.pt"
expect_error 2 "has no key 'ids'; those of an input are given by --input, NAME.ids=SHAPE" profile "$golden/words.pt" --input batch.mask=2x5
expect_error 2 "the model has no input of that name, only 'batch'" profile "$golden/words.pt" --input btch.ids=2x5
expect_error 2 "'batch.ids=2x5': is given twice" profile "$golden/words.pt" --input batch.ids=2x5 --input batch.ids=2x5

# each type: x three times by 4 x 4 (96); 5 x 4 by 4 x 2 (40), 2 x 2 x 1 (4); not the rest
set -- --input 2x4 --input trips=3 --input on=false --input targets.0.a=5x4 --input targets.0.b=4x2 --input sizes=2 \
    --input pair.0=4x4 --input pair.1=0.5
expect_ok profile "$golden/named.pt" "$@" --input name=once --mode infer --json
shows '"macs_forward":[[:space:]]*140,'
shows '"name":[[:space:]]*"trips"'
shows '"shape":[[:space:]]*"3"'
# once more by 4 x 4 (32); 4 (8); 2 x 4 by 4 x 3 (24); 3 x 3 (9); 4 x 4 by itself (64); 7; 3 x 3 by itself (27); 12 and 80
set -- "$@" --input more=1 --input maybe=7 --input mask=3x3 --input features=2x3,4x5 --input name=twice \
    --input targets.1.a=2x4 --input targets.1.b=4x3
every() {
    all=
    for word; do
        case $word in on=false) word=on=true ;; sizes=2) word=sizes=2,3 ;; esac
        all="$all $word"
    done
    # shellcheck disable=SC2086
    expect_ok profile "$golden/named.pt" $all --mode infer -o "$work/named.json"
    # shellcheck disable=SC2086
    expect_ok profile "$golden/named.pt" $all --mode infer --json
    shows '"macs_forward":[[:space:]]*403,'
}
every "$@"
# what was given is in a saved profile, where it can be given anew
expect_ok profile "$work/named.json" --json
shows '"macs_forward":[[:space:]]*403,'
expect_ok profile "$work/named.json" --input 2x4 --input trips=3 --input on=false --input targets.0.a=5x4 --input targets.0.b=4x2 \
    --input sizes= --input name=once --input pair.0=4x4 --input pair.1=0.5 --json
shows '"macs_forward":[[:space:]]*136,'
expect_error 2 "'trips' has type int, and the file does not say its value; give it with --input, for instance --input trips=3" \
    profile "$golden/named.pt" --input 2x4 --input pair.0=4x4
expect_error 2 "'targets' has type List.Dict.str, Tensor.*--input targets.0...=" profile "$golden/named.pt" --input 2x4 --input trips=3 \
    --input on=true --input pair.0=4x4
expect_error 2 "'trips': want a value like 3" profile "$golden/named.pt" --input 2x4 --input pair.0=4x4 \
    --input trips=3x2
expect_error 2 "'trips=4': is given twice" profile "$golden/named.pt" "$@" --input trips=4
expect_error 2 'a List.Dict.str, Tensor.. has no such part' profile "$golden/named.pt" --input targets.a.b=5x4
expect_error 2 "'targets.3.a': nothing takes it" profile "$golden/named.pt" "$@" --input targets.3.a=5x4
expect_error 2 'dimensions are joined' profile "$golden/named.pt" --input mask=3y3
expect_error 2 'no name before' profile "$golden/named.pt" --input =3x3

# a list of tensors: their number in front of one shape, or each by itself (3 x 6 x 5 by 4 channels: 360 each)
expect_ok profile "$golden/images.pt" --input 7x3x6x5 --mode infer --json
shows '"macs_forward":[[:space:]]*2520,'
for inputs in "--input 3x6x5 --input 3x6x5" "--input images=3x6x5,3x6x5" "--input images.0=3x6x5 --input images.1=3x6x5"; do
    # shellcheck disable=SC2086
    expect_ok profile "$golden/images.pt" $inputs --mode infer --json
    shows '"macs_forward":[[:space:]]*720,'
    shows '"batch_size":[[:space:]]*2,'
done
expect_error 2 "shapes in list 'images' are given one by one; write B" profile "$golden/images.pt" --input images=3x6x5,3x6x5 --batch 4
expect_error 2 'torch.stack|aten::stack' profile "$golden/images.pt" --input images=3x6x5,3x7x5

# torch.utils.bundled_inputs: x of 5 x 6 three times by 6 x 6, and 2 x 3 by 3 x 4; some of it said anew
expect_ok profile "$golden/bundled.pt" --json
shows '"macs_forward":[[:space:]]*612,'
expect_ok profile "$golden/bundled.pt" --input trips=1 --json
shows '"macs_forward":[[:space:]]*204,'
expect_ok profile "$golden/bundled.pt" --input lists=2x3,3x40 --input trips=1 --json
shows '"macs_forward":[[:space:]]*420,'
finish
