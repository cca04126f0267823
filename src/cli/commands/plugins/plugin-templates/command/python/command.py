#!/usr/bin/env python3
"""Name and kernel of this host.

usage: command.py [--json]
"""

import argparse
import json
import os
import sys


def main(argv):
    parser = argparse.ArgumentParser(prog="{{name}}", description="Name and kernel of this host", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    options = parser.parse_args(argv)
    system = os.uname()
    answer = {"host": system.nodename, "kernel": system.release}
    if options.json:
        print(json.dumps(answer))
    else:
        for key, value in answer.items():
            print(key, value)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
