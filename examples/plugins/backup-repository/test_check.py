"""Runs check.py on repositories made for it, and on programs that answer as restic and borg do: python3 -B -m unittest"""

import datetime
import os
import shutil
import subprocess
import tempfile
import time
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py")
HOUR = 3600
BORG_LOCKED = "Failed to create/acquire the lock /b/lock (timeout)."
BORG_WRITES = """Local Exception
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/borg/repository.py", line 1, in commit
OSError: [Errno 30] Read-only file system: '/b/hints.79.tmp'

Platform: Linux"""


def iso(old, form="%Y-%m-%dT%H:%M:%S"):
    return datetime.datetime.fromtimestamp(time.time() - old, datetime.timezone.utc).strftime(form)


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.environment = {"PATH": f"{self.path('bin')}:{os.environ['PATH']}", "TMPDIR": self.directory}
        self.password = self.write("password", "correct horse\n")

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, text, mode=0o600):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def expect(self, code, pattern, *args, **others):
        ended = subprocess.run([CHECK, *args], env=self.environment, capture_output=True, check=False, **others)
        line = ended.stdout.decode("utf-8")
        self.assertEqual((ended.stderr, line.count("\n")), (b"", 1))
        self.assertEqual(ended.returncode, code, line)
        self.assertRegex(line, pattern)
        return line


