#!/usr/bin/env python3
"""How many entries there are right below a folder.

usage: check.py --dir DIR --warn N --crit N
"""

import argparse
import os
import sys

WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


class Parser(argparse.ArgumentParser):
    """Says what is wrong on standard output, as monitoring plugins do."""

    def error(self, message):
        sys.exit(answer(3, message))


def answer(code, text):
    print(f"{{label}} {WORDS[code]} - {text}")
    return code


def main(argv):
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--warn", type=int, required=True)
    parser.add_argument("--crit", type=int, required=True)
    options = parser.parse_args(argv)
    try:
        count = len(os.listdir(options.dir))
    except OSError as error:
        return answer(3, f"cannot read the folder {options.dir}: {error.strerror}")
    text = f"{count} entries in {options.dir} | entries={count};{options.warn};{options.crit};0"
    if count > options.crit:
        return answer(2, text)
    return answer(1 if count > options.warn else 0, text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
