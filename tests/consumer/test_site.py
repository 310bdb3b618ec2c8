"""The site of the documents: every link of theirs leads somewhere, Markdown becomes HTML as written, and words are found."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
import make_site
import markdown


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_links_of_the_documents(self):
        made = make_site.Site(self.folder)
        made.make()
        self.assertEqual(made.wrong(), [])
        for path in made.pages:
            text = (pathlib.Path(self.folder) / make_site.address(path)).read_text(encoding="utf-8")
            self.assertIn("</main>", text, path)
            self.assertNotIn("```", text, path)
        self.assertTrue(any(heading == "A step" and "optimizer" in text for _, _, heading, text in made.sections))

    def test_links_that_lead_nowhere(self):
        made = make_site.Site(self.folder)
        made.anchors["README.md"] = {"try-it"}
        for target in ("docs/NONE.md", "#none", "#try-it", "docs/examples", "https://example.org/x"):
            made.link("README.md", target)
        self.assertEqual(made.wrong(), ["README.md: docs/NONE.md: there is no such file", "README.md: #none: there is no such heading"])

    def test_search(self):
        chromium = shutil.which("chromium")
        if not chromium:
            self.skipTest("no chromium")
        make_site.Site(self.folder).make()
        done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--user-data-dir=" + self.folder + "/chromium",
                               "file://" + self.folder + "/docs/MODEL.html?q=muon%20momentum"], capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r'<a href="\.\./docs/MODEL\.html#the-step">docs/MODEL: The step</a>')


class Html(unittest.TestCase):
    def becomes(self, text, expected):
        self.assertEqual(markdown.to_html(text)[0], expected)

    def test_blocks(self):
        self.becomes("# A & B\n\none\ntwo\n", '<h1 id="a--b">A &amp; B</h1>\n<p>one\ntwo</p>')
        self.becomes("    x < y\n\n      z\n", "<pre>x &lt; y\n\n  z</pre>")
        self.becomes("```c\n# no heading\n```\nend", "<pre># no heading</pre>\n<p>end</p>")
        self.becomes("<!-- run: x -->\n\ntext", "<p>text</p>")
        self.becomes("|low| is\nno table", "<p>|low| is\nno table</p>")

    def test_lists(self):
        self.becomes("- one\n  more\n- two\n\n      code\n\n1. a\n", "<ul>\n<li>one\nmore</li>\n<li>two\n<pre>code</pre></li>\n</ul>\n<ol>\n<li>a</li>\n</ol>")

    def test_tables(self):
        self.becomes("| a | b |\n|---|---:|\n| `x\\|y` | 1 |\n",
                     '<div class="table"><table>\n<tr><th>a</th><th class="n">b</th></tr>\n<tr><td><code>x|y</code></td><td class="n">1</td></tr>\n</table></div>')

    def test_inline(self):
        self.assertEqual(markdown.inline("`<b>` [a `b`](c.md#d) **e** f*g*h *i* <script>"),
                         '<code>&lt;b&gt;</code> <a href="c.md#d">a <code>b</code></a> <b>e</b> f*g*h <i>i</i> &lt;script&gt;')

    def test_headings_twice(self):
        self.assertEqual([anchor for _, _, anchor, _ in markdown.to_html("## X\n\n## X")[1]], ["", "x", "x-1"])


if __name__ == "__main__":
    unittest.main()
