"""Runs hook.py against a server of HTTP: python3 -B -m unittest"""

import http.server
import json
import os
import socket
import subprocess
import tempfile
import threading
import unittest

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")
SECRET = "T0SECRET"


class Chat(http.server.BaseHTTPRequestHandler):
    """A chat that answers by the path it is called at."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, self.headers["Content-Type"], json.loads(body)))
        if self.path.endswith("/slow"):
            # Something comes all the time, and it never ends.
            self.wfile.write(b"HTTP/1.0 200 OK\r\n")
            while not self.server.over.wait(0.02):
                try:
                    self.wfile.write(b"X-More: x\r\n")
                except OSError:
                    break
            return
        status = {"moved": 307, "broken": 500}.get(self.path.split("/")[-1], 200)
        self.send_response(status)
        if status == 307:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        """Says nothing between the results of the tests."""


class ChatWebhookTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat)
        self.server.posts = []
        self.server.over = threading.Event()
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.over.set)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = os.path.join(directory.name, "chat-webhook")
        self.point(f"http://127.0.0.1:{self.server.server_port}/services/{SECRET}")

    def point(self, address):
        self.address = address
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"{address}\n")

    def hook(self, event, *args):
        given = event if isinstance(event, str) else json.dumps(event)
        command = [HOOK, "--address-file", self.file, *args]
        ended = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        self.assertEqual(ended.stdout, "")
        self.assertNotIn(SECRET, ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)
        return ended.returncode, ended.stderr

    def event(self, **subject):
        return {"event": "post_update", "at": "2026-01-01T00:00:00.000Z", "subject": subject}

    def posted(self, event):
        self.assertEqual(self.hook(event), (0, ""))
        path, content_type, body = self.server.posts.pop()
        self.assertEqual((path, content_type), (f"/services/{SECRET}", "application/json"))
        return body

    def refused(self, reason, event=None, *args):
        code, said = self.hook(event or self.event(), *args)
        self.assertEqual(code, 1)
        self.assertIn(reason, said)
        self.assertEqual(len(said.splitlines()), 1)

    def test_posts(self):
        result = {"success": True, "packages_updated": 3, "packages": [{}], "requires_reboot": False, "error": None}
        event = self.event(operation_id="7", key_id="k", type="all", status="done", result=result, error=None)
        body = self.posted(event)
        host = os.uname().nodename
        text = f"{host}: update ended (all): done\noperation_id: 7\npackages_updated: 3"
        self.assertEqual(body, {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False})
        failed = {"check_id": "disk_space", "fix_id": "clean", "result": {"success": False, "message": "no space"}}
        text = f"{host}: fix ended (disk_space): FAILED\nno space\nfix_id: clean"
        self.assertEqual(self.posted({"event": "post_fix", "subject": failed})["text"], text)
        lost = {"status": "failed", "result": None, "error": "the host went away"}
        text = f"{host}: rollback ended: FAILED\nthe host went away"
        self.assertEqual(self.posted({"event": "post_rollback", "subject": lost})["text"], text)
        self.assertEqual(self.posted({"event": "post_rollback"})["text"], f"{host}: rollback ended")

    def test_checks_when_they_change(self):
        def check(status, before):
            return {"event": "post_check", "subject": {"check_id": "a", "status": status, "previous_status": before}}

        for status, before in (("pass", "pass"), ("fail", "fail"), ("pass", None)):
            self.assertEqual(self.hook(check(status, before)), (0, ""))
        self.assertEqual(self.server.posts, [])
        for status, before in (("fail", "pass"), ("pass", "fail"), ("warn", None)):
            text = self.posted(check(status, before))["text"].splitlines()[0]
            self.assertEqual(text, f"{os.uname().nodename}: check ended (a): {status.upper()}")

    def test_hostile_text_is_only_text(self):
        hostile = '<!channel> <https://evil.example|your bank> @all & \x1b[31m\u202e"}\r\nx'
        body = self.posted(self.event(message=hostile, **{"a<b>\n@here": "<@U1>\nx", "from": "line\nline"}))
        text = body["text"].split("\n", 1)[1]
        self.assertEqual(
            text,
            "&lt;!channel&gt; &lt;https://evil.example|your bank&gt; @\u200ball &amp;  [31m \"}"
            " \nx\na&lt;b&gt; @\u200bhere: &lt;@\u200bU1&gt; x\nfrom: line line",
        )

    def test_is_not_endless(self):
        fields = {f"field{number}": "<" * 5000 for number in range(500)}
        text = self.posted(self.event(message="x" * 100_000, **fields))["text"]
        self.assertLess(len(text), 15_000)
        self.assertEqual(len(text.splitlines()), 14)

    def test_a_chat_that_refuses(self):
        self.point(f"{self.address}/broken")
        self.refused("the chat answered with status 500")

    def test_redirects_are_not_followed(self):
        self.point(f"{self.address}/moved")
        self.refused("the chat answered with status 307")
        self.assertEqual([path for path, _, _ in self.server.posts], [f"/services/{SECRET}/moved"])

    def test_a_chat_that_does_not_end(self):
        self.point(f"{self.address}/slow")
        self.refused("the chat did not answer in time", None, "--timeout", "0.5")

    def test_no_chat(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.point(f"http://127.0.0.1:{free.getsockname()[1]}/{SECRET}")
            self.refused("cannot reach the chat: ")

    def test_addresses(self):
        wrong = ("", "no address", f"https://{SECRET}:x/", f"https:///{SECRET}", f"https://a b/{SECRET}", f"file:///{SECRET}")
        for address in wrong:
            self.point(address)
            self.refused("there is no address in ")
        for address in (f"http://chat.example/{SECRET}", f"ftp://127.0.0.1/{SECRET}"):
            self.point(address)
            self.refused("has to begin with https://")
        os.remove(self.file)
        self.refused("cannot read ")
        self.assertEqual(self.server.posts, [])

    def test_events_that_are_none(self):
        for event in ("", "{", "[]", '{"subject": {}}'):
            self.refused("cannot read the event", event or " ")
        self.assertEqual(self.server.posts, [])


if __name__ == "__main__":
    unittest.main()
