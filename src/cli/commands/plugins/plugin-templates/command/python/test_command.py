"""Runs command.py: python3 -B -m unittest"""

import json
import os
import subprocess
import unittest

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "command.py")
HOST, KERNEL = os.uname().nodename, os.uname().release


def run(*args):
    return subprocess.run([COMMAND, *args], capture_output=True, text=True, check=False)


class CommandTest(unittest.TestCase):
    def test_text(self):
        ended = run()
        self.assertEqual((ended.returncode, ended.stdout), (0, f"host {HOST}\nkernel {KERNEL}\n"))

    def test_json(self):
        ended = run("--json")
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(json.loads(ended.stdout), {"host": HOST, "kernel": KERNEL})

    def test_refuses_what_it_does_not_know(self):
        ended = run("--jason")
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertIn("usage: {{name}}", ended.stderr)


if __name__ == "__main__":
    unittest.main()
