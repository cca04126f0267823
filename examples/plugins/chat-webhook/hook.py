#!/usr/bin/env python3
"""Posts an event to an incoming webhook of a chat, in the format of Slack (Mattermost, Rocket.Chat, Discord's /slack).

usage: hook.py --address-file FILE [--timeout SECONDS] < EVENT
"""

import argparse
import http.client
import ipaddress
import json
import os
import signal
import sys
import urllib.error
import urllib.parse
import urllib.request

WHAT = {
    "pre_check": "check begins",
    "post_check": "check ended",
    "pre_fix": "fix begins",
    "post_fix": "fix ended",
    "pre_update": "update begins",
    "post_update": "update ended",
    "pre_rollback": "rollback begins",
    "post_rollback": "rollback ended",
}
# What stands in the first lines already.
TOLD = ("check_id", "type", "success", "status", "message", "error", "key_id")
MAX_FIELDS = 12
MAX_FIELD_CHARS = 200
MAX_MESSAGE_CHARS = 1500


class NotPosted(Exception):
    """Why nothing was posted; never has the address, which is as good as a password."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        # Somebody else is not to see what is in it.
        return None


def plain(text, limit):
    """Text that a chat shows as it is: no control characters, no markup of links and mentions, not endless."""
    shown = "".join(char if char.isprintable() or char == "\n" else " " for char in str(text))
    shown = shown[: limit - 1] + "…" if len(shown) > limit else shown
    for char, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        shown = shown.replace(char, instead)
    # Some chats call everybody at @all, no matter who wrote it; with this between they see no mention.
    return shown.replace("@", "@\u200b")


def one_line(value, limit):
    return plain(str(value).replace("\n", " "), limit)


def facts_of(subject):
    """What is said of an event; the result of what was done is inside, and counts as much."""
    result = subject.get("result")
    return {**subject, **result} if isinstance(result, dict) else subject


def is_news(event):
    """A check that finds what it found before is none."""
    if event["event"] != "post_check":
        return True
    status, before = event["subject"].get("status"), event["subject"].get("previous_status")
    return status != (before or "pass")


def outcome_of(event, facts):
    if event["event"] == "post_check":
        return f": {one_line(facts.get('status', ''), 20).upper()}"
    if isinstance(facts.get("success"), bool):
        return ": done" if facts["success"] else ": FAILED"
    return ": FAILED" if facts.get("status") == "failed" else ""


def title_of(event, facts):
    title = WHAT.get(event["event"], event["event"])
    name = facts.get("check_id") or facts.get("fix_id") or facts.get("type")
    about = f" ({one_line(name, 100)})" if name else ""
    return f"{one_line(os.uname().nodename, 100)}: {one_line(title, 100)}{about}{outcome_of(event, facts)}"


def text_of(event):
    facts = facts_of(event["subject"])
    said = [facts.get(key) for key in ("message", "error") if isinstance(facts.get(key), str) and facts.get(key)]
    lines = [title_of(event, facts), *(plain(text, MAX_MESSAGE_CHARS) for text in said)]
    fields = [(key, value) for key, value in facts.items() if key not in TOLD and is_short(value)]
    lines += [f"{one_line(key, 50)}: {one_line(value, MAX_FIELD_CHARS)}" for key, value in fields[:MAX_FIELDS]]
    return "\n".join(lines)


def is_short(value):
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""


def read_event():
    try:
        event = json.load(sys.stdin)
    except ValueError as error:
        raise NotPosted(f"cannot read the event: {error}") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise NotPosted("cannot read the event: it has no name")
    subject = event.get("subject")
    return {"event": event["event"], "subject": subject if isinstance(subject, dict) else {}}


def is_loopback(host):
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_in(path):
    try:
        with open(path, encoding="utf-8") as file:
            address = file.read(4096).strip()
        parts = urllib.parse.urlsplit(address)
        # Asking for it is what checks it.
        port = parts.port
    except OSError as error:
        raise NotPosted(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise NotPosted(f"there is no address in {path}") from error
    if not address.isascii() or not address.isprintable() or " " in address or not parts.hostname or port == 0:
        raise NotPosted(f"there is no address in {path}")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
        raise NotPosted(f"the address in {path} has to begin with https://")
    return address


def post(address, text):
    body = {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
    request = urllib.request.Request(
        address,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "steward-chat-webhook/1.0"},
        method="POST",
    )
    opener = urllib.request.build_opener(NoRedirect(), urllib.request.ProxyHandler({}))
    try:
        with opener.open(request) as response:
            response.read(1024)
    except urllib.error.HTTPError as error:
        error.close()
        raise NotPosted(f"the chat answered with status {error.code}") from None
    except urllib.error.URLError as error:
        raise NotPosted(f"cannot reach the chat: {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotPosted(f"the chat broke off: {type(error).__name__}") from None


def on_alarm(*_):
    raise NotPosted("the chat did not answer in time")


def main(argv):
    parser = argparse.ArgumentParser(prog="chat-webhook", description=__doc__, allow_abbrev=False)
    parser.add_argument("--address-file", required=True)
    parser.add_argument("--timeout", type=float, default=10)
    options = parser.parse_args(argv)
    try:
        # For all of it: a limit for each read would let a server answer a byte at a time for ever.
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, options.timeout)
        event = read_event()
        if is_news(event):
            post(address_in(options.address_file), text_of(event))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except NotPosted as reason:
        print(f"chat-webhook: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
