# `adept serve`: every endpoint on both transports, answers equal to the program's, refusals, and an orderly end.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" serve --help >/dev/null 2>&1 || { echo "built without libmicrohttpd"; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "no python3"; exit 77; }
p=$data/mlp.profile.json
: >"$work/out"

# start ARGUMENT...: leaves pid, and the port that it says
start() {
    : >"$work/err" # what the last one said is not this one's
    "$ADEPT" serve "$@" >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    until grep -q 'listening' "$work/err" || ! kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
    port=$(sed -n 's/.*listening on http:.*:\([0-9]*\)$/\1/p' "$work/err")
}

# stop SIGNAL: exit code 0, and nothing on stdout
stop() {
    checks=$((checks + 1))
    kill "-$1" "$pid"
    wait "$pid"
    rc=$?
    [ "$rc" -eq 0 ] && [ ! -s "$work/out" ] || fail "exit code $rc after $1"
}
trap 'kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT
pid=

# ---- what it answers ----
mkdir "$work/profiles"
cp "$p" "$work/profiles/mlp.profile.json"
echo 'no profile' >"$work/profiles/notes.txt"
for threads in 1 3; do
    start --listen 127.0.0.1:0 --socket "$work/s" --profiles "$work/profiles" --max-body 100kB --timeout 30 --threads $threads \
        --host-name other.example --host-name adept.example
    checks=$((checks + 1))
    python3 -B "$ADEPT_SOURCE_DIR/tests/cli/serve_check.py" "$ADEPT" "$p" "$port" "$work/s" >"$work/check" 2>&1 ||
        { cat "$work/check"; fail "answers with $threads threads"; }
    [ "$(stat -c %a "$work/s")" = 600 ] || fail "permissions of the socket"
    run serve --listen 127.0.0.1:0 --socket "$work/s"
    checks=$((checks + 1))
    [ "$rc" -eq 2 ] && grep -q 'another server listens' "$work/err" || fail "a socket in use: $rc"
    : >"$work/out"
    stop TERM
    [ ! -e "$work/s" ] || fail "the socket's file stays"
done

# ---- hardware profiles that change are loaded anew, all is on HUP; what cannot be loaded changes nothing
sed 's|"fit": null|"fit": {"granularity": "model", "parameters": {"c_mem": 1.5}, "scalars": [{"name": "s", "target": {"model": "*"}, "term": "gemm", "value": 1.5}]}|; s|"name": "a100-sxm-40gb"|"name": "mine"|; s|"aliases": \[[^]]*\]|"aliases": []|' \
    "$ADEPT_SOURCE_DIR/hwprofiles/a100-sxm-40gb.json" >"$work/one.json"
# fleet FACTOR: a fleet's file in place of what is there
fleet() {
    { printf '{"schema_version": 1, "kind": "fleet", "profiles": ['; sed "s|\"value\": 1.5}]|\"value\": $1}]|" "$work/one.json"; printf ']}'; } >"$work/fleet.tmp"
    mv "$work/fleet.tmp" "$work/fleet.json"
}
# asked: the step time that the server says
asked() {
    python3 -B - "$port" <<'EOF'
import json, sys, urllib.request
body = b'{"workload":"mlp","gpu":"mine","batch_size":100000,"compact":true}'
r = urllib.request.Request("http://127.0.0.1:%s/v1/predict" % sys.argv[1], body, {"Content-Type": "application/json"})
print(json.load(urllib.request.urlopen(r, timeout=300))["step_time_s"])
EOF
}
# said N TEXT: waits until the server has said it N times
said() {
    tries=0
    until [ "$(grep -c "$2" "$work/err")" -ge "$1" ] || [ $tries -ge 3000 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    checks=$((checks + 1))
    [ $tries -lt 3000 ] || fail "the server never said '$2' $1 times"
}
fleet 1.5
start --listen 127.0.0.1:0 --gpu "$work/fleet.json" "$p"
first=$(asked)
fleet 3
said 1 ': loaded anew'
second=$(asked)
checks=$((checks + 1))
[ -n "$first" ] && [ "$first" != "$second" ] || fail "still $first after the profile changed"
kill -HUP "$pid"
said 2 ': loaded anew'
[ "$(asked)" = "$second" ] || fail 'another answer after HUP'
echo '{' >"$work/fleet.json"
said 1 'not loaded anew: .*fleet.json'
[ "$(asked)" = "$second" ] || fail 'another answer after a file that is wrong'
stop TERM

# ---- a stale socket is replaced, anything else is not; a request in flight is finished ----
start --socket "$work/s" "$p"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
[ -S "$work/s" ] || fail "no stale socket to test with"
start --socket "$work/s" --socket-mode 0660 "$p"
checks=$((checks + 1))
[ "$(stat -c %a "$work/s")" = 660 ] && [ -z "$port" ] || fail "with --socket alone there is no TCP"
python3 -B - "$work/s" "$pid" >"$work/check" 2>&1 <<'EOF' || { cat "$work/check"; fail "a request in flight"; }
import os, signal, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.settimeout(300)
s.connect(sys.argv[1])
body = b'{"workload":"mlp","gpu":"a100","compact":true}'
s.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:10])
time.sleep(0.3)
os.kill(int(sys.argv[2]), signal.SIGINT)
time.sleep(0.3)
s.sendall(body[10:])
answer = b""
while True:
    more = s.recv(65536)
    if not more:
        break
    answer += more
