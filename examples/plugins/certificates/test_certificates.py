"""Runs certificates.py on certificates that openssl makes: python3 -B -m unittest"""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "certificates.py")


def openssl(*args, given=None):
    return subprocess.run(["openssl", *args], input=given, capture_output=True, check=True).stdout


class CertificatesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keys = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.keys.cleanup)
        cls.key = os.path.join(cls.keys.name, "key")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", cls.key)

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def certificate(self, subject, days, *more):
        command = ["req", "-x509", "-new", "-utf8", "-key", self.key, "-subj", subject, "-days", str(days)]
        return openssl(*command, *more)

    def write(self, name, content):
        path = os.path.join(os.fsencode(self.directory), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def run_program(self, *args):
        return subprocess.run([PROGRAM, *args, self.directory], capture_output=True, text=True, check=False)

    def inventory(self, *args):
        ended = self.run_program("--json", *args)
        return ended.returncode, json.loads(ended.stdout)

    def expired(self):
        # A request of a time that is over: openssl 3.0 has no other way than its little authority.
        authority = os.path.join(self.keys.name, "authority")
        os.makedirs(authority, exist_ok=True)
        config = os.path.join(authority, "config")
        with open(config, "w", encoding="utf-8") as file:
            file.write(
                f"[ca]\ndefault_ca=d\n[d]\ndatabase={authority}/index\nnew_certs_dir={authority}\nrand_serial=yes\n"
                "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n"
            )
        with open(os.path.join(authority, "index"), "w", encoding="utf-8"):
            pass
        request = os.path.join(authority, "request")
        openssl("req", "-new", "-key", self.key, "-subj", "/CN=over.example", "-out", request)
        command = ["ca", "-batch", "-selfsign", "-keyfile", self.key, "-config", config, "-in", request, "-notext"]
        return openssl(*command, "-startdate", "20200101000000Z", "-enddate", "20200201000000Z")

    def test_inventory(self):
        names = "subjectAltName=DNS:a.example,DNS:*.a.example,IP:192.0.2.1"
        good = self.certificate("/O=Firma Übung/CN=a.example", 400, "-addext", names)
        soon = self.certificate("/CN=b.example", 10)
        self.write("site/fullchain.pem", good + soon)
        self.write("site/key.pem", openssl("pkey", "-in", self.key))
        self.write("b.der", openssl("x509", "-outform", "DER", given=soon))
        self.write("notes.txt", good)
        os.symlink("site/fullchain.pem", os.path.join(self.directory, "link.crt"))
        code, answer = self.inventory()
        self.assertEqual(code, 1)
        self.assertEqual(answer["problems"], [])
        first, second = answer["certificates"]
        self.assertEqual((first["names"], first["days_left"]), (["b.example"], 9))
        paths = [os.path.join(self.directory, name) for name in ("b.der", "link.crt", "site/fullchain.pem")]
        self.assertEqual(first["paths"], paths)
        self.assertEqual(second["names"], ["a.example", "*.a.example", "192.0.2.1"])
        self.assertEqual(second["subject"], "CN=a.example,O=Firma Übung")
        self.assertTrue(second["self_signed"])
        printed = openssl("x509", "-noout", "-fingerprint", "-sha256", given=good).decode()
        self.assertEqual(second["sha256"], printed.split("=")[1].strip().replace(":", "").lower())
        self.assertNotIn("PRIVATE", json.dumps(answer))

    def test_exit_code_and_days(self):
        self.assertEqual(self.inventory(), (0, {"certificates": [], "problems": []}))
        self.write("a.pem", self.certificate("/CN=a.example", 20))
        self.assertEqual(self.inventory("--days", "10")[0], 0)
        self.assertEqual(self.inventory("--days", "20")[0], 1)

    def test_table(self):
        self.write("a.pem", self.certificate("/CN=a.example", 365))
        self.write("old.pem", self.expired())
        ended = self.run_program()
        lines = ended.stdout.splitlines()
        self.assertEqual((ended.returncode, ended.stderr), (1, ""))
        self.assertRegex(lines[0], r"^state +days +ends +names +issuer +file$")
        self.assertRegex(lines[1], rf"^EXPIRED +-\d+ +2020-02-01 +over.example +itself +{self.directory}/old.pem$")
        self.assertRegex(lines[2], rf"^good +364 +\d+-\d+-\d+ +a.example +itself +{self.directory}/a.pem$")
        self.assertEqual(len(lines), 3)

    def test_hostile_names_are_inert(self):
        self.write(b"a\n\x1b[31m\xff.pem", self.certificate("/CN=\x1b]0;x\x07\u202e|evil, Inc", 365))
        ended = self.run_program()
        self.assertEqual((ended.returncode, len(ended.stdout.splitlines())), (0, 2))
        self.assertTrue(all(char.isprintable() or char == "\n" for char in ended.stdout), ended.stdout)
        self.assertEqual(self.inventory()[0], 0)

    def test_what_cannot_be_read_is_told(self):
        whole = self.certificate("/CN=a.example", 365)
        self.write("half.pem", whole[: len(whole) // 2])
        self.write("mangled.pem", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        self.write("big.pem", b"x" * (4 * 1024 * 1024 + 1))
        os.mkfifo(os.path.join(self.directory, "pipe.pem"))
        os.symlink("nowhere", os.path.join(self.directory, "dangling.pem"))
        self.write("whole.pem", whole)
        code, answer = self.inventory()
        self.assertEqual(code, 2)
        self.assertEqual([entry["names"] for entry in answer["certificates"]], [["a.example"]])
        problems = {os.path.basename(problem["path"]): problem["reason"] for problem in answer["problems"]}
        self.assertEqual(
            problems,
            {
                "half.pem": "a certificate in it is damaged",
                "mangled.pem": "no certificate that openssl can read",
                "big.pem": "bigger than 4194304 bytes",
                "pipe.pem": "no regular file",
                "dangling.pem": "No such file or directory",
            },
        )

    def test_refuses_what_it_does_not_know(self):
        for args in (["--colour"], ["--days", "soon"]):
            ended = self.run_program(*args)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.directory = os.path.join(self.directory, "none")
        self.assertEqual(self.inventory()[0], 2)


if __name__ == "__main__":
    unittest.main()
