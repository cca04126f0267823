import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import type { SshServer } from "#domain/ports/network.ts";
import { createFakeSshServer } from "../fakes/ssh-server.ts";

/** sshd that answers this; that of a real host is asked in test/host. */
const answering =
  (stdout: string, exitCode = 0, stderr = ""): Exec =>
  () =>
    Promise.resolve({ exitCode, stdout, stderr, truncated: false });
const real = (exec: Exec, given: { readonly path?: string; readonly isRoot?: boolean } = {}) =>
  createSshServer({ exec, path: process.execPath, isRoot: true, ...given });

const { signal } = new AbortController();
const text = "port 22\npermitrootlogin without-password\nhostkey /etc/a\nhostkey /etc/b\n";
const options = { port: "22", permitrootlogin: "without-password", hostkey: "/etc/a\n/etc/b" };
const refusal = "/etc/ssh/sshd_config: line 3: Bad configuration option: Foo";
const onlyRoot = "only root may ask sshd for its configuration";

describe.each<[string, Record<"valid" | "refused" | "unknown" | "none", SshServer>]>([
  [
    "fake",
    {
      valid: createFakeSshServer({ is: "valid", options }),
      refused: createFakeSshServer({ is: "refused", message: refusal }),
      unknown: createFakeSshServer({ is: "unknown", reason: onlyRoot }),
      none: createFakeSshServer(),
    },
  ],
  [
    "sshd",
    {
      valid: real(answering(text)),
      refused: real(answering("", 255, `${refusal}\n/etc/ssh/sshd_config: terminating, 1 bad configuration options\n`)),
      unknown: real(answering(text), { isRoot: false }),
      none: real(answering(text), { path: "/nonexistent/sshd" }),
    },
  ],
])("SSH server: %s", (_, servers) => {
  it("tells its options", async () => {
    expect(await servers.valid.config(signal)).toEqual({ is: "valid", options });
  });

  it("reports why it would not start", async () => {
    expect(await servers.refused.config(signal)).toEqual({ is: "refused", message: refusal });
  });

  it("may not tell everybody", async () => {
    expect(await servers.unknown.config(signal)).toEqual({ is: "unknown", reason: onlyRoot });
  });

  it("may not be there", async () => {
    expect(await servers.none.config(signal)).toBeUndefined();
  });
});

describe("SSH server: sshd", () => {
  it("tells nothing before it has been started", async () => {
    const server = real(answering("", 255, "Missing privilege separation directory: /run/sshd\n"));
    expect(await server.config(signal)).toMatchObject({
      is: "unknown",
      reason: expect.stringContaining("has not been started"),
    });
  });

  it("is asked with a list of words", async () => {
    const asked: string[][] = [];
    const exec: Exec = (argv) => {
      asked.push([...argv]);
      return answering(text)(argv);
    };
    await real(exec).config(signal);
    expect(asked).toEqual([[process.execPath, "-T"]]);
  });
});
