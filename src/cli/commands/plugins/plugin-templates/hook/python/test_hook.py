"""Runs hook.py with events made for it: python3 -B -m unittest"""

import json
import os
import subprocess
import tempfile
import unittest

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")


class HookTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "freeze")

    def call(self, event):
        text = json.dumps({"event": event, "at": "2026-01-01T00:00:00.000Z", "subject": {}})
        ended = subprocess.run([HOOK, self.file], input=text, capture_output=True, text=True, check=True)
        return json.loads(ended.stdout) if ended.stdout else None

    def freeze(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def test_lets_updates_be(self):
        self.assertIsNone(self.call("pre_update"))

    def test_says_no_with_the_reason(self):
        self.freeze('end of "quarter"\nask Ada\n')
        self.assertEqual(self.call("pre_update"), {"veto": True, "reason": 'end of "quarter"'})
        self.freeze("")
        self.assertEqual(self.call("pre_update"), {"veto": True, "reason": "updates are frozen"})

    def test_has_no_word_in_other_events(self):
        self.freeze("closed")
        self.assertIsNone(self.call("post_update"))


if __name__ == "__main__":
    unittest.main()
