#!/usr/bin/env python3
"""Age of the newest snapshot in a restic or borg repository, and how many there are; as a monitoring plugin.

usage: check.py --restic REPOSITORY | --restic-file FILE | --borg REPOSITORY [--password-file FILE]
                [--environment-file FILE] [--host HOST] [--tag TAG] [--path PATH] [--archives GLOB]
                [--warn AGE] [--crit AGE] [--min-snapshots N]

Critical: a repository that cannot be read, fewer snapshots than --min-snapshots, a newest one that is older than --crit.
Warning: a newest one that is older than --warn, or dated in the future; a repository that is being written to.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time

WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Clocks of two hosts are never quite the same.
FUTURE_SECONDS = 300
# While a backup is completed, borg cannot read a repository that it may not write to.
ATTEMPTS = 5
PAUSE_SECONDS = 2
LOCK_SECONDS = 60
WRITES = re.compile(r"Read-only file system|Permission denied: .*\.tmp'")


class Parser(argparse.ArgumentParser):
    """Says what is wrong on standard output, as monitoring plugins do."""

    def error(self, message):
        sys.exit(answer(3, message))


class Fault(Exception):
    """Why the repository could not be read, with the exit code for that."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def age(text):
    match = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is not an age such as 90m, 26h or 7d")
    return int(match[1]) * SECONDS[match[2]]


