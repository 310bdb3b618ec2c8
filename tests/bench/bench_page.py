#!/usr/bin/env python3
"""The page of `adept serve` in a headless Chromium: from a cold start to a moved slider's figures, and 20 changes a second.

Usage: [taskset -c 0] python3 tests/bench/bench_page.py build/tools/adept [WORKLOAD [GPU]]

Times are of the wall, from the slider's event to the figures of its value in the document, so that they are worth what the machine is idle.
A change that comes while a question is open is asked next, unless another comes first: such a change is never shown.
"main thread" is the processor's time of the page's only thread."""
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
import browser  # pylint: disable=wrong-import-position

CHANGES, PERIOD_MS, VALUES = 200, 50, 6
# set(value) moves the slider and gives the ms until the figures of another value stand there, or those that are awaited.
PAGE = """(() => {
    const field = document.getElementById('batch_size-0'), tile = () => document.querySelector('#headline .tile dd').firstChild.textContent;
    const wait = ms => new Promise(done => setTimeout(done, ms)), waiting = [];
    new MutationObserver(() => {
        const now = performance.now(), text = tile();
        for (const one of waiting.filter(w => w.is(text))) one.done(now - one.begin), waiting.splice(waiting.indexOf(one), 1);
    }).observe(document.getElementById('headline'), {childList: true, subtree: true});
    const set = (value, is) => new Promise(done => {
        waiting.push({begin: performance.now(), is, done});
        field.value = value;
        field.dispatchEvent(new Event('input'));
    });
    return {tile, wait, set};
})()"""
READY = "new Promise(done => { const look = () => document.querySelector('#headline .tile') ? done() : setTimeout(look, 1); look(); })"
FIRST = f"(async () => {{ const p = {PAGE}, before = p.tile(); return await p.set(3, t => t !== before); }})()"
MANY = f"""(async () => {{
    const p = {PAGE}, texts = [];
    for (let v = 0; v < {VALUES}; v++) {{
        const before = p.tile();
        p.set(v, t => t !== before);
        await p.wait(500);
        texts.push(p.tile());
    }}
    await p.wait(1500);
    const taken = [], begin = performance.now();
    for (let i = 0; i < {CHANGES}; i++) {{
        p.set(i % {VALUES}, t => t === texts[i % {VALUES}]).then(ms => taken.push(ms));
        await p.wait(begin + (i + 1) * {PERIOD_MS} - performance.now());
    }}
    const seconds = (performance.now() - begin) / 1000;
    await p.wait(1000);
    return [taken, seconds];
}})()"""


def busy_s(page):
    return next(m["value"] for m in page.call("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")


def main():
    adept, workload, gpu = (sys.argv[1:] + ["build/tools/adept", "tinyllama_1.1b", "h100-sxm-80gb"][len(sys.argv) - 1:])[:3]
    program = browser.find()
    if not program:
        sys.exit("bench_page: no Chromium")
    with browser.Browser(program) as page:
        page.call("Performance.setTimeDomain", timeDomain="threadTicks")
        page.call("Performance.enable")
        begin = time.monotonic()
        with subprocess.Popen([adept, "serve", "--listen", "127.0.0.1:0", workload], stderr=subprocess.PIPE, text=True) as server:
            try:
                origin = server.stderr.readline().split("listening on ")[1].strip()
                page.call("Page.navigate", url=f"{origin}/#workload={workload}&gpu={gpu}")
                while True:
                    try:
                        page.evaluate(READY)
                        break
                    except RuntimeError:  # the page that it was is gone
                        time.sleep(0.01)
                shown_s = time.monotonic() - begin
                moved_ms = page.evaluate(FIRST)
                cold_s = time.monotonic() - begin
                time.sleep(3)
                before_s = busy_s(page)
                taken_ms, sent_s = page.evaluate(MANY)
                used_s = busy_s(page) - before_s
            finally:
                server.terminate()
    cuts = statistics.quantiles(taken_ms, n=20)
    print(f"load {os.getloadavg()[0]:.1f}, on {len(os.sched_getaffinity(0))} cores")
    print(f"server started to figures   {shown_s:.2f} s, to those of a moved slider {cold_s:.2f} s (that change {moved_ms:.0f} ms)")
    print(f"{CHANGES / sent_s:.1f} changes a second      median {cuts[9]:.1f} ms, 95 % {cuts[18]:.1f} ms, most {max(taken_ms):.0f} ms; {len(taken_ms)} of {CHANGES} shown, "
          f"{sum(t <= PERIOD_MS for t in taken_ms)} within {PERIOD_MS} ms")
    print(f"main thread                 {1000 * used_s / (CHANGES + VALUES):.1f} ms a change")


if __name__ == "__main__":
    main()
