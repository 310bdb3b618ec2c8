#!/usr/bin/env python3
"""The pages in a real browser: nothing asked for, nothing complained about, everything where it belongs.

Needs a headless Chromium; leaves with 77 (skipped) without one. ADEPT names the program, ADEPT_SOURCE_DIR the sources, ADEPT_MAKE_RECORDING
what writes recordings of processes."""
import base64
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

import browser
import png

SOURCES = pathlib.Path(os.environ["ADEPT_SOURCE_DIR"])
MLP = SOURCES / "tests/cli/data/mlp.profile.json"
COMPUTE = ["#0072B2"]
LIGHT, DARK = [("prefers-color-scheme", "light")], [("prefers-color-scheme", "dark")]
WIDTHS = (360, 600, 820, 1120, 1920)
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


AXE, AXE_SHA512 = "axe-core@4.10.2", ("444de6750ecfdc54527bb7aa096a1e43f67d417aed9e24a3a75c148ede67442d"
                                      "d6229cf9ad20af7baa377ec676682a49b6b663499823c170284cee64e2d108d3")
RUN_AXE = """axe.run(document, {resultTypes: ['violations'], preload: false, rules: {'color-contrast':
    {enabled: document.querySelectorAll('*').length < 1500}}}).then(r => r.violations.map(v =>
    v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ').slice(0, 300)))"""


def fetch_axe(folder):
    """The text of axe-core, where ADEPT_AXE asks for it (CI does) and it can be fetched, by npm as its user has set it up, and without npm from
    where npm would look; a package of another hash is an error."""
    if not os.environ.get("ADEPT_AXE"):
        return None
    try:
        if shutil.which("npm"):
            subprocess.run(["npm", "pack", "--silent", "--fetch-retries=1", "--fetch-timeout=30000", AXE], cwd=folder, check=True, timeout=120, stdout=subprocess.DEVNULL)
            [package] = folder.glob("axe-core-*.tgz")
            data = package.read_bytes()
        else:
            with urllib.request.urlopen(f"https://registry.npmjs.org/axe-core/-/{AXE.replace('@', '-')}.tgz", timeout=30) as answer:
                data = answer.read()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"not checked by {AXE}, which could not be fetched: {error}")
        return None
    check(hashlib.sha512(data).hexdigest() == AXE_SHA512, f"{AXE} is not the package that it was")
    with tarfile.open(fileobj=io.BytesIO(data)) as files:
        return files.extractfile("package/axe.min.js").read().decode()


def check_by_axe(page, name):
    """The rules of axe-core, on what is folded away too. Contrast takes most of a minute of a large page, and all pages have one style."""
    if not page.axe:
        return
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.evaluate(page.axe + ";0")
    for violation in page.evaluate(RUN_AXE):
        check(False, f"{name}: {violation}")


def region(page, selector):
    """Picture of one element, in half size."""
    box = page.evaluate(f"(b => ({{x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height}}))"
                        f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
    data = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**box, "scale": 0.5})
    return base64.b64decode(data["data"])


def quiet(page, url, name):
    """A page that asked for itself alone, said nothing, and fits its window."""
    asked = [r for r in page.requests() if not r.startswith("data:")]
    check(asked == [url], f"{name}: asked for {asked}")
    check(page.complaints() == [], f"{name}: {page.complaints()}")
    check(page.evaluate("[...document.scripts].map(s => s.type).join()") == "application/json,module", f"{name}: other scripts")
    check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: wider than the window")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    check(len(ids) == len(set(ids)), f"{name}: an id stands twice")
    bare = page.evaluate("[...document.querySelectorAll('svg:not([aria-hidden])')].filter(s => !s.getAttribute('aria-label')).length")
    check(bare == 0, f"{name}: {bare} pictures without a name")


def check_texts(page, what, name):
    found = page.evaluate(f"{TEXTS}({what})")
    check(found["n"] >= 1, f"{name}: {found['n']} texts")
    for wrong in found["wrong"]:
        check(False, f"{name}: {wrong}")


def check_page(page, html, sections, widths=WIDTHS):
    """At every width, light and dark."""
    url = html.as_uri()
    for width in widths:
        for media in (LIGHT, DARK):
            page.open(url, width, 900, media=media)
            quiet(page, url, f"{html.name}, {width} pixels, {media[0][1]}")
        for i in range(page.evaluate("document.querySelectorAll('.drawing > svg').length")):
            check_texts(page, f"document.querySelectorAll('.drawing > svg')[{i}]", f"{html.name}, {width} pixels, picture {i}")
    found = page.evaluate("[...document.querySelectorAll('main > section')].map(s => s.id)")
    check([s for s in found if s != "warnings"] == sections, f"{html.name}: sections {found}")
    check_by_axe(page, f"{html.name}, dark")
    return url


