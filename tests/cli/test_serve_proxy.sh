# adept serve behind the proxy that docs/LIBRARY.md describes: TLS, the proxy's names, a token that passes through it.
. "$ADEPT_SOURCE_DIR/tests/cli/lib.sh"
"$ADEPT" serve --help >/dev/null 2>&1 || { echo "built without libmicrohttpd"; exit 77; }
PATH=$PATH:/usr/sbin
for program in haproxy openssl python3; do
    command -v "$program" >/dev/null || { echo "no $program"; exit 77; }
done
pids=
trap 'kill $pids 2>/dev/null; rm -rf "$work"' EXIT
: >"$work/out"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=adept.example -addext subjectAltName=DNS:adept.example \
    -keyout "$work/key" -out "$work/cert" 2>"$work/err" || fail "no certificate"
cat "$work/cert" "$work/key" >"$work/pem"
echo 0123456789abcdef-token >"$work/token"
"$ADEPT" serve --socket "$work/s" --token-file "$work/token" "$data/mlp.profile.json" 2>"$work/err" &
pids=$!

# The configuration of the page, with names of here.
sed -n '/^    frontend adept$/,/^$/s/^    //p' "$ADEPT_SOURCE_DIR/docs/LIBRARY.md" >"$work/page"
sed -e "s|:443|127.0.0.1:$port|" -e "s|/etc/adept/adept.pem|$work/pem|" -e "s|/run/adept/adept.sock|$work/s|" "$work/page" >"$work/cfg"
checks=$((checks + 1))
[ "$(diff "$work/page" "$work/cfg" | grep -c '^>')" -eq 2 ] || fail "the page has no such configuration"
haproxy -f "$work/cfg" -db >"$work/haproxy" 2>&1 &
pids="$pids $!"

python3 -B - "$port" "$work/cert" "$(cat "$work/token")" >"$work/check" 2>&1 <<'EOF' || { cat "$work/check" "$work/haproxy"; fail "through the proxy"; }
import http.client, json, socket, ssl, sys, time
port, certificate, token = int(sys.argv[1]), sys.argv[2], sys.argv[3]
context = ssl.create_default_context(cafile=certificate)

class Connection(http.client.HTTPSConnection):
    def connect(self):
        self.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", port), 20), server_hostname="adept.example")

def ask(method, url, body=None, **headers):
    c = Connection("adept.example", context=context)
    c.request(method, url, body, {"Authorization": "Bearer " + token, "Content-Type": "application/json", **headers})
    r = c.getresponse()
    return r.status, r.read()

for _ in range(1200):
    try:
        if ask("GET", "/v1/health")[0] == 200:
            break
    except OSError:
        pass
    time.sleep(0.1)
status, text = ask("POST", "/v1/predict", '{"workload":"mlp","gpu":"a100","compact":true}')
assert status == 200 and json.loads(text)["step_time_s"] > 0, (status, text)
assert ask("GET", "/v1/health", Authorization="Bearer no")[0] == 401
assert ask("GET", "/v1/health", Host="evil.example")[0] == 403
assert ask("GET", "/v1/health", Host="adept.example.evil")[0] == 403
assert ask("GET", "/v1/health", Origin="https://evil.example")[0] == 403
assert ask("GET", "/v1/health", Origin="https://adept.example")[0] == 200
assert ask("GET", "/v1/health%00x")[0] in (400, 404)
plain = socket.create_connection(("127.0.0.1", port), 20)
plain.sendall(b"GET /v1/health HTTP/1.1\r\nHost: adept.example\r\n\r\n")
assert b"200 OK" not in plain.recv(4096), "answered without TLS"
EOF
checks=$((checks + 1))
finish
