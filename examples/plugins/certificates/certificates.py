#!/usr/bin/env python3
"""All certificates below some directories, and how long they are good for."""

import argparse
import base64
import datetime
import hashlib
import json
import os
import re
import ssl
import stat
import subprocess
import sys
import time

DIRECTORIES = (
    "/etc/letsencrypt/live",
    "/etc/ssl",
    "/etc/pki/tls",
    "/etc/nginx",
    "/etc/apache2",
    "/etc/httpd",
    "/etc/haproxy",
    "/etc/postfix",
    "/etc/dovecot",
)
# What the distribution trusts is not a certificate of this host.
TRUST = ("/usr/share/ca-certificates/", "/etc/pki/ca-trust/", "/usr/share/pki/")
BUNDLES = ("ca-certificates.crt", "ca-bundle.crt", "ca-bundle.trust.crt")
ENDINGS = (".pem", ".crt", ".cer", ".cert", ".der", ".chain", ".bundle")
BEGIN = re.compile(rb"-----BEGIN (?:X509 )?CERTIFICATE-----")
PEM = re.compile(BEGIN.pattern + rb"\s+([A-Za-z0-9+/=\s]+?)-----END ")
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_FILES = 20_000
QUESTIONS = ("-subject", "-issuer", "-serial", "-enddate", "-startdate", "-ext", "subjectAltName")


def harmless(text):
    """A text on one line without anything that a terminal would act upon."""
    return "".join(char if char.isprintable() else "?" for char in text)


def text_of(path):
    """A path as text, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def give_up(reason):
    print(f"certificates: {reason}", file=sys.stderr)
    sys.exit(2)


class Inventory:
    def __init__(self, with_trust):
        self.with_trust = with_trust
        self.files = 0
        # By fingerprint: the certificate itself, and where it is.
        self.found = {}
        self.problems = []

    def problem(self, path, reason):
        self.problems.append({"path": text_of(path), "reason": reason})

    def walk(self, directory):
        """Links to files are followed, as Let's Encrypt has them; links to directories are not."""
        if not os.path.isdir(directory):
            self.problem(directory, "no directory that can be seen")
            return
        for path, directories, names in os.walk(directory, onerror=lambda error: self.problem(error.filename, error.strerror)):
            directories.sort()
            for name in sorted(names):
                if name.lower().endswith(ENDINGS):
                    self.look(os.path.join(path, name))

    def is_trust(self, path):
        real = os.path.realpath(path)
        return not self.with_trust and (real.startswith(TRUST) or os.path.basename(real) in BUNDLES)

    def look(self, path):
        if self.is_trust(path):
            return
        self.files += 1
        if self.files > MAX_FILES:
            give_up(f"more than {MAX_FILES} files: name fewer directories")
        try:
            certificates = certificates_in(read(path))
        except OSError as error:
            self.problem(path, error.strerror or str(error))
            return
        except ValueError:
            self.problem(path, "a certificate in it is damaged")
            return
        for der in certificates:
            paths = self.found.setdefault(hashlib.sha256(der).hexdigest(), (der, []))[1]
            if path not in paths:
                paths.append(path)


