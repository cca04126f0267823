"""Runs check.py on folders made for it: python3 -B -m unittest"""

import os
import subprocess
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py")


def check(*args):
    ended = subprocess.run([CHECK, *args], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def add(self, *names):
        for name in names:
            with open(os.path.join(self.folder, name), "w", encoding="utf-8"):
                pass

    def expect(self, code, text):
        found = check("--dir", self.folder, "--warn", "1", "--crit", "2")
        self.assertEqual(found, (code, f"{{label}} {text}\n"))

    def test_counts(self):
        self.expect(0, f"OK - 0 entries in {self.folder} | entries=0;1;2;0")
        self.add("one", ".two")
        self.expect(1, f"WARNING - 2 entries in {self.folder} | entries=2;1;2;0")
        self.add("a b")
        self.expect(2, f"CRITICAL - 3 entries in {self.folder} | entries=3;1;2;0")

    def test_does_not_know(self):
        code, text = check("--dir", os.path.join(self.folder, "none"), "--warn", "1", "--crit", "2")
        self.assertEqual(code, 3)
        self.assertIn("{{label}} UNKNOWN - cannot read the folder", text)
        code, text = check("--dir", self.folder, "--warn", "many", "--crit", "2")
        self.assertEqual(code, 3)
        self.assertIn("{{label}} UNKNOWN - argument --warn", text)


if __name__ == "__main__":
    unittest.main()
