#!/usr/bin/env python3
"""Age of the newest file below a directory, how many there are, and how big they are; as a monitoring plugin.

usage: check.py --dir DIR [--pattern GLOB] [--warn AGE] [--crit AGE] [--min-files N] [--min-size SIZE]

Critical: no directory, fewer files than --min-files, a newest file that is older than --crit or smaller than --min-size.
Warning: a newest file that is older than --warn, or dated in the future; directories that could not be read.
"""

import argparse
import fnmatch
import os
import re
import stat
import sys
import time

WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
# Clocks of two hosts are never quite the same.
FUTURE_SECONDS = 300


class Parser(argparse.ArgumentParser):
    """Says what is wrong on standard output, as monitoring plugins do."""

    def error(self, message):
        sys.exit(answer(3, message))


def age(text):
    match = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is not an age such as 90m, 26h or 7d")
    return int(match[1]) * SECONDS[match[2]]


def size(text):
    match = re.fullmatch(r"(\d{1,15})([kmgt]?)", text.lower())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is not a size such as 512, 10M or 2G")
    return int(match[1]) * BYTES[match[2]]


def options_of(argv):
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--pattern", default="*")
    parser.add_argument("--warn", type=age, default=age("26h"))
    parser.add_argument("--crit", type=age, default=age("50h"))
    parser.add_argument("--min-files", type=int, default=1)
    parser.add_argument("--min-size", type=size, default=1)
    return parser.parse_args(argv)


def harmless(text):
    """A text on one line of which nothing reads as figures; names of files can be anything."""
    return "".join(char if char.isprintable() else "?" for char in text).replace("|", "?")


def words_of(seconds):
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def size_words(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"


class Found:
    """What a walk through the directory found."""

    def __init__(self):
        self.files = 0
        self.bytes = 0
        self.newest = None
        self.problems = 0

    def take(self, path, status):
        self.files += 1
        self.bytes += status.st_size
        if self.newest is None or status.st_mtime > self.newest[1].st_mtime:
            self.newest = (path, status)


def look(directory, pattern):
    """Files below the directory; links are not followed, so none leads out of it or round in it."""
    found = Found()
    waiting = [directory]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif fnmatch.fnmatchcase(entry.name, pattern):
                        take(found, entry)
        except OSError:
            found.problems += 1
    return found


def take(found, entry):
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        # An old backup that is removed just now is none that counts.
        return
    if stat.S_ISREG(status.st_mode):
        found.take(entry.path, status)


def verdict(found, options, now):
    """The worst that there is to say, first what matters most."""
    if found.files < options.min_files or found.newest is None:
        return 2, f"{found.files} files in {options.dir}, and there should be {max(options.min_files, 1)}"
    path, status = found.newest
    name = os.path.relpath(path, options.dir)
    old = int(now - status.st_mtime)
    if old > options.crit:
        return 2, f"the newest of {found.files} files, {name}, is {words_of(old)} old"
    if status.st_size < options.min_size:
        return 2, f"the newest of {found.files} files, {name}, has only {status.st_size} bytes"
    if old < -FUTURE_SECONDS:
        return 1, f"the newest of {found.files} files, {name}, is dated {words_of(-old)} in the future"
    if old > options.warn:
        return 1, f"the newest of {found.files} files, {name}, is {words_of(old)} old"
    text = f"the newest of {found.files} files, {name}, is {words_of(max(old, 0))} old"
    return 0, f"{text}, all are {size_words(found.bytes)}"


def figures(found, options, now):
    figure = [f"files={found.files};;{options.min_files}:;0", f"size={found.bytes}B;;;0"]
    if found.newest is not None:
        status = found.newest[1]
        figure.insert(0, f"age={max(int(now - status.st_mtime), 0)}s;{options.warn};{options.crit};0")
        figure.append(f"newest_size={status.st_size}B;;{options.min_size}:;0")
    return " ".join(figure)


def answer(code, text, figure=""):
    # Names that are no text print as question marks instead of ending everything.
    line = f"BACKUP_AGE {WORDS[code]} - {harmless(text)}{' | ' if figure else ''}{figure}\n"
    sys.stdout.buffer.write(line.encode("utf-8", "replace"))
    return code


def main(argv):
    options = options_of(argv)
    if not os.path.isdir(options.dir):
        return answer(2, f"{options.dir} is not a directory that can be seen: is the disk with the backups mounted?")
    now = time.time()
    found = look(options.dir, options.pattern)
    code, text = verdict(found, options, now)
    if found.problems > 0:
        code, text = max(code, 1), f"{text}; {found.problems} directories could not be read"
    return answer(code, text, figures(found, options, now))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
