#!/usr/bin/env python3
"""The reports in a real browser: nothing asked for, nothing complained about, everything where it belongs.

Needs a headless Chromium; leaves with 77 (skipped) without one, or without gnuplot. ADEPT names the program,
ADEPT_SOURCE_DIR the sources, ADEPT_TORCH_MODULE (optional) what reads .pt files."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import browser
import png

SOURCES = pathlib.Path(os.environ["ADEPT_SOURCE_DIR"])
MLP = SOURCES / "tests/cli/data/mlp.profile.json"
COMPUTE, MEMORY, GREY = ["#0072B2"], ["#F2B134", "#D3A84A"], ["#e9e9e9"]
failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


# Texts of a picture that lie on each other, or outside it. Texts in a nested <svg> are clipped to it.
TEXTS = """(root => {
    const frame = root.getBoundingClientRect(), boxes = [], wrong = [];
    for (const text of root.querySelectorAll('text')) {
        if (!text.textContent.trim()) continue;
        const b = text.getBoundingClientRect(), cell = text.parentElement;
        if (cell !== root && cell.localName === 'svg' && cell.hasAttribute('width')) {
            const box = text.getBBox();
            if (box.x < -0.5 || box.x + box.width > Number(cell.getAttribute('width')) + 0.5 ||
                box.y + box.height > Number(cell.getAttribute('height')) + 3)
                wrong.push(text.textContent + ' leaves its cell');
        }
        if (b.left < frame.left - 1 || b.right > frame.right + 1 ||
            b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
            wrong.push(text.textContent + ' leaves the picture');
        const slanted = text.closest('[transform*="rotate"]') !== null;
        const again = boxes.some(([t, a]) => t === text.textContent && Math.abs(a.x - b.x) + Math.abs(a.y - b.y) < 1);
        if (!slanted && !again) boxes.push([text.textContent, b]);  // gnuplot writes a text before its ground and after
    }
    for (let i = 0; i < boxes.length; i++)
        for (let j = 0; j < i; j++) {
            const [s, a] = boxes[i], [t, b] = boxes[j];
            const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (width > 2 && height > 4) wrong.push(s + ' lies on ' + t);
        }
    return {n: boxes.length, wrong};
})"""


def region(page, selector):
    """Picture of one element, in half size."""
    box = page.evaluate(f"(b => ({{x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height}}))"
                        f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
    data = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**box, "scale": 0.5})
    return base64.b64decode(data["data"])


def quiet(page, url, name):
    """A page that asked for itself and pictures inside it, and said nothing."""
    asked = [r for r in page.requests() if not r.startswith("data:")]
    check(asked == [url], f"{name}: asked for {asked}")
    check(page.complaints() == [], f"{name}: {page.complaints()}")
    check(page.evaluate("document.scripts.length") == 0, f"{name}: there are scripts")
    check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: wider than the window")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    check(len(ids) == len(set(ids)), f"{name}: an id stands twice")


def check_texts(page, what, name):
    found = page.evaluate(f"{TEXTS}({what})")
    check(found["n"] >= 3, f"{name}: {found['n']} texts")
    for wrong in found["wrong"]:
        check(False, f"{name}: {wrong}")


def check_report(page, html, sections):
    url = html.as_uri()
    page.open(url, 1120, 900)
    quiet(page, url, html.name)
    found = page.evaluate("[...document.querySelectorAll('section')].map(s => s.id)")
    check([s for s in found if s != "warnings"] == sections, f"{html.name}: sections {found}")
    images = page.evaluate("[...document.images].map(i => [i.alt.length, i.complete, i.naturalWidth])")
    check(all(alt > 20 and complete and width >= 1000 for alt, complete, width in images), f"{html.name}: {images}")
    for i in range(page.evaluate("document.querySelectorAll('figure > svg').length")):
        check_texts(page, f"document.querySelectorAll('figure > svg')[{i}]", f"{html.name}, picture {i}")
    return url


def check_look(page, html):
    """What the regions of TinyLlama's report look like, whatever the fonts."""
    for number, least in ((1, 0.5), (2, 0.5)):  # treemaps: nearly all of it is the color of compute
        blue = png.share(region(page, f"#step figure:nth-of-type({number + 1}) svg"), COMPUTE)
        check(least < blue < 0.95, f"{html.name}: {blue:.2f} of treemap {number} is of compute")
    bars = region(page, "#step figure:nth-of-type(1) svg")
    check(0.1 < png.share(bars, COMPUTE) < 0.8, f"{html.name}: {png.share(bars, COMPUTE):.2f} of the bars")
    for name in ("roofline", "power-limit"):  # lines on white
        picture = region(page, f"#{name} img")
        white, blue = png.share(picture, ["#ffffff"], 6), png.share(picture, COMPUTE, 60)
        check(0.6 < white < 0.99, f"{html.name}: {white:.2f} of {name} is white")
        check(0.0003 < blue < 0.2, f"{html.name}: {blue:.4f} of {name} is blue")
    head = region(page, "#headline")
    check(len(png.colors(head)[0]) > 20, f"{html.name}: the headline is blank")


def check_sizes(page, html, url):
    """A narrow window, a dark desktop, paper."""
    page.open(url, 400, 800)
    quiet(page, url, html.name + " on a phone")
    page.open(url, 1120, 900, media=[("prefers-color-scheme", "dark")])
    quiet(page, url, html.name + " in the dark")
    check(png.share(region(page, "h1"), ["#15181b"], 8) > 0.5, f"{html.name}: no dark ground in the dark")
    check(png.share(region(page, "#roofline img"), ["#ffffff"], 6) > 0.6, f"{html.name}: pictures are not on white")
    pdf = base64.b64decode(page.call("Page.printToPDF")["data"])
    check(pdf.startswith(b"%PDF") and len(pdf) > 20000, f"{html.name}: prints {len(pdf)} bytes")


def hostile_profile(folder):
    """A model whose names are markup, commands and much too long."""
    names = ["</title><script>alert(1)</script><img src=x onerror=alert(2)>",
             "\"; system('touch hacked'); \\n `id` $x @y", "a" * 10000,
             "\u202etxt.\u0007exe\n\tEOD\nexit", "&amp;]]>--><!--", ".".join("deep" for _ in range(500))]
    profile = json.loads(MLP.read_text())
    profile["model"]["path"] = "<script>document.title='taken'</script>'\".pt"
    op = profile["ops"][0]
    profile["ops"] = [dict(op, path=name, module_class=name, op="aten::" + name, kind=op["kind"]) for name in names]
    path = folder / "hostile.profile.json"
    path.write_text(json.dumps(profile))
    return path


def report(folder, name, model, *options):
    html = folder / (name + ".html")
    subprocess.run([os.environ["ADEPT"], "report", str(model), "--gpu", "a100", "-o", str(html),
                    "--plots", str(folder / name), *options], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    return html


SWEEPS = {
    "one": ["--gpu", "a100", "--vary", "power_limit_w=100:400:5"],
    "two": ["--gpu", "a100", "--vary", "grad_accum=1,2,4,8,16", "--vary", "gpus=1,2,4,8"],
    "map": ["--gpu", "a100", "--vary", "power_limit_w=100:400:10", "--vary", "clock_hz=8e8:1.4e9:4e7"],
    "words": ["--vary", "gpu=a100,h100,l4,t4,v100"],
    "many": ["--gpu", "a100", "--vary", "power_limit_w=100:400:3", "--vary", "gpus=1:8:1",
             "--vary", "specs.l2_bytes=x0.5:x2:x0.05"],
    "alone": ["--gpu", "a100", "--one-at-a-time", "--vary", "specs.mem_bytes_per_s=x0.5:x2:x0.1",
              "--vary", "gpus=1,2,4,8"],
}


def check_sweeps(page, folder):
    """Pages and pictures of grids of every kind."""
    for name, options in SWEEPS.items():
        html, svg = folder / (name + ".html"), folder / (name + ".svg")
        subprocess.run([os.environ["ADEPT"], "sweep", str(MLP), *options, "--html", str(html), "--plot", str(svg)],
                       check=True, stdout=subprocess.DEVNULL)
        page.open(html.as_uri(), 1120, 900)
        quiet(page, html.as_uri(), html.name)
        picture = region(page, "#picture img")
        white = png.share(picture, ["#ffffff"], 6)
        check(0.3 < white < 0.995, f"{html.name}: {white:.3f} of the picture is white")
        page.open(svg.as_uri(), 1040, 700)
        check_texts(page, "document.documentElement", svg.name)


CLUSTER = {"schema_version": 1, "name": "small", "nodes": [
    {"name": "</text><script>taken()</script>", "gpu": "a100-sxm-40gb", "gpus": 4, "host_idle_w": 150, "host_busy_w": 100},
    {"name": "h", "gpu": "h100-sxm", "gpus": 8, "count": 2, "host_idle_w": 150, "host_busy_w": 100}]}
JOBS = {"schema_version": 1, "name": "small", "templates": [
    {"name": "short", "model": str(MLP), "gpus": [1, 2], "batches": [64, 256], "limits": "auto",
     "samples_for_s": {"seconds": 120, "gpu": "a100-sxm-40gb"}},
    {"name": "long \"&\"", "model": str(MLP), "gpus": [1, 2, 4], "batches": [64], "limits": "auto",
     "samples_for_s": {"seconds": 900, "gpu": "a100-sxm-40gb"}}],
    "arrivals": {"rate_per_s": 0.03, "horizon_s": 7200}, "users": 3, "urgent": {"share": 0.2, "deadline_factor": 3}}


def check_simulation(page, folder):
    """Policies side by side: tables, trade-offs, power against the cap, Gantt charts."""
    html, cluster, jobs = folder / "simulated.html", folder / "cluster.json", folder / "jobs.json"
    cluster.write_text(json.dumps(CLUSTER))
    jobs.write_text(json.dumps(JOBS))
    subprocess.run([os.environ["ADEPT"], "simulate", str(cluster), str(jobs), "--policy", "pollux,aurachronos,thrift", "--seeds", "2",
                    "--cap", "3kW", "--html", str(html)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check_report(page, html, ["results", "trade-offs", "power", "gantt", "aims", "provenance"])
    for policy in (1, 2, 3):
        chart = region(page, f"#gantt figure:nth-of-type({policy}) svg")
        colored = png.share(chart, COMPUTE) + png.share(chart, MEMORY)
        check(0.1 < colored < 0.95, f"{html.name}: {colored:.2f} of Gantt chart {policy} are jobs")
    white = png.share(region(page, "#power img"), ["#ffffff"], 6)
    check(0.6 < white < 0.995, f"{html.name}: {white:.3f} of the power is white")
    check(page.evaluate("typeof taken") == "undefined" and page.evaluate("document.querySelectorAll('text script').length") == 0,
          "the name of a node became markup")


def main():
    program = browser.find()
    if not program or not shutil.which("gnuplot"):
        print("no Chromium, or no gnuplot")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="adept-report-"))
    sections = ["headline", "explanation", "step", "layers", "roofline", "power-limit", "memory", "method",
                "provenance"]
    try:
        model = SOURCES / "data/models/tinyllama_1.1b.pt" if os.environ.get("ADEPT_TORCH_MODULE") else MLP
        html = report(folder, "report", model, "--batch", "1") # which fits, or there is no picture of power limits
        hostile = report(folder, "hostile", hostile_profile(folder), "--gpus", "4")
        with browser.Browser(program) as page:
            url = check_report(page, html, sections)
            if model != MLP:
                check_look(page, html)
            for svg in sorted((folder / "report").glob("*.svg")):
                page.open(svg.as_uri(), 1040, 700)
                check_texts(page, "document.documentElement", svg.name)
            check_sizes(page, html, url)
            check_report(page, hostile, sections)
            check("taken" not in page.evaluate("document.title").replace("'taken'", ""), "a name ran as a script")
            check(page.evaluate("document.querySelectorAll('section script, section img[onerror]').length") == 0,
                  "a name became markup")
            check_sweeps(page, folder)
            check_simulation(page, folder)
        check(not list(folder.glob("**/hacked")), "gnuplot ran what a layer is called")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
