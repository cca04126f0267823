import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createLogins } from "#adapters/logins/index.ts";
import { createFakeLogins } from "../fakes/logins.ts";

const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), "steward-wtmp-"));
afterAll(() => rmSync(dir, { recursive: true }));
const paths = { wtmp: join(dir, "wtmp"), wtmpdb: [join(dir, "wtmp.db")] };

/** logind behind busctl, with answers in the form of systemd 257. */
const logind: Exec = (argv) => {
  const text = (data: unknown) => ({ type: "", data });
  const session = (kind: string) => [
    {
      ...{ Id: text("3"), Name: text("eve"), User: text([1000, "/u"]), Class: text(kind), Service: text("sshd") },
      ...{ TTY: text("pts/0"), Seat: text(["", "/"]), RemoteHost: text("192.0.2.7"), State: text("active") },
      ...{ Timestamp: text(1_795_465_192_000_000), Leader: text(700) },
    },
  ];
  const rows = [
    ["3", 1000, "eve", "", "/s/3"],
    ["4", 1000, "eve", "", "/s/manager"],
    ["5", 7, "gone", "", "/s/gone"],
  ];
  if (argv.includes("ListSessions"))
    return Promise.resolve({ exitCode: 0, stdout: JSON.stringify({ data: [rows] }), stderr: "", truncated: false });
  const isGone = argv.includes("/s/gone");
  const data = session(argv.includes("/s/manager") ? "manager" : "user");
  return Promise.resolve({
    ...{ exitCode: isGone ? 1 : 0, stdout: JSON.stringify({ data }), stderr: "Unknown object", truncated: false },
  });
};
const silent: Exec = () =>
  Promise.resolve({ exitCode: 1, stdout: "", stderr: "Failed to connect to bus", truncated: false });

const session = {
  ...{ id: "3", user: "eve", uid: 1000, kind: "user", service: "sshd", tty: "pts/0", seat: "", leaderPid: 700 },
  ...{ remoteHost: "192.0.2.7", state: "active", since: 1_795_465_192_000 },
};

describe.each([
  ["fake", () => Object.assign(createFakeLogins(), { now: [session], past: { reason: "it is not there" } })],
  ["logind", () => createLogins({ exec: logind, paths })],
])("logins: %s", (_, make) => {
  it("are those of users, and say what there is no record of", async () => {
    const logins = make();
    expect(await logins.sessions(signal)).toEqual([session]);
    expect(await logins.recent(10, signal)).toMatchObject({ reason: expect.stringContaining("is not there") });
  });
});

it("says that logind does not answer, or that wtmpdb has the logins", async () => {
  const logins = createLogins({ exec: silent, paths });
  expect(await logins.sessions(signal)).toEqual({ reason: "logind does not answer: Failed to connect to bus" });
  writeFileSync(join(dir, "wtmp.db"), "");
  expect(await logins.recent(10, signal)).toMatchObject({ reason: expect.stringContaining("wtmpdb") });
  writeFileSync(join(dir, "wtmp"), "");
  expect(await logins.recent(10, signal)).toEqual([]);
});

it("waits for no pipe in the place of wtmp", async () => {
  const pipe = join(dir, "pipe");
  execFileSync("mkfifo", [pipe]);
  const logins = createLogins({ exec: silent, paths: { ...paths, wtmp: pipe } });
  const late = new Promise((resolve) => setTimeout(resolve, 5_000, "late"));
  const found = await Promise.race([logins.recent(10, signal), late]);
  // Lets go whoever waits to read from it.
  closeSync(openSync(pipe, constants.O_RDWR));
  expect(found).toEqual({ reason: expect.stringContaining("no regular file") });
});
