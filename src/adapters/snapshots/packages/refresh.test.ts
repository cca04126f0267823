import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { createRefresh } from "./restore-tree.ts";

const { signal } = new AbortController();
const well = { exitCode: 0, stdout: "", stderr: "", truncated: false };

describe("a host whose files were restored", () => {
  let directory = "";
  const asked: string[][] = [];
  const selinux = () => join(directory, "enforce");
  const refresh = (paths: readonly string[], answer: () => ReturnType<Exec> = () => Promise.resolve(well)) =>
    createRefresh({
      exec(argv) {
        asked.push([...argv]);
        return answer();
      },
      selinux: selinux(),
    })(paths, signal);

  beforeEach(() => {
    asked.length = 0;
    directory = mkdtempSync(join(tmpdir(), "steward-selinux-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("sets no labels where SELinux is off", async () => {
    expect(await refresh(["hosts", "systemd/system/web.service"])).toEqual([]);
    expect(asked).toEqual([["/usr/bin/systemctl", "daemon-reload"]]);
  });

  it.each(["0", "1"])("labels just these files, by the policy, where SELinux is on (enforce: %s)", async (enforce) => {
    writeFileSync(selinux(), enforce);
    expect(await refresh(["-r", "shadow", "systemd/system/web.service"])).toEqual([]);
    expect(asked).toEqual([
      ["/usr/sbin/restorecon", "-F", "-i", "--", "/etc/-r", "/etc/shadow", "/etc/systemd/system/web.service"],
      ["/usr/bin/systemctl", "daemon-reload"],
    ]);
  });

  it("labels very many files in turns, each once", async () => {
    writeFileSync(selinux(), "1");
    const paths = Array.from({ length: 1201 }, (_, at) => `file-${at}`);
    expect(await refresh(paths)).toEqual([]);
    expect(asked.map(({ length }) => length - 4)).toEqual([500, 500, 201]);
    expect(asked.flatMap((argv) => argv.slice(4))).toEqual(paths.map((path) => `/etc/${path}`));
  });

  it("reports what failed, also a missing program, and continues", async () => {
    writeFileSync(selinux(), "1");
    const failing = () => Promise.resolve({ ...well, exitCode: 255, stderr: "no policy\n" });
    expect(await refresh(["ld.so.conf"], failing)).toEqual(["restorecon: no policy", "/usr/sbin/ldconfig: no policy"]);
    const missing = () => Promise.reject(new CommandFailed("cannot run it: ENOENT"));
    expect(await refresh(["ld.so.conf"], missing)).toEqual([
      "restorecon: cannot run it: ENOENT",
      "/usr/sbin/ldconfig: cannot run it: ENOENT",
    ]);
  });
});