def read(path):
    """A file whole, if it is one and not too big: a pipe would never end."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("no regular file")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise OSError(f"bigger than {MAX_FILE_BYTES} bytes")
    return content


def certificates_in(content):
    """The certificates of a file as DER; keys and requests beside them are left alone."""
    if content[:1] == b"\x30":
        return [content]
    blocks = PEM.findall(content)
    if len(blocks) != len(BEGIN.findall(content)):
        raise ValueError("a block has no end")
    return [base64.b64decode(block) for block in blocks]


def ask_openssl(der):
    """What openssl says of a certificate; None where it is none."""
    command = ["openssl", "x509", "-inform", "DER", "-noout", "-nameopt", "RFC2253,utf8,-esc_msb", *QUESTIONS]
    ended = subprocess.run(command, input=der, capture_output=True, check=False)
    if ended.returncode != 0:
        return None
    return ended.stdout.decode("utf-8", "replace")


def field(text, name):
    match = re.search(rf"^{name}= ?(.*)$", text, re.MULTILINE)
    return "" if match is None else match[1]


def names_of(text):
    names = re.findall(r"(?:DNS|IP Address):([^,\s]+)", text)
    if names:
        return names
    common = re.search(r"(?:^|,)CN=((?:\\.|[^,\\])*)", field(text, "subject"))
    return [] if common is None else [common[1]]


def when(epoch):
    return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def entry_of(fingerprint, text, paths, now):
    ends = ssl.cert_time_to_seconds(field(text, "notAfter"))
    starts = ssl.cert_time_to_seconds(field(text, "notBefore"))
    return {
        "subject": field(text, "subject"),
        "names": names_of(text),
        "issuer": field(text, "issuer"),
        "self_signed": field(text, "subject") == field(text, "issuer"),
        "serial": field(text, "serial"),
        "sha256": fingerprint,
        "not_before": when(starts),
        "not_after": when(ends),
        "days_left": int((ends - now) // 86400),
        "paths": [text_of(path) for path in paths],
    }


def entries_of(inventory, now):
    entries = []
    for fingerprint, (der, paths) in inventory.found.items():
        text = ask_openssl(der)
        try:
            if text is not None:
                entries.append(entry_of(fingerprint, text, paths, now))
                continue
        except ValueError:
            # A date that is none.
            pass
        for path in paths:
            inventory.problem(path, "no certificate that openssl can read")
    return sorted(entries, key=lambda entry: (entry["not_after"], entry["paths"]))


def state_of(entry, days):
    if entry["days_left"] < 0:
        return "EXPIRED"
    return "soon" if entry["days_left"] < days else "good"


def print_table(entries, days):
    rows = [("state", "days", "ends", "names", "issuer", "file")]
    for entry in entries:
        names = entry["names"][:3] + ([f"+{len(entry['names']) - 3}"] if len(entry["names"]) > 3 else [])
        more = len(entry["paths"]) - 1
        path = entry["paths"][0] + (f" (+{more})" if more > 0 else "")
        issuer = "itself" if entry["self_signed"] else entry["issuer"]
        row = (state_of(entry, days), str(entry["days_left"]), entry["not_after"][:10], " ".join(names), issuer, path)
        rows.append(tuple(map(harmless, row)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())


def options_of(argv):
    parser = argparse.ArgumentParser(
        prog="certificates",
        description=__doc__,
        epilog="Exit code: 0 all good, 1 some have ended or end soon, 2 something could not be inspected.",
        allow_abbrev=False,
    )
    parser.add_argument("directory", nargs="*", help="where to look, instead of the usual directories of web and mail servers")
    parser.add_argument("--json", action="store_true", help="print the inventory as JSON")
    parser.add_argument("--days", type=int, default=30, help="how many days are soon (default: 30)")
    parser.add_argument("--all", action="store_true", help="also what the distribution trusts")
    return parser.parse_args(argv)


def main(argv):
    options = options_of(argv)
    inventory = Inventory(options.all)
    for directory in options.directory or [directory for directory in DIRECTORIES if os.path.isdir(directory)]:
        inventory.walk(directory)
    try:
        entries = entries_of(inventory, time.time())
    except FileNotFoundError:
        give_up("openssl is not installed")
    sys.stdout.reconfigure(encoding="utf-8")
    if options.json:
        print(json.dumps({"certificates": entries, "problems": inventory.problems}, indent=2))
    else:
        print_table(entries, options.days)
        for problem in inventory.problems:
            print(harmless(f"{problem['path']}: {problem['reason']}"), file=sys.stderr)
    if inventory.problems:
        return 2
    return 1 if any(entry["days_left"] < options.days for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
