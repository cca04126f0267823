"""Runs check.py on files made for it: python3 -B -m unittest"""

import os
import shutil
import subprocess
import tempfile
import time
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py")
HOUR = 3600


class BackupAgeTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def add(self, name, age=0, size=2048):
        path = os.path.join(os.fsencode(self.directory), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x" * size)
        os.utime(path, (time.time() - age,) * 2)
        return path

    def check(self, *args):
        command = [CHECK, "--dir", self.directory, *args]
        ended = subprocess.run(command, capture_output=True, check=False)
        self.assertEqual(ended.stderr, b"")
        line = ended.stdout.decode("utf-8")
        self.assertEqual(line.count("\n"), 1)
        return ended.returncode, line

    def expect(self, code, pattern, *args):
        found = self.check(*args)
        self.assertEqual(found[0], code, found)
        self.assertRegex(found[1], pattern)
        return found[1]

    def test_fresh(self):
        self.add("old.tar", 72 * HOUR, 1024)
        self.add("deep/er/new.tar", 3 * HOUR, 2048)
        line = self.expect(0, r"^BACKUP_AGE OK - the newest of 2 files, deep/er/new.tar, is 3 h old, all are 3 KiB \| ")
        self.assertRegex(
            line, r"\| age=108\d\ds;93600;180000;0 files=2;;1:;0 size=3072B;;;0 newest_size=2048B;;1:;0$"
        )

    def test_age(self):
        self.add("a.tar", 30 * HOUR)
        self.expect(1, "WARNING - the newest of 1 files, a.tar, is 30 h old")
        self.expect(2, "CRITICAL - the newest of 1 files, a.tar, is 30 h old", "--crit", "29h")
        self.expect(0, "OK", "--warn", "2d", "--crit", "3d")

    def test_future(self):
        self.add("a.tar", 100 * HOUR)
        self.add("b.tar", -100 * HOUR)
        self.expect(1, r"WARNING - the newest of 2 files, b.tar, is dated 4 d in the future \| age=0s")

    def test_number_and_size(self):
        self.expect(2, "CRITICAL - 0 files in .*, and there should be 1 ")
        self.add("a.tar", size=0)
        self.expect(2, "CRITICAL - the newest of 1 files, a.tar, has only 0 bytes")
        self.expect(0, "OK", "--min-size", "0")
        self.expect(2, "CRITICAL - 1 files in .*, and there should be 3 ", "--min-files", "3")

    def test_pattern(self):
        self.add("a.tar", 30 * HOUR)
        self.add("a.log")
        self.expect(1, "the newest of 1 files, a.tar", "--pattern", "*.tar")

    def test_links_are_not_followed(self):
        self.add("a.tar", 30 * HOUR)
        os.symlink("/etc", os.path.join(self.directory, "out"))
        os.symlink(".", os.path.join(self.directory, "round"))
        os.symlink(CHECK, os.path.join(self.directory, "b.tar"))
        os.mkfifo(os.path.join(self.directory, "pipe"))
        self.expect(1, "the newest of 1 files, a.tar")

    def test_names_are_inert(self):
        self.add(b"a|age=0s\n\x1b[31m\xff\xe2\x80\xae.tar")
        line = self.expect(0, r"OK - the newest of 1 files, a\?age=0s\?\?\[31m\?\?.tar, is")
        self.assertEqual(line.count("|"), 1)

    def test_no_directory(self):
        self.directory = os.path.join(self.directory, "none")
        self.expect(2, "CRITICAL - .*/none is not a directory that can be seen")

    def test_directory_that_cannot_be_read(self):
        self.add("backup/a.tar")
        self.add("backup/private/b.tar")
        private = os.path.join(self.directory, "backup", "private")
        os.chmod(private, 0)
        self.addCleanup(os.chmod, private, 0o700)
        # Root reads everything, so it is somebody else who looks.
        program = shutil.copy(CHECK, self.directory)
        os.chmod(self.directory, 0o755)
        command = [program, "--dir", os.path.join(self.directory, "backup")]
        somebody = {"user": 65534} if os.geteuid() == 0 else {}
        ended = subprocess.run(command, capture_output=True, text=True, check=False, **somebody)
        self.assertRegex(ended.stdout, "WARNING - the newest of 1 files, a.tar, .*; 1 directories could not be read")
        self.assertEqual(ended.returncode, 1)

    def test_options(self):
        for args in (["--warn", "1y"], ["--min-size", "big"], ["--min-files", "x"], ["--colour", "1"]):
            self.expect(3, "^BACKUP_AGE UNKNOWN - ", *args)


if __name__ == "__main__":
    unittest.main()