sys.exit(not (answer.startswith(b"HTTP/1.1 200") and b"step_time_s" in answer and b"Connection: close" in answer))
EOF
checks=$((checks + 1))
wait "$pid"
rc=$?
[ "$rc" -eq 130 ] && [ ! -e "$work/s" ] || fail "exit code $rc after SIGINT"
expect_error 2 'exists and is not a socket' serve --socket "$p"

# ---- slow clients are cut off, one after the other ----
start --listen 127.0.0.1:0 --timeout 1 "$p"
python3 -B - "$port" >"$work/check" 2>&1 <<'EOF' || { cat "$work/check"; fail "slow clients"; }
import socket, sys, time
def slow(first):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(0.3)
    begin = time.time()
    try:
        s.sendall(first)
        while time.time() - begin < 200:
            s.sendall(b"x")
            try:
                if not s.recv(1000):
                    break
            except socket.timeout:
                pass
    except (ConnectionResetError, BrokenPipeError):
        pass
    return time.time() - begin
took = [slow(b""), slow(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n")]
print(took)
sys.exit(not all(3 < t < 150 for t in took))
EOF
checks=$((checks + 1))
grep -q 'warning' "$work/err" && fail "a warning on loopback"
stop TERM

# ---- a body that takes long holds up nobody, and is answered in the end ----
start --listen 127.0.0.1:0 --timeout 600 "$p"
python3 -B - "$port" "$p" >"$work/check" 2>&1 <<'EOF' || { cat "$work/check"; fail "a long body"; }
import json, socket, sys
body = json.dumps({"profile": json.load(open(sys.argv[2])), "gpu": "a100", "requests": [{"batch_size": 1 + i} for i in range(10000)]}).encode()
def send(data):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(600)
    s.sendall(data)
    return s
head = b"Host: localhost\r\nContent-Type: application/json\r\n"
long = send(b"POST /v1/predict HTTP/1.1\r\nConnection: close\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
one = b'{"workload":"mlp","gpu":"a100","compact":true}'
for request in (b"GET /v1/health HTTP/1.1\r\n" + head + b"\r\n", b"POST /v1/predict HTTP/1.1\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(one) + one):
    assert send(request).recv(100).startswith(b"HTTP/1.1 200"), request
long.setblocking(False)
try:
    sys.exit("the long one was answered first: %r" % long.recv(100))
except BlockingIOError:
    long.settimeout(600)
answer = b"".join(iter(lambda: long.recv(1 << 20), b""))
estimates = json.loads(answer.partition(b"\r\n\r\n")[2])["estimates"]
assert len(estimates) == 10000 and all(e["step_time_s"] > 0 for e in estimates), answer[:200]
EOF
checks=$((checks + 1))
stop TERM

# ---- a token ----
token=0123456789abcdef-ABCDEF
echo "$token" >"$work/token"
start --listen 127.0.0.1:0 --token-file "$work/token" "$p"
python3 -B - "$port" "$token" >"$work/check" 2>&1 <<'EOF' || { cat "$work/check"; fail "--token-file"; }
import http.client, sys
def status(authorization, url="/v1/health"):
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=300)
    c.request("GET", url, headers={"Authorization": authorization} if authorization is not None else {})
    r = c.getresponse()
    assert (r.getheader("WWW-Authenticate") == "Bearer") == (r.status == 401), authorization
    return r.status
token = sys.argv[2]
assert status("Bearer " + token) == status("bearer " + token) == 200
for url, expected in (("/", 200), ("/page.js", 200), ("/page.css", 200), ("/openapi.json", 401), ("//", 401), ("/page.js/", 401)):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=300)
    connection.request("GET", url)
    assert connection.getresponse().status == expected, url
for wrong in (None, "", "Bearer", "Bearer ", token, "Basic " + token, "Bearer " + token[:-1], "Bearer " + token + "0", "Bearer " + token * 2,
              "Bearer " + token[:-1] + "G", "Bearer  " + token):
    assert status(wrong) == 401 and status(wrong, "/metrics") == 401 and status(wrong, "/nowhere") == 401, wrong
EOF
checks=$((checks + 1))
grep -q "$token" "$work/err" && fail "the token is printed"
stop TERM
for text in '' short "$(printf '%0513d' 0)" 'one two three four' "$(printf 'a line of its own\nand another')"; do
    printf '%s' "$text" >"$work/token"
    expect_error 3 'token: (not a token|.* bytes, more than)' serve --token-file "$work/token" "$p"
done
expect_error 3 'nowhere: cannot open' serve --token-file "$work/nowhere" "$p"

# ---- what it does not start with ----
for address in 0.0.0.0:0 '[::]:0' 192.0.2.1:80; do
    expect_error 2 'nothing is encrypted; --allow-remote' serve --listen "$address" "$p"
done
start --listen 0.0.0.0:0 --allow-remote --log "$p"
checks=$((checks + 1))
grep -q 'warning: no authentication' "$work/err" && [ -n "$port" ] || fail "--allow-remote"
python3 -B -c 'import sys, urllib.request; urllib.request.urlopen("http://127.0.0.1:%s/v1/health" % sys.argv[1]).read()' "$port" || fail "not reached"
stop TERM
grep -Eq '^adept serve: 200 [0-9]+ us GET /v1/health$' "$work/err" || fail "--log"
for address in 8787 127.0.0.1 127.0.0.1: :80 127.0.0.1:65536 127.0.0.1:x '[::1:80' ::1:80 ''; do
    expect_error 2 "^adept: --listen: '" serve --listen "$address" "$p"
done
expect_error 2 '--allow-remote needs --listen' serve --allow-remote "$p"
expect_error 2 '--socket-mode needs --socket' serve --socket-mode 0660 "$p"
expect_error 2 'is not an octal mode' serve --socket "$work/s" --socket-mode 999 "$p"
expect_error 2 'a path of 1 to 107 bytes' serve --socket "$(printf '%0200d' 0)" "$p"
expect_error 2 '--max-body' serve --max-body 1B "$p"
expect_error 2 '--threads' serve --threads 0 "$p"
expect_error 2 '--gpu a100: not a file' serve --gpu a100 "$p"
expect_error 2 "there is a workload 'mlp' already" serve "$p" "$work/profiles/mlp.profile.json"
expect_error 3 'no-such-file' serve "$work/no-such-file.json"
expect_error 3 'cannot read the folder' serve --profiles "$work/nowhere"
mkdir "$work/empty"
expect_error 3 'no NAME.profile.json' serve --profiles "$work/empty"
expect_error 4 'adept profile MODEL.pt -o FILE' serve "$models/vgg16.pt"
"$ADEPT" gpus a100 --json >"$work/mine.json"
expect_error 2 'name of another GPU' serve --gpu "$work/mine.json" --gpu "$work/mine.json" "$p"

# ---- without a profile, the bundled models; one by its name ----
for profile in '' vgg16; do
    start --listen 127.0.0.1:0 $profile
    checks=$((checks + 1))
    python3 -B - "$port" "$profile" >"$work/check" 2>&1 <<'EOF' || { cat "$work/check"; fail "bundled models: '$profile'"; }
import json, sys, urllib.request
url = f"http://127.0.0.1:{sys.argv[1]}/v1/"
names = [w["name"] for w in json.load(urllib.request.urlopen(url + "workloads"))["workloads"]]
assert names == [sys.argv[2]] if sys.argv[2] else len(names) == 28 and "resnet50" in names, names
asked = json.dumps({"workload": "vgg16", "gpu": "a100", "batch_size": 32}).encode()
request = urllib.request.Request(url + "predict", asked, {"Content-Type": "application/json"})
assert json.load(urllib.request.urlopen(request))["step_time_s"] > 0
EOF
    stop TERM
done

# ---- a GPU's file stands in place of the built-in one ----
sed '/"tdp_w"/s/400/333/' "$work/mine.json" >"$work/other.json"
start --listen 127.0.0.1:0 --gpu "$work/other.json" "$p"
checks=$((checks + 1))
python3 -B - "$port" "$work/other.json" >"$work/check" 2>&1 <<'EOF' || { cat "$work/check"; fail "--gpu FILE"; }
import json, sys, urllib.request
def get(url):
    return json.loads(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}{url}").read())
mine = json.load(open(sys.argv[2]))
assert get("/v1/gpus/a100") == mine, "the file"
rows = [g for g in get("/v1/gpus")["gpus"] if g["name"] == mine["name"]]
assert len(rows) == 1 and rows[0]["specs"]["tdp_w"] == 333, rows
EOF
stop TERM
finish