class AnswersTest(Case):
    """What is made of answers, given by programs that stand in for restic and borg."""

    def answer(self, program, out, *, fails="", times=99):
        """@param times: how many runs fail, with that on standard error."""
        self.write("out", out)
        self.write("fails", fails)
        lines = [
            "#!/bin/sh",
            f'cd {self.directory}; echo "$0 $*" >> calls; env > environment',
            f'if [ -s fails ] && [ "$(wc -l < calls)" -le {times} ]; then cat fails >&2; exit 2; fi',
            "cat out",
        ]
        self.write(f"bin/{program}", "\n".join([*lines, ""]), 0o755)

    def restic(self, *times):
        self.answer("restic", "[" + ",".join(f'{{"time":"{each}","hostname":"a"}}' for each in times) + "]\n")

    def test_ages(self):
        args = ("--restic", "/r")
        self.restic(iso(72 * HOUR) + "Z", iso(3 * HOUR) + ".123456789Z")
        line = self.expect(0, r"^BACKUP_REPOSITORY OK - the newest of 2 snapshots in /r is 3 h old \| age=108", *args)
        self.assertRegex(line, r"age=108\d\ds;93600;180000;0 snapshots=2;;1:;0$")
        self.restic(iso(30 * HOUR) + "Z")
        self.expect(1, "WARNING - the newest of 1 snapshots in /r is 30 h old", *args)
        self.expect(2, "CRITICAL - the newest of 1 snapshots in /r is 30 h old", *args, "--crit", "29h")
        self.expect(0, "OK", *args, "--warn", "2d", "--crit", "3d")
        self.expect(2, "CRITICAL - 1 snapshots in /r, and there should be 2", *args, "--min-snapshots", "2")
        self.restic(iso(-100 * HOUR) + "Z")
        self.expect(1, r"WARNING - .* is dated 4 d in the future \| age=0s", *args)

    def test_time_zones(self):
        self.restic(iso(3 * HOUR - 2 * HOUR) + "+02:00")
        self.expect(0, "is 3 h old", "--restic", "/r")

    def test_none(self):
        for text in ("[]", "null"):
            self.answer("restic", text)
            self.expect(2, r"CRITICAL - 0 snapshots in /r, and there should be 1 \| snapshots=0;;1:;0$", "--restic", "/r")

    def test_answers_that_are_none(self):
        for text, words in (("oops", "restic did not answer JSON"), ('[{"time":"today"}]', "today is not time")):
            self.answer("restic", text)
            self.expect(2, f"CRITICAL - cannot read /r: {words}", "--restic", "/r")

    def test_failures(self):
        args = ("--restic", "rest:https://me:secret@backup.example/x")
        message = '{"message_type":"exit_error","code":12,"message":"Fatal: wrong password | age=1"}'
        for fails, words in (
            ("Fatal: client.Head: Head \"https://me:secret@backup.example/x\": refused\nIs there a repository?", "refused"),
            (message, r"Fatal: wrong password \? age=1"),
            ("\n", "it gave no reason"),
        ):
            self.answer("restic", "", fails=fails)
            line = self.expect(2, r"CRITICAL - cannot read rest:https://me:\*\*\*@backup.example/x: .*" + words, *args)
            self.assertNotIn("secret", line)

    def test_what_is_asked(self):
        self.restic()
        environment = self.write("environment-file", "# of the cloud\n\nAWS_SECRET_ACCESS_KEY=a b=c\n")
        choice = ("--host", "a", "--tag", "daily", "--path", "/srv", "--path", "/etc")
        files = ("--restic-file", "/x", "--password-file", self.password, "--environment-file", environment)
        self.expect(2, "0 snapshots in the repository that /x names", *files, *choice)
        with open(self.path("calls"), encoding="utf-8") as calls:
            asked = calls.read()
        self.assertIn("snapshots --json --no-lock --no-cache --repository-file=/x --password-file=", asked)
        self.assertIn(" --host=a --tag=daily --path=/srv --path=/etc\n", asked)
        with open(self.path("environment"), encoding="utf-8") as variables:
            self.assertIn("AWS_SECRET_ACCESS_KEY=a b=c\n", variables.read())

    def test_files_that_cannot_be_used(self):
        self.restic()
        self.expect(2, "cannot read /none: No such file", "--restic", "/r", "--environment-file", "/none")
        self.answer("borg", "{}")
        self.expect(2, "cannot read /none: No such file", "--borg", "/b", "--password-file", "/none")
        line = self.expect(
            3, "UNKNOWN - .*line 1 of .* is not NAME=value", "--restic", "/r", "--environment-file", self.password
        )
        self.assertNotIn("horse", line)

    def test_not_installed(self):
        os.mkdir(self.path("empty"))
        os.symlink(shutil.which("python3"), self.path("empty", "python3"))
        self.environment["PATH"] = self.path("empty")
        self.expect(2, "CRITICAL - cannot read /r: restic is not installed", "--restic", "/r")
        self.expect(2, "CRITICAL - cannot read /b: borg is not installed", "--borg", "/b")

    def test_a_lock_of_borg(self):
        self.answer("borg", "", fails=BORG_LOCKED)
        self.expect(1, "WARNING - cannot read /b: it is locked: a backup runs, or one was cut off", "--borg", "/b")

    def read_only(self):
        """A repository that somebody else may read, and not write: root writes everywhere."""
        os.mkdir(self.path("b"), 0o755)
        for name in ("calls", "environment"):
            os.chmod(self.write(name, ""), 0o666)
        os.chmod(self.directory, 0o755)
        for directory, _, names in os.walk(self.directory):
            for name in names:
                os.chmod(os.path.join(directory, name), os.stat(os.path.join(directory, name)).st_mode | 0o044)
        os.chmod(self.path("bin"), 0o755)
        scratch = self.path("scratch")
        os.mkdir(scratch)
        os.chmod(scratch, 0o777)
        self.environment["TMPDIR"] = scratch
        shutil.copy(CHECK, self.path("check.py"))
        os.chmod(self.path("check.py"), 0o755)
        return {"executable": self.path("check.py"), **({"user": 65534} if os.geteuid() == 0 else {})}

    @unittest.skipIf(os.geteuid() != 0, "only root can become somebody who may not write")
    def test_a_repository_of_borg_that_is_written_to(self):
        answer = '{"archives":[{"name":"a","time":"%s"}]}' % iso(3 * HOUR, "%Y-%m-%dT%H:%M:%S.%f")
        self.answer("borg", answer, fails=BORG_WRITES, times=1)
        somebody = self.read_only()
        self.expect(0, "the newest of 1 snapshots in .*/b is 3 h old", "--borg", self.path("b"), **somebody)
        with open(self.path("calls"), encoding="utf-8") as calls:
            asked = calls.read().splitlines()
        self.assertEqual(len(asked), 2)
        self.assertRegex(asked[1], "borg list --json --bypass-lock -- .*/b$")

    @unittest.skipIf(os.geteuid() != 0, "only root can become somebody who may not write")
    def test_a_repository_of_borg_that_goes_on_being_written_to(self):
        self.answer("borg", "", fails=BORG_WRITES)
        somebody = self.read_only()
        self.expect(1, "WARNING - .*: it is being written to: a backup runs, or", "--borg", self.path("b"), **somebody)

    def test_options(self):
        for args in (
            [],
            ["--restic", "/r", "--borg", "/b"],
            ["--restic", "/r", "--warn", "1y"],
            ["--restic", "/r", "--archives", "a*"],
            ["--borg", "/b", "--tag", "a"],
        ):
            self.expect(3, "^BACKUP_REPOSITORY UNKNOWN - ", *args)


