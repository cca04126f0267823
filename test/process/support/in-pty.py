"""Runs a program in a pseudo-terminal and types for it, as a person would.

usage: in-pty.py JSON, with {argv, env, columns, rows, steps: [{wait, send, columns, mark}], timeout_s}
Each step waits until the text has been printed since the last step, then types, changes the width of the window, or makes
the file `mark`, for whoever has to know.
Prints JSON: {output, code} with code as a shell counts it.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main():
    task = json.loads(sys.argv[1])
    rows = task.get("rows", 24)
    pid, fd = pty.fork()
    if pid == 0:
        resize(0, task["columns"], rows)
        os.execvpe(task["argv"][0], task["argv"], task["env"])
    resize(fd, task["columns"], rows)
    steps = list(task.get("steps", []))
    deadline = time.monotonic() + task.get("timeout_s", 100)
    output = b""
    seen = 0
    while True:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        while steps and steps[0]["wait"].encode() in output[seen:]:
            step = steps.pop(0)
            seen = output.index(step["wait"].encode(), seen) + len(step["wait"].encode())
            if "columns" in step:
                resize(fd, step["columns"], rows)
            if "mark" in step:
                open(step["mark"], "w").close()
            os.write(fd, step.get("send", "").encode())
        readable, _, _ = select.select([fd], [], [], 0.2)
        if not readable:
            continue
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            # Linux says so when the last process that had the terminal is gone.
            break
        if chunk == b"":
            break
        output += chunk
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    left = [step["wait"] for step in steps]
    text = output.decode("utf-8", "replace").replace("\r\n", "\n")
    print(json.dumps({"output": text, "code": code if code >= 0 else 128 - code, "left": left}))


main()
