import { expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createSshServer } from "./index.ts";

const { signal } = new AbortController();

/** sshd as it is where a `Match` block depends on the connection: it tells its options for a whole connection alone. */
const sshd =
  (missing: (argv: readonly string[]) => string | undefined): Exec =>
  (argv) => {
    const name = missing(argv);
    const stderr =
      name === undefined ? "" : `'Match ${name}' in configuration but it is not in connection test specification.\n`;
    return Promise.resolve({ exitCode: name === undefined ? 0 : 255, stdout: "port 22\n", stderr, truncated: false });
  };

it("sshd is asked with a whole connection where a Match block depends on one", async () => {
  const asked: (readonly string[])[] = [];
  const exec: Exec = (argv, options) => {
    asked.push(argv);
    return sshd((words) => (words.includes("-C") ? undefined : "LocalPort"))(argv, options);
  };
  const server = createSshServer({ exec, path: process.execPath, isRoot: true });
  expect(await server.config(signal)).toEqual({ is: "valid", options: { port: "22" } });
  expect(asked.map((argv) => argv.slice(1))).toEqual([
    ["-T"],
    ["-T", "-C", "user=nobody,host=client.invalid,addr=192.0.2.1,laddr=192.0.2.2,lport=22"],
  ]);
});

it("the configuration of sshd is unknown, not refused, where even a whole connection does not tell it", async () => {
  const server = createSshServer({ exec: sshd(() => "RDomain"), path: process.execPath, isRoot: true });
  expect(await server.config(signal)).toMatchObject({
    is: "unknown",
    reason: expect.stringContaining("its configuration depends on the connection: 'Match RDomain'"),
  });
});
