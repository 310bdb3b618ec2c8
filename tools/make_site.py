#!/usr/bin/env python3
"""The documents as pages, with search: python3 tools/make_site.py OUTDIR

A page for each of PAGES, which open from disk and need no network. index.js has the words of every section; search.js finds them.
Exit code 1, and a line for each, where a link leads to no page, file or heading. Needs Python 3.9.
"""
import glob
import html
import json
import os
import pathlib
import re
import shutil
import sys

import markdown

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/TUTORIAL.md", "docs/*.md", "docs/examples/*.md", "docs/accuracy/*.md", "ARCHITECTURE.md", "SECURITY.md",
         "*/README.md", "data/*/README.md", "hwprofiles/PARAMETERS.md", "tests/*.md", "tests/*/README.md", "tools/*/README.md"]
MENU = ["README", "TUTORIAL", "MODEL", "CALIBRATION", "MEASURE", "SIMULATE", "LIBRARY", "ACCURACY", "INSTALL", "ARCHITECTURE"]

STYLE = """
body { margin: 0 auto; max-width: 60rem; padding: 0 1rem 4rem; font: 1rem/1.55 system-ui, sans-serif; color: #1b1f24; background: #fff }
nav { padding: .8rem 0; border-bottom: 1px solid #d0d7de; display: flex; flex-wrap: wrap; gap: .2rem .9rem; align-items: center }
nav input { flex: 1 1 12rem; font: inherit; padding: .2rem .5rem; color: inherit; background: inherit; border: 1px solid #6e7781 }
a { color: #0550ae } pre, code { font: .85rem/1.45 ui-monospace, monospace; background: #f3f4f6 } code { padding: 0 .2em }
pre { padding: .7rem; overflow-x: auto } .table { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem }
td, th { border: 1px solid #d0d7de; padding: .25rem .5rem; text-align: left; vertical-align: top } .n { text-align: right }
img { max-width: 100% } #found a { display: block } #found p { margin: 0 0 .6rem; font-size: .85rem }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } a { color: #79b8ff } pre, code { background: #1c2128 }
  td, th, nav { border-color: #444c56 } }
@media print { nav { display: none } }
"""

SEARCH = """// Finds sections that have all words; a word in the heading counts most. index.js has [page, anchor, heading, text].
const field = document.getElementById("search"), found = document.getElementById("found"), root = document.body.dataset.root
function search() {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean)
  const hits = words.length === 0 ? [] : sections.map(([page, anchor, heading, text]) => {
    const title = (page + " " + heading).toLowerCase(), all = text.toLowerCase()
    let score = 0
    for (const word of words) {
      if (!title.includes(word) && !all.includes(word)) return null
      score += (title.includes(word) ? 20 : 0) + Math.min(all.split(word).length - 1, 5)
    }
    return { page, anchor, heading, text, at: Math.max(0, all.indexOf(words[0]) - 40), score }
  }).filter(Boolean).sort((a, b) => b.score - a.score).slice(0, 20)
  found.replaceChildren(...hits.flatMap(hit => {
    const link = document.createElement("a"), text = document.createElement("p")
    link.href = root + hit.page + (hit.anchor ? "#" + hit.anchor : "")
    link.textContent = hit.page.replace(/\\.html$/, "") + (hit.heading ? ": " + hit.heading : "")
    text.textContent = hit.text.slice(hit.at, hit.at + 160)
    return [link, text]
  }))
}
field.addEventListener("input", search)
field.value = new URLSearchParams(location.search).get("q") || ""
search()
"""


def pages():
    """The documents in order, each once"""
    found = [path for pattern in PAGES for path in sorted(glob.glob(pattern, root_dir=ROOT))]
    return list(dict.fromkeys(path for path in found if "build" not in path))


def address(path):
    return "index.html" if path == "README.md" else path[:-3] + ".html"


class Site:
    def __init__(self, out):
        self.out, self.pages, self.files, self.links, self.anchors, self.sections = pathlib.Path(out), pages(), set(), [], {}, []

    def link(self, page, target):
        """Where a link of a page leads in the site"""
        if re.match(r"[a-z]+:", target):
            return target
        path, _, anchor = target.partition("#")
        goal = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        self.links.append((page, target, goal, anchor))
        if goal in self.pages:
            goal = address(goal)
        elif (ROOT / goal).is_file():
            self.files.add(goal)
        elif (ROOT / goal / "README.md").is_file():
            goal = address(os.path.join(goal, "README.md"))
        return os.path.relpath(goal, os.path.dirname(page) or ".") + ("#" + anchor if anchor else "")

    def write(self, path, text):
        (self.out / path).parent.mkdir(parents=True, exist_ok=True)
        (self.out / path).write_text(text, encoding="utf-8")

    def page(self, path):
        body, sections = markdown.to_html((ROOT / path).read_text(encoding="utf-8"), lambda target: self.link(path, target))
        self.anchors[path] = {anchor for _, _, anchor, _ in sections}
        root = "../" * path.count("/")
        menu = [other for name in MENU for other in self.pages if os.path.basename(other) == name + ".md" and other.count("/") < 2
                and (other in ("README.md", "ARCHITECTURE.md") or other.startswith("docs/"))]
        links = " ".join('<a href="%s%s">%s</a>' % (root, address(other), os.path.basename(other)[:-3].capitalize()) for other in menu)
        title = next((heading for level, heading, _, _ in sections if level == 1), path)
        self.write(address(path), """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><link rel="stylesheet" href="%ssite.css"></head>
<body data-root="%s"><nav>%s <input id="search" type="search" placeholder="Search" aria-label="Search the documents"></nav>
<div id="found" aria-live="polite"></div><main>
%s
</main><script src="%sindex.js"></script><script src="%ssearch.js"></script></body></html>
""" % (html.escape(title), root, root, links, body, root, root))
        self.sections += [(address(path), anchor, heading, re.sub(r"[|`*#]+|<!--.*?-->", " ", text).replace("  ", " ").strip())
                          for _, heading, anchor, text in sections if heading or text.strip()]

    def make(self):
        """Writes all"""
        for path in self.pages:
            self.page(path)
        for path in sorted(self.files):
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.out / path)
        self.write("index.js", "const sections = %s\n" % json.dumps(self.sections, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/"))
        self.write("search.js", SEARCH)
        self.write("site.css", STYLE.lstrip())

    def wrong(self):
        """Links that lead nowhere"""
        wrong = []
        for page, target, goal, anchor in self.links:
            there = goal if goal in self.pages else os.path.join(goal, "README.md")
            if not (ROOT / goal).exists():
                wrong.append("%s: %s: there is no such file" % (page, target))
            elif anchor and anchor not in self.anchors.get(there, ()):
                wrong.append("%s: %s: there is no such heading" % (page, target))
        return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    site = Site(sys.argv[1])
    site.make()
    wrong = site.wrong()
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    print("%d pages, %d sections: %s" % (len(site.pages), len(site.sections), site.out / "index.html"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
