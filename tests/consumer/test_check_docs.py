"""check_docs.py where a command cannot run: its output is compared with nothing, and in a fresh system that is a failure.
environment: ADEPT"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_docs.py")
DOCUMENT = """# Ask

    adept help gpus
    curl localhost:1

```
{"step_time_s": 1}
```

    adept help predict

```
Usage: adept predict ...
...
```
"""


class Skipped(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(self.folder + "/bin")
        os.symlink("/bin/sh", self.folder + "/bin/sh")
        with open(self.folder + "/ask.md", "w", encoding="utf-8") as file:
            file.write(DOCUMENT)
        with open(self.folder + "/torch.py", "w", encoding="utf-8") as file:
            file.write("raise ImportError('slow, and not asked for here')\n")

    def check(self, *options, curl=None):
        """Exit code and output, on a machine whose curl prints this; None: it has none."""
        if curl:
            with open(self.folder + "/bin/curl", "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho '%s'\n" % curl)
            os.chmod(self.folder + "/bin/curl", 0o755)
        done = subprocess.run([sys.executable, "-B", CHECK, *options, self.folder + "/ask.md"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, env=dict(os.environ, PATH=self.folder + "/bin", PYTHONPATH=self.folder))
        return done.returncode, done.stdout

    def test_compared(self):
        code, printed = self.check(curl='{"step_time_s": 1}')
        self.assertEqual(code, 0, printed)
        self.assertIn("2 outputs compared, 0 differing, 0 not run", printed)
        code, printed = self.check(curl='{"step_time_s": 2}')
        self.assertEqual(code, 1, printed)
        self.assertIn("1 differing", printed)

    def test_behind_another(self):
        """What did not run leaves no gap in what is compared behind it: the block is of the command before it."""
        with open(self.folder + "/ask.md", "w", encoding="utf-8") as file:
            file.write("# Ask\n\n    curl localhost:1\n\nand then\n\n    adept help predict\n\n```\nUsage: adept forget ...\n...\n```\n")
        code, printed = self.check()
        self.assertEqual(code, 1, printed)
        self.assertIn("1 outputs compared, 1 differing, 1 not run", printed)

    def test_left_out(self):
        code, printed = self.check()
        self.assertEqual(code, 0, printed)
        self.assertIn("not compared, its command did not run: output of curl localhost:1", printed)
        self.assertIn("1 outputs compared, 0 differing, 2 not run", printed)

    def test_left_out_of_a_fresh_system(self):
        code, printed = self.check("--all")
        self.assertEqual(code, 1, printed)
        self.assertIn("did not run: needs curl", printed)


if __name__ == "__main__":
    unittest.main()