class RepositoryCase(Case):
    def setUp(self):
        super().setUp()
        self.write("files/a", "a")
        self.repository = self.path("repository")

    def do(self, *command, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": self.path("home"), "TZ": "UTC", **variables}
        subprocess.run(command, env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=True)


@unittest.skipIf(shutil.which("restic") is None, "restic is not installed (apt-get install restic)")
class ResticTest(RepositoryCase):
    def setUp(self):
        super().setUp()
        self.run_restic("init")
        self.args = ("--restic", self.repository, "--password-file", self.password)

    def run_restic(self, *args):
        self.do("restic", "--no-cache", "--repo", self.repository, "--password-file", self.password, *args)

    def back_up(self, old, *args):
        self.run_restic("backup", "--time", iso(old, "%Y-%m-%d %H:%M:%S"), *args, self.path("files"))

    def test_ages(self):
        self.expect(2, "CRITICAL - 0 snapshots in", *self.args)
        self.back_up(80 * HOUR)
        self.expect(2, "CRITICAL - the newest of 1 snapshots in .* is 3 d old", *self.args)
        self.back_up(30 * HOUR)
        self.expect(1, "WARNING - the newest of 2 snapshots in .* is 30 h old", *self.args)
        self.back_up(3 * HOUR, "--tag", "daily", "--host", "web-1")
        self.expect(0, "OK - the newest of 3 snapshots in .* is 3 h old", *self.args)
        self.expect(0, "newest of 1 snapshots", *self.args, "--tag", "daily", "--host", "web-1")
        self.expect(2, "0 snapshots", *self.args, "--tag", "weekly")
        address = self.write("address", self.repository)
        self.expect(0, "newest of 3", "--restic-file", address, "--password-file", self.password)
        self.assertEqual(os.listdir(os.path.join(self.repository, "locks")), [])

    def test_what_cannot_be_read(self):
        wrong = self.write("wrong", "battery staple\n")
        self.expect(2, "Fatal: wrong password", "--restic", self.repository, "--password-file", wrong)
        self.expect(2, "Fatal: ", "--restic", self.path("none"), "--password-file", self.password)
        self.expect(2, "Fatal: ", "--restic", self.repository)
        given = self.write("variables", "RESTIC_PASSWORD=correct horse\n")
        self.expect(2, "0 snapshots", "--restic", self.repository, "--environment-file", given)


@unittest.skipIf(shutil.which("borg") is None, "borg is not installed (apt-get install borgbackup)")
class BorgTest(RepositoryCase):
    def run_borg(self, *args):
        variables = {"BORG_PASSPHRASE": "correct horse", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes"}
        self.do("borg", *args, BORG_BASE_DIR=self.path("home"), **variables)

    def back_up(self, old, name):
        self.run_borg("create", "--timestamp", iso(old), f"{self.repository}::{name}", self.path("files"))

    def test_ages(self):
        self.run_borg("init", "-e", "repokey", self.repository)
        args = ("--borg", self.repository, "--password-file", self.password)
        self.expect(2, "CRITICAL - 0 snapshots in", *args)
        self.back_up(30 * HOUR, "daily-1")
        self.expect(1, "WARNING - the newest of 1 snapshots in .* is 30 h old", *args)
        self.expect(2, "CRITICAL - the newest of 1 snapshots in .* is 30 h old", *args, "--crit", "29h")
        self.back_up(3 * HOUR, "weekly-1")
        self.environment["TZ"] = "Pacific/Auckland"
        self.expect(0, "OK - the newest of 2 snapshots in .* is 3 h old", *args)
        self.expect(1, "the newest of 1 snapshots in .* is 30 h old", *args, "--archives", "daily-*")
        wrong = self.write("wrong", "battery staple\n")
        self.expect(2, "passphrase .* is incorrect", "--borg", self.repository, "--password-file", wrong)
        self.expect(2, "can not acquire a passphrase", "--borg", self.repository)

    def test_without_encryption(self):
        self.run_borg("init", "-e", "none", self.repository)
        self.back_up(3 * HOUR, "daily-1")
        self.expect(0, "newest of 1 snapshots", "--borg", self.repository)
        # Another repository in the place of one with a passphrase would be trusted.
        self.expect(2, "cannot read .*: ", "--borg", self.repository, "--password-file", self.password)

    def test_no_repository(self):
        self.expect(2, "Repository .* does not exist", "--borg", self.path("none"), "--password-file", self.password)


if __name__ == "__main__":
    unittest.main()
