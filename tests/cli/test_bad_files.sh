# Files that are not what they should be: exit code 3 (6 for an unknown GPU) and one line that names the file.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
p=$data/mlp.profile.json

# bad NAME: as a model, a profile and a hardware profile
bad() {
    expect_error 3 "$1" profile "$work/$1"
    expect_error 3 "$1" predict "$work/$1" --gpu a100
    expect_error 3 "$1" predict "$p" --gpu "$work/$1"
    expect_error 3 "$1" gpus "$work/$1"
}

bad missing.pt
: >"$work/empty.pt"
bad empty.pt
head -c 4096 /dev/urandom >"$work/random.pt"
bad random.pt
printf 'PK\003\004 this is no archive' >"$work/zip.pt"
bad zip.pt
mkdir "$work/folder.pt"
bad folder.pt
echo '{}' >"$work/object.json"
bad object.json
echo '{"schema_version": 1' >"$work/cut.json"
bad cut.json
printf '{"a":%0100000d}' 0 >"$work/number.json"
bad number.json
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "{\"a\":"; }' >"$work/deep.json"
bad deep.json
head -c 1000 "$p" >"$work/truncated.profile.json"
bad truncated.profile.json
sed 's/"schema_version": *[0-9]*/"schema_version":99/' "$p" >"$work/newer.profile.json"
bad newer.profile.json
sed 's/"data":[[:space:]]*".*"/"data":"AAAA"/' "$p" >"$work/nodata.profile.json"
bad nodata.profile.json
sed 's/"options":[[:space:]]*{/"options":{"batch_size":-1,/' "$p" >"$work/negative.profile.json"
bad negative.profile.json

# a profile is no GPU and a GPU is no profile
run gpus a100 --json
cp "$work/out" "$work/gpu.json"
expect_ok predict "$p" --gpu "$work/gpu.json"
expect_error 3 'gpu.json' predict "$work/gpu.json" --gpu a100
expect_error 3 'mlp.profile.json' predict "$p" --gpu "$p"

# unknown GPUs, with the near ones
expect_error 6 "'h1000'.*h100" predict "$p" --gpu h1000
expect_error 6 "'a10p'.*a10" gpus a10p
expect_error 6 "unknown GPU" predict "$p" --gpu ''
expect_error 6 "unknown GPU" predict "$p" --gpu 'completely different'
# it is found before a model is read
expect_error 6 "unknown GPU" predict "$work/missing.pt" --gpu h1000

# libraries that are opened when they are needed, of which another process may have left half
: >"$work/libmicrohttpd.so.12"
: >"$work/libcurl.so.4"
export LD_LIBRARY_PATH="$work"
if "$ADEPT" serve --help | grep -q profiles; then
    expect_error 1 "'adept serve' needs libmicrohttpd: .*libmicrohttpd.so.12: file too short" serve "$p" --listen 127.0.0.1:0
fi
run measure --meter "http://127.0.0.1:1/ /x W" --list
if ! grep -q 'built without' "$work/err"; then
    shows 'libcurl.so.4: file too short'
    shows 'a meter at a URL needs libcurl'
fi
unset LD_LIBRARY_PATH

# control characters do not reach the terminal, those in names of files included
name=$(printf 'esc\033[31mape.pt')
expect_error 3 'esc.\[31mape.pt' profile "$work/$name"
grep -q "$(printf '\033')" "$work/err" && fail 'an escape sequence in a message'
finish