def options_of(argv):
    parser = Parser(add_help=False, allow_abbrev=False)
    repository = parser.add_mutually_exclusive_group(required=True)
    for name in ("--restic", "--restic-file", "--borg"):
        repository.add_argument(name)
    parser.add_argument("--password-file")
    parser.add_argument("--environment-file")
    for name in ("--host", "--tag", "--path"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--archives")
    parser.add_argument("--warn", type=age, default=age("26h"))
    parser.add_argument("--crit", type=age, default=age("50h"))
    parser.add_argument("--min-snapshots", type=int, default=1)
    options = parser.parse_args(argv)
    if options.borg is not None and options.host + options.tag + options.path:
        parser.error("--host, --tag and --path are for restic; of borg --archives chooses")
    if options.borg is None and options.archives is not None:
        parser.error("--archives is for borg; of restic --host, --tag and --path choose")
    return options


def harmless(text):
    """A text on one line of which nothing reads as figures, and without the password of an address."""
    line = "".join(char if char.isprintable() else "?" for char in text).replace("|", "?")
    return re.sub(r"://([^/@\s:]*):[^/@\s]*@", r"://\1:***@", line)


def words_of(seconds):
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def opened(path):
    try:
        return open(path, encoding="utf-8")
    except OSError as error:
        raise Fault(2, f"cannot read {path}: {error.strerror}") from None


def variables_of(path):
    """Lines NAME=value; empty ones and comments are left out."""
    variables = {}
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if text == "" or text.startswith("#"):
                continue
            match = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", text, re.ASCII)
            if match is None:
                # What is in the line is a secret.
                raise Fault(3, f"line {number} of {path} is not NAME=value")
            variables[match[1]] = match[2]
    return variables


def environment_of(options, scratch):
    """What the program is given. Of borg all that it keeps goes with the scratch directory, and times are in UTC."""
    names = ("PATH", "TMPDIR")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    environment.update(HOME=scratch, LC_ALL="C.UTF-8", TZ="UTC")
    if options.borg is not None:
        environment.update(BORG_BASE_DIR=scratch, BORG_RELOCATED_REPO_ACCESS_IS_OK="yes")
        # Where a passphrase is given, a repository without encryption is another one than was meant.
        is_expected = "no" if options.password_file else "yes"
        environment.update(BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=is_expected)
    if options.environment_file is not None:
        environment.update(variables_of(options.environment_file))
    return environment


def reason_of(errors):
    """What a program says of why it failed, in one line of what may be many."""
    said = [line for line in errors.splitlines() if line.strip() != "" and not line.startswith(" ")]
    lines = [line for line in said if "Warning: " not in line]
    if not lines:
        return "it gave no reason"
    try:
        # Later versions of restic answer JSON here, too.
        return json.loads(lines[-1])["message"]
    except (ValueError, KeyError, TypeError):
        raised = [line for line in lines if re.match(r"\w*(Error|Exception): ", line)]
        return (raised or lines)[0]


def run(command, environment, descriptors=()):
    try:
        ended = subprocess.run(
            command,
            env=environment,
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            # A program that asks for a password on the terminal gets none.
            start_new_session=True,
        )
    except FileNotFoundError:
        raise Fault(2, f"{command[0]} is not installed") from None
    if ended.returncode != 0:
        raise Fault(2, reason_of(ended.stderr.decode("utf-8", "replace")))
    try:
        return json.loads(ended.stdout)
    except ValueError:
        raise Fault(2, f"{command[0]} did not answer JSON") from None


def restic_times(options, environment):
    given = f"--repo={options.restic}" if options.restic_file is None else f"--repository-file={options.restic_file}"
    # It only adds files, so reading needs no lock.
    command = ["restic", "snapshots", "--json", "--no-lock", "--no-cache", given]
    if options.password_file is not None:
        command.append(f"--password-file={options.password_file}")
    for name in ("host", "tag", "path"):
        command += [f"--{name}={value}" for value in getattr(options, name)]
    return [each["time"] for each in run(command, environment) or []]


def borg_times(options, environment):
    # Without the lock a borg that may write repairs what another is writing at that time. One that may not write cannot.
    is_read_only = os.path.isdir(options.borg) and not os.access(options.borg, os.W_OK)
    command = ["borg", "list", "--json", *(["--bypass-lock"] if is_read_only else ["--lock-wait", str(LOCK_SECONDS)])]
    if options.archives is not None:
        command += ["--glob-archives", options.archives]
    command += ["--", options.borg]
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return [each["time"] for each in borg(command, environment, options.password_file)["archives"]]
        except Fault as fault:
            if "Failed to create/acquire the lock" in str(fault):
                raise Fault(1, "it is locked: a backup runs, or one was cut off") from None
            if not (is_read_only and WRITES.search(str(fault))):
                raise
            if attempt < ATTEMPTS:
                time.sleep(PAUSE_SECONDS)
    raise Fault(1, "it is being written to: a backup runs, or one was cut off")


def borg(command, environment, password_file):
    if password_file is None:
        return run(command, environment)
    with opened(password_file) as file:
        descriptor = file.fileno()
        return run(command, {**environment, "BORG_PASSPHRASE_FD": str(descriptor)}, (descriptor,))


def seconds_of(text):
    """2026-01-02T03:04:05.123456789+01:00, without an offset in UTC; of Python 3.8 not all of it is known."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?", text)
    if match is None:
        raise Fault(2, f"{text} is not time")
    offset = "+00:00" if match[2] in (None, "Z") else match[2]
    return datetime.datetime.fromisoformat(match[1] + offset).timestamp()


def verdict(times, name, options, now):
    """The worst that there is to say, first what matters most."""
    least = max(options.min_snapshots, 1)
    if len(times) < least:
        return 2, f"{len(times)} snapshots in {name}, and there should be {least}"
    old = int(now - max(times))
    text = f"the newest of {len(times)} snapshots in {name} is"
    if old < -FUTURE_SECONDS:
        return 1, f"{text} dated {words_of(-old)} in the future"
    code = 2 if old > options.crit else 1 if old > options.warn else 0
    return code, f"{text} {words_of(max(old, 0))} old"


def figures(times, options, now):
    count = f"snapshots={len(times)};;{options.min_snapshots}:;0"
    if not times:
        return count
    return f"age={max(int(now - max(times)), 0)}s;{options.warn};{options.crit};0 {count}"


def answer(code, text, figure=""):
    # What is not text prints as question marks instead of ending everything.
    line = f"BACKUP_REPOSITORY {WORDS[code]} - {harmless(text)}{' | ' if figure else ''}{figure}\n"
    sys.stdout.buffer.write(line.encode("utf-8", "replace"))
    return code


def main(argv):
    options = options_of(argv)
    name = options.restic or options.borg or f"the repository that {options.restic_file} names"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            environment = environment_of(options, scratch)
            found = (restic_times if options.borg is None else borg_times)(options, environment)
            times = [seconds_of(each) for each in found]
        except Fault as fault:
            return answer(fault.code, f"cannot read {name}: {fault}")
    now = time.time()
    code, text = verdict(times, name, options, now)
    return answer(code, text, figures(times, options, now))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