def check_look(page, html, url):
    """What regions of TinyLlama's report look like, whatever the fonts; the dark; paper; without a script; by keyboard."""
    page.open(url, 1120, 900, media=LIGHT)
    check_by_axe(page, f"{html.name}, light")
    page.open(url, 1120, 900, media=LIGHT)
    blue = png.share(region(page, "#step figure:nth-of-type(2) svg"), COMPUTE)
    check(0.03 < blue < 0.95, f"{html.name}: {blue:.2f} of the treemap is of compute")
    for name in ("roofline", "power-limit", "memory", "timeline"):
        check(len(png.colors(region(page, f"#{name} .drawing svg"))[0]) > 5, f"{html.name}: {name} is blank")
    said = page.evaluate("[[...document.querySelectorAll('#headline .tile')].find(t => t.textContent.startsWith('Bound by')).querySelector('dd').firstChild.textContent,"
                         "document.querySelector('#explanation li').textContent, document.querySelector('#explanation .part').getAttribute('aria-label')]")
    check(said[0] in said[1] and said[2].startswith(said[0] + ": "), f"{html.name}: bound by {said}")
    before = page.evaluate("document.querySelector('.trail').textContent")
    page.evaluate("document.querySelector('#step [role=button]').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    after = page.evaluate("document.querySelector('.trail').textContent")
    check(before != after and "the step" in after, f"{html.name}: Enter opens no module: {before}, {after}")
    page.evaluate("document.querySelector('.trail button').click()")
    check(page.evaluate("document.querySelector('.trail').textContent") == before, f"{html.name}: the trail does not lead back")
    page.open(url, 1120, 900, media=DARK)
    check(png.share(region(page, "h1"), ["#15181b"], 8) > 0.5, f"{html.name}: no dark ground in the dark")
    check(png.share(region(page, "#roofline svg"), ["#1e2226"], 8) > 0.5, f"{html.name}: a bright picture in the dark")
    pdf = base64.b64decode(page.call("Page.printToPDF")["data"])
    check(pdf.startswith(b"%PDF") and len(pdf) > 20000, f"{html.name}: prints {len(pdf)} bytes")
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.open(url, 1120, 900, runs=False)
    text = page.evaluate("document.querySelector('main').innerText")
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    check("Step time" in text and "Limits of" not in text and len(text) > 3000, f"{html.name}: without a script it says {text[:200]}")


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


def write(html, *words):
    subprocess.run([os.environ["ADEPT"], *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=html.parent)
    return html


def report(folder, name, model, *options):
    html = folder / (name + ".html")
    return write(html, "report", model, "--gpu", "a100", "-o", html, *options)


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
    """Pages of grids of every kind, and pictures for documents where there is gnuplot."""
    for name, options in SWEEPS.items():
        html, svg = folder / (name + ".html"), folder / (name + ".svg")
        write(html, "sweep", MLP, *options, "--html", html)
        sections = ["best", "picture", "front", "points"]
        check_page(page, html, sections if name != "many" else [x for x in sections if x != "picture"], (360, 1120))
        if shutil.which("gnuplot"):
            write(html, "sweep", MLP, *options, "--plot", svg)
            page.open(svg.as_uri(), 1040, 700)
            check_texts(page, "document.documentElement", svg.name)


def check_results(page, folder):
    """What other commands print."""
    run = [sys.executable, "-c", "print(1)"]
    subprocess.run([os.environ["ADEPT_MAKE_RECORDING"], "node.rec", "12", "300", "0.01", "1.5", "3"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    write(folder / "x", "attribute", "fit", "node.rec", "-o", "model.json")
    rows = SOURCES / "data/measurements/h200-sxm-141gb.csv"
    (folder / "rows.csv").write_text("model,gpus,step_time_s,avg_power_w\nmlp,1,0.0021,300\nmlp,2,0.0024,560\nmlp,4,0.0029,1010\nmlp,8,0.0030,2000\n")
    (folder / "goal.json").write_text(json.dumps({"schema_version": 1, "goals": [{"metric": "energy of a step", "direction": "lower", "threshold_percent": 1}]}))
    for gpu in ("a100", "h100"):
        (folder / (gpu + ".json")).write_bytes(subprocess.run([os.environ["ADEPT"], "predict", "resnet50", "--gpu", gpu, "--json"], check=True, stdout=subprocess.PIPE).stdout)
    for name, command, sections in (
            ("calibrate", ["calibrate", "rows.csv", "--gpu", "a100", "--models", MLP.parent, "--max-generations", "20", "--leave-out", "gpus"],
             ["held-out-0", "in-sample", "suggestions", "parameters"]),
            ("compare", ["compare", "a100.json", "h100.json"], ["rows"]),
            ("goals", ["compare", "a100.json", "h100.json", "--goal", "goal.json"], ["goals", "rows"]),
            ("plan", ["plan", "llama-3-8b", "--gpu", "h100", "--gpus", "16", "--global-batch", "64"], ["best", "times", "front", "layouts"]),
            ("diff", ["diff", MLP, MLP, "--gpu", "a100"], ["change"]),
            ("other", ["diff", "resnet50", "vgg16", "--gpu", "a100"], ["change", "modules"]),
            ("evaluate", ["evaluate", rows, "--gpu", "h200"], ["errors"]),
            ("measure", ["measure", "--sysroot", folder], ["headline", "missing"]),
            ("attribute", ["attribute", "report", "node.rec", "--model", "model.json"], ["groups", "series"]),
            ("generate", ["predict", "gpt-2", "--gpu", "h100", "--mode", "generate", "--prompt", "512", "--tokens", "64"],
             ["headline", "generate", "step", "memory"])):
        out = folder / (name + ".json")
        done = subprocess.run([os.environ["ADEPT"], *map(str, command), "--json", *(["--", *run] if name == "measure" else [])], check=False,
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "ADEPT_NVML_LIBRARY": "no-nvml"}) # whatever sensors this machine has
        if b"built without" in done.stderr:
            continue
        check(done.returncode == 0, f"{name}: {done.stderr}")
        out.write_bytes(done.stdout[done.stdout.index(b"{"):])
        html = folder / (name + "-result.html")
        write(html, "report", "--result", out, "-o", html)
        check_page(page, html, sections, (360, 1120))


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
    write(html, "simulate", cluster, jobs, "--policy", "pollux,aurachronos,thrift", "--seeds", "2", "--cap", "3kW", "--html", html)
    check_page(page, html, ["aims", "results", "by-gpu", "trade-offs", "power", "gantt"], (360, 1120))
    for policy in (1, 2, 3):
        chart = region(page, f"#gantt figure:nth-of-type({policy}) svg")
        colored = png.share(chart, COMPUTE) + png.share(chart, ["#E69F00"])
        check(0.03 < colored < 0.95, f"{html.name}: {colored:.2f} of Gantt chart {policy} are jobs")
    rows = page.evaluate("[...document.querySelectorAll('#by-gpu tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    check([row[:2] for row in rows] == [[p, g] for p in ("pollux", "aurachronos", "thrift") for g in ("a100-sxm-40gb", "h100-sxm")] and
          all(len(row) == 7 and "unknown" not in row for row in rows), f"{html.name}: by type of GPU {rows}")
    check(page.evaluate("typeof taken") == "undefined" and page.evaluate("document.querySelectorAll('text script').length") == 0,
          "the name of a node became markup")


def until(what):
    """A promise that a page keeps once something is so."""
    return f"new Promise(done => {{ const look = () => {what} ? done(true) : setTimeout(look, 20); look(); }})"


READY = until("document.querySelector('#headline .tile')")
# Presses an arrow key as a person does: the slider's own event, then the tile of step time once it has changed.
MOVED = """new Promise(done => {
    const field = document.getElementById('batch_size-0'), tile = () => document.querySelector('#headline .tile dd').firstChild.textContent, before = tile();
    const begin = performance.now();
    field.value = 3;
    field.dispatchEvent(new Event('input'));
    const look = () => tile() !== before || performance.now() - begin > 20000 ? done([tile(), performance.now() - begin]) : setTimeout(look, 2);
    look();
})"""


def check_live(page, folder):
    """The page of a server: its own requests only, the figures of `adept predict`, a link that restores the state."""
    with subprocess.Popen([os.environ["ADEPT"], "serve", "--listen", "127.0.0.1:0", "tinyllama_1.1b", "resnet50"], stderr=subprocess.PIPE, text=True) as server:
        try:
            line = server.stderr.readline()
            if "built without" in line:
                return
            origin = line.split("listening on ")[1].strip()
            for width in WIDTHS:
                for media in (LIGHT, DARK):
                    page.open(origin + "/", width, 900, media=media)
                    page.evaluate(READY)
                    name = f"the server's page, {width} pixels, {media[0][1]}"
                    check(all(r.startswith((origin + "/", "data:")) for r in page.requests()), f"{name}: asked for {page.requests()}")
                    check(page.complaints() == [], f"{name}: {page.complaints()}")
                    check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: wider than the window")
                    if width == 1120:
                        page.evaluate(until("document.querySelector('#step svg')"))
                        check_by_axe(page, name)
            bare = page.evaluate("[...document.querySelectorAll('input, select')].filter(e => !e.labels.length && !e.getAttribute('aria-label')).length")
            check(bare == 0, f"the server's page: {bare} controls without a name")
            page.open("about:blank")
            page.open(origin + "/#workload=tinyllama_1.1b&gpu=h100-sxm-80gb&precision=bf16", 1120, 900)
            page.evaluate(READY)
            shown, moved_ms = page.evaluate(MOVED)
            said = subprocess.run([os.environ["ADEPT"], "predict", "tinyllama_1.1b", "--gpu", "h100-sxm-80gb", "--precision", "bf16", "--batch", "8"],
                                  check=True, stdout=subprocess.PIPE, text=True).stdout
            check(f"Step time  {shown} " in said, f"the slider shows {shown}, the program says {said[:600]}")
            print(f"a moved slider's figures: {moved_ms:.0f} ms")
            page.evaluate("document.getElementById('batch_size-0').focus()")
            for kind in ("rawKeyDown", "keyUp"):
                page.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
            by_key = page.evaluate(f"""new Promise(done => {{
                const tile = () => document.querySelector('#headline .tile dd').firstChild.textContent, begin = performance.now();
                const look = () => tile() !== {json.dumps(shown)} || performance.now() - begin > 20000 ? done(tile()) : setTimeout(look, 20);
                look();
            }})""")
            said = subprocess.run([os.environ["ADEPT"], "predict", "tinyllama_1.1b", "--gpu", "h100-sxm-80gb", "--precision", "bf16", "--batch", "16"],
                                  check=True, stdout=subprocess.PIPE, text=True).stdout
            check(f"Step time  {by_key} " in said, f"by keyboard the slider shows {by_key}, the program says {said[:600]}")
            page.evaluate(MOVED)
            page.evaluate(until("location.hash.includes('batch_size=8')"))
            link = page.evaluate("location.hash")
            check("batch_size=8" in link and "precision=bf16" in link, f"the link is {link}")
            page.open("about:blank")
            page.open(origin + "/" + link, 1120, 900)
            page.evaluate(READY)
            check(page.evaluate("document.querySelector('#headline .tile dd').firstChild.textContent") == shown, "the link does not restore the state")
            page.evaluate(until("document.querySelector('#copy pre')"))
            check("adept predict tinyllama_1.1b --gpu h100-sxm-80gb --precision bf16 --batch 8" in page.evaluate("document.querySelector('#copy pre').textContent"),
                  "the command to copy")
            page.evaluate("[...document.querySelectorAll('button')].find(b => b.textContent.startsWith('Compare with a second')).click()")
            page.evaluate(until("document.querySelectorAll('#headline dl').length === 2"))
            page.evaluate("[...document.querySelectorAll('#sweep button')].find(b => b.textContent === 'Draw').click()")
            page.evaluate(until("document.querySelector('#sweep .heat')"))
            check(page.complaints() == [], f"the server's page: {page.complaints()}")
        finally:
            server.terminate()


def main():
    program = browser.find()
    if not program:
        print("no Chromium")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="adept-report-"))
    sections = ["headline", "explanation", "step", "timeline", "memory", "power-limit", "roofline", "layers"]
    try:
        html = report(folder, "report", "tinyllama_1.1b", "--batch", "4") # which fits, or there is no picture of power limits
        hostile = report(folder, "hostile", hostile_profile(folder), "--gpus", "4")
        with browser.Browser(program) as page:
            page.axe = fetch_axe(folder)
            url = check_page(page, html, sections)
            check_look(page, html, url)
            check_page(page, hostile, sections, (360, 1120))
            check("taken" not in page.evaluate("document.title").replace("'taken'", ""), "a name ran as a script")
            check(page.evaluate("document.querySelectorAll('section script, section img').length") == 0, "a name became markup")
            shared = folder / "shared.html"
            write(shared, "report", "llama-3-70b", "--gpu", "h100", "--gpus", "64", "--tp", "8", "--sp", "--pp", "4", "--batch", "1", "-o", shared)
            check_page(page, shared, ["headline", "layout", "step", "memory"], (360, 1120))
            check_sweeps(page, folder)
            check_simulation(page, folder)
            check_results(page, folder)
            check_live(page, folder)
        check(not list(folder.glob("**/hacked")), "gnuplot ran what a layer is called")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
