#!/usr/bin/env python3
"""Says no to updates while a file exists; its first line is the reason.

usage: hook.py FILE < EVENT
"""

import json
import sys


def reason_in(path):
    """The first line of the file; None where there is no file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(1000).strip() or "updates are frozen"
    except FileNotFoundError:
        return None


def main(argv):
    event = json.load(sys.stdin)
    if event["event"] != "pre_update":
        return 0
    reason = reason_in(argv[0])
    if reason is not None:
        print(json.dumps({"veto": True, "reason": reason}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
