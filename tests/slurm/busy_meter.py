"""A meter on the loopback whose joules follow what the processors of this machine do: P0 for every second, and A for every second that a
processor is busy, by /proc/stat. Writes its port to a file. usage: busy_meter.py PORTFILE P0_W A_J"""
import http.server
import json
import os
import sys
import time

begin_s = time.monotonic()


def busy_s():
    with open("/proc/stat") as stat:
        user, nice, system, idle, iowait, irq, softirq = map(int, stat.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


class Meter(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        energy_j = float(sys.argv[2]) * (time.monotonic() - begin_s) + float(sys.argv[3]) * busy_s()
        body = json.dumps({"meter": {"energy_j": energy_j}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Meter)
with open(sys.argv[1] + ".new", "w") as port:
    port.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
