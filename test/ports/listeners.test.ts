import { describe, expect, it } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { createListeners } from "#adapters/systemd/listeners.ts";
import type { Listeners } from "#domain/ports/network-state.ts";
import { createFakeListeners } from "../fakes/listeners.ts";

const { signal } = new AbortController();
const printing =
  (stdout: string, exitCode = 0): Exec =>
  () =>
    Promise.resolve({ exitCode, stdout, stderr: "failed", truncated: false });
const missingExec: Exec = () =>
  Promise.reject(new CommandFailed("x", { cause: Object.assign(new Error("x"), { code: "ENOENT" }) }));
const table = [
  "tcp LISTEN 0 511 0.0.0.0:80 0.0.0.0:* cgroup:/system.slice/web.service/worker",
  "tcp LISTEN 0 511 0.0.0.0:80 0.0.0.0:* cgroup:/system.slice/web.service/worker",
  "udp UNCONN 0 0 [::1]:53 [::]:* cgroup:unreachable:2a",
  "tcp LISTEN 0 5 *:22 *:* cgroup:unreachable:ff",
  "tcp LISTEN 0 5 127.0.0.1:7 *:* cgroup:/user.slice/user-1000.slice/session-3.scope",
].join("\n");
const found = [
  { protocol: "tcp", address: "127.0.0.1", port: 7, unit: "session-3.scope" },
  { protocol: "tcp", address: "::", port: 22, unit: null },
  { protocol: "udp", address: "::1", port: 53, unit: "dns.service" },
  { protocol: "tcp", address: "0.0.0.0", port: 80, unit: "web.service" },
] as const;
const groups = () => new Map([["2a", "/system.slice/dns.service"]]);
const missing = createFakeListeners();
missing.isMissing = true;

describe.each<[string, Listeners, Listeners]>([
  ["fake", createFakeListeners(found), missing],
  ["ss", createListeners({ exec: printing(table), groups }), createListeners({ exec: missingExec })],
])("listening sockets: %s", (_, able, unable) => {
  it("have their units, by the port", async () => {
    expect(await able.list(signal)).toEqual(found);
  });

  it("are not listed without the program, which is said to be missing", async () => {
    await expect(unable.list(signal)).rejects.toMatchObject({ details: { missing: "ss", retryable: false } });
  });
});

it("listening sockets are not listed where ss fails", async () => {
  const failed = createListeners({ exec: printing("", 1) });
  await expect(failed.list(signal)).rejects.toMatchObject({ details: { missing: "ss", retryable: true } });
});
