import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeAccount } from "../fakes/accounts.ts";
import { send, startTestService, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const get = (path: string) => send(service, { path: `/api/v1/system/${path}`, key: service.key(["users:read"]) });
const key = { type: "ssh-rsa", bits: 2048, fingerprint: "SHA256:x", comment: "", options: [] };

describe("users", () => {
  it("are listed with what they sign in by", async () => {
    service.accounts.found = {
      accounts: [
        fakeAccount("root", 0, { password: "set" }),
        fakeAccount("daemon", 1, { shell: "/usr/sbin/nologin", password: "set" }),
        fakeAccount("eve", 1000, { keys: [{ ...key, comment: "token=abcdef0123456789abcdef" }] }),
        fakeAccount("former", 1001, { password: "set", expiresAt: 1 }),
        fakeAccount("locked", 1002),
        fakeAccount("hidden", 1003, { keys: undefined }),
        fakeAccount("open", 1004, { password: "none" }),
        fakeAccount("elsewhere", 1005, { keysAre: "some" }),
        fakeAccount("here", 1006, { keysAre: "some", keys: [key] }),
        fakeAccount("assumed", 1007, { keysAre: "assumed", keys: [key] }),
      ],
      notShown: [{ what: "users", reason: "there are more" }],
    };
    const { json } = await get("users");
    const { users } = json as { users: { name: string; can_sign_in: boolean | null }[] };
    expect(users.map(({ name, can_sign_in: can }) => [name, can])).toEqual([
      ...[
        ["root", true],
        ["daemon", false],
        ["eve", true],
        ["former", false],
        ["locked", false],
      ],
      ...[
        ["hidden", null],
        ["open", true],
        ["elsewhere", null],
        ["here", true],
        ["assumed", null],
      ],
    ]);
    expect(json).toMatchObject({ total: 10, not_shown: [{ what: "users", reason: "there are more" }] });
    expect(users[5]).toMatchObject({ authorized_keys: null });
    expect(JSON.stringify(json)).not.toContain("abcdef0123456789");
    expect((await get("users?sign_in=true&limit=2")).json).toMatchObject({
      users: [{ name: "root" }, { name: "eve" }],
      total: 7,
    });
  });
});

describe("logins", () => {
  it("are sessions of now, recent ones, and failed ones that programs of root report", async () => {
    const { journal, logins, clock } = service;
    const started = (clock.now() - 1000) * 1000;
    logins.past = [
      { user: "eve", tty: "pts/0", remoteHost: "192.0.2.7", startedAt: 1_700_000_000_000, endedAt: null, end: "none" },
    ];
    journal.write({
      identifier: "sshd",
      message: "Failed password for root from 192.0.2.9 port 22 ssh2",
      uid: 0,
      time: started + 1,
    });
    journal.write({
      identifier: "sshd",
      message: "Failed password for eve from 192.0.2.8 port 22 ssh2",
      uid: 1000,
      time: started + 2,
    });
    journal.write({
      identifier: "sshd-session",
      message: "Failed password for mal from 192.0.2.6 port 1 ssh2",
      uid: 0,
      time: started + 4,
    });
    journal.write({
      identifier: "sshd",
      message: "Accepted password for root from 192.0.2.9 port 22 ssh2",
      uid: 0,
      time: started + 3,
    });
    expect((await get("logins")).json).toMatchObject({
      sessions: [],
      recent: [{ user: "eve", remote_host: "192.0.2.7", ended_at: null, end: "none" }],
      failed: [
        { user: "mal", remote_host: "192.0.2.6" },
        { user: "root", remote_host: "192.0.2.9", method: "password", service: "sshd" },
      ],
      not_shown: [],
    });
  });

  it("are null where the host does not record them, with the reason", async () => {
    service.logins.now = { reason: "logind does not answer" };
    service.logins.past = { reason: "/var/log/wtmp is not there" };
    service.journal.available = false;
    expect((await get("logins")).json).toEqual({
      ...{ sessions: null, recent: null, failed: null },
      not_shown: [
        { what: "sessions", reason: "logind does not answer" },
        { what: "recent", reason: "/var/log/wtmp is not there" },
        { what: "failed", reason: expect.stringContaining("journal") },
      ],
    });
  });
});
