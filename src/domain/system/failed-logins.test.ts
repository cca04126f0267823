import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import { failedLoginsIn, failedPattern } from "./failed-logins.ts";

const at = "2026-01-01T00:00:00.000000Z";
const entry = (message: string, identifier = "sshd"): LogEntry =>
  ({ timestamp: at, identifier, message, pid: null, cursor: "c" }) as unknown as LogEntry;
const failedLoginIn = (given: LogEntry) => failedLoginsIn([given])[0];

describe("failed logins", () => {
  it.each([
    ["Failed password for root from 192.0.2.7 port 22 ssh2", "root", true, "192.0.2.7", "password"],
    [
      "Failed publickey for eve from 2001:db8::1 port 9 ssh2: ED25519 SHA256:x",
      "eve",
      true,
      "2001:db8::1",
      "publickey",
    ],
    ["Failed password for invalid user bob from 192.0.2.7 port 22 ssh2", "bob", false, "192.0.2.7", "password"],
    [
      "Failed none for invalid user a from 198.51.100.1 port 1 ssh2 from 192.0.2.7 port 22 ssh2",
      ...["a from 198.51.100.1 port 1 ssh2", false, "192.0.2.7", "none"],
    ],
    ["Connection closed by authenticating user root 192.0.2.7 port 22 [preauth]", "root", true, "192.0.2.7", ""],
    ["Disconnected from authenticating user eve 192.0.2.7 port 22 [preauth]", "eve", true, "192.0.2.7", ""],
  ])("are read from %j", (message, user, isKnown, host, method) => {
    expect(message).toMatch(new RegExp(failedPattern));
    expect(failedLoginIn(entry(message))).toEqual({
      ...{ at, user, known_user: isKnown, remote_host: host, method, service: "sshd" },
    });
  });

  it.each([
    ["FAILED LOGIN (1) on '/dev/tty1' FOR 'root', Authentication failure", "root", ""],
    ["FAILED LOGIN (2) on '/dev/pts/0' from 'web2' FOR 'UNKNOWN', Authentication failure", "UNKNOWN", "web2"],
    ["FAILED LOGIN 1 FROM tty1 FOR eve, Authentication failure", "eve", ""],
  ])("are read from %j", (message, user, host) => {
    expect(message).toMatch(new RegExp(failedPattern));
    expect(failedLoginIn(entry(message, "login"))).toMatchObject({ user, remote_host: host, service: "login" });
  });

  it.each(["Accepted publickey for eve from 192.0.2.7 port 22 ssh2", "Failed to start", ""])(
    "do not include %j",
    (message) => expect(failedLoginIn(entry(message))).toBeUndefined(),
  );

  it("have the address of the attempt, whatever the user name contains", () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const found = failedLoginIn(entry(`Failed password for invalid user ${name} from 192.0.2.7 port 22 ssh2`));
        expect(found).toMatchObject({ remote_host: "192.0.2.7", known_user: false });
      }),
    );
  });

  /** Lines of one process of sshd, the oldest first. */
  const connection = (pid: number, ...messages: readonly string[]): readonly LogEntry[] =>
    messages.map((message, second) => ({
      ...entry(message),
      ...{ pid, boot_id: "b", cursor: `${pid}-${second}`, timestamp: `2026-01-01T00:00:0${second}.000000Z` },
    }));

  it("one connection of an unknown user with a key is one failed login", () => {
    const lines = connection(
      7,
      "Invalid user bob from 192.0.2.7 port 5022",
      "Connection closed by invalid user bob 192.0.2.7 port 5022 [preauth]",
    );
    expect(failedLoginsIn(lines.toReversed())).toEqual([
      {
        at: lines[0]?.timestamp,
        user: "bob",
        known_user: false,
        remote_host: "192.0.2.7",
        method: "",
        service: "sshd",
      },
    ]);
  });

  it("each password that was tried is one failed login, and the end of the connection is none", () => {
    const lines = connection(
      7,
      "Invalid user bob from 192.0.2.7 port 5022",
      "Failed password for invalid user bob from 192.0.2.7 port 5022 ssh2",
      "Failed password for invalid user bob from 192.0.2.7 port 5022 ssh2",
      "error: maximum authentication attempts exceeded for invalid user bob from 192.0.2.7 port 5022 ssh2 [preauth]",
      "Disconnecting invalid user bob 192.0.2.7 port 5022: Too many authentication failures [preauth]",
    );
    expect(failedLoginsIn(lines.toReversed()).map(({ method }) => method)).toEqual(["password", "password"]);
  });

  it("connections at the same time are distinguished, and one whose user may not sign in is listed as a known user", () => {
    const one = connection(
      7,
      "Invalid user bob from 192.0.2.7 port 1",
      "Connection closed by invalid user bob 192.0.2.7 port 1 [preauth]",
    );
    const other = connection(
      8,
      "User root from 192.0.2.8 not allowed because not listed in AllowUsers",
      "Connection closed by invalid user root 192.0.2.8 port 2 [preauth]",
    );
    const locked = connection(
      9,
      "User eve not allowed because account is locked",
      "Connection closed by invalid user eve 192.0.2.9 port 2 [preauth]",
    );
    const found = failedLoginsIn([...one, ...other, ...locked].toReversed());
    const shown = found.map(({ user, known_user: isKnown, remote_host: host }) => `${user} ${isKnown} ${host}`);
    expect(shown.toSorted()).toEqual(["bob false 192.0.2.7", "eve false 192.0.2.9", "root true 192.0.2.8"]);
  });
});
