import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { aptPaths } from "#adapters/packages/apt/arguments.ts";
import { createDatabase } from "#adapters/packages/apt/database.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { createFaults } from "#adapters/packages/apt/states.ts";
import { createFakeClock } from "../fakes/clock.ts";

const signal = new AbortController().signal;
const needsReboot = () => Promise.resolve(false);
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-packages-"));
  mkdirSync(join(root, "updates"));
});
afterEach(() => rmSync(root, { recursive: true }));

const stanza = (name: string, status: string, version = "1.0", architecture = "all"): string =>
  `Package: ${name}\nStatus: ${status}\nArchitecture: ${architecture}\nVersion: ${version}\n\n`;
const unmetText = ` needy : Depends: needed (>= 1.0) but it is not installable\n`;

/** Dpkg's files, and apt-get that says this; a real dpkg and apt are in test/host. */
function onFiles(status: string, updates: readonly string[] = [], unmet = "") {
  writeFileSync(join(root, "status"), status);
  for (const [at, update] of updates.entries()) writeFileSync(join(root, "updates", `000${at}`), update);
  writeFileSync(join(root, "updates", "tmp.i"), "#padding\n");
  const asked: string[] = [];
  const exec: Exec = (argv) => {
    asked.push(argv.join(" "));
    const text =
      unmet === "" ? "" : `The following packages have unmet dependencies:\n${unmet}E: Unmet dependencies.\n`;
    return Promise.resolve({ exitCode: unmet === "" ? 0 : 100, stdout: text, stderr: "", truncated: false });
  };
  const paths = {
    ...aptPaths,
    status: join(root, "status"),
    updates: join(root, "updates"),
    frontendLock: join(root, "lock-frontend"),
    databaseLock: join(root, "lock"),
  };
  const states = apt.open({ needsReboot, exec, clock: createFakeClock(), paths });
  return { states, asked, files: paths };
}

const well = stanza("dpkg", "install ok installed") + stanza("steady", "install ok installed");

/** What a real dpkg leaves is in test/host/packages.long.test.ts. */
describe("faults of packages", () => {
  it("are found for each architecture", async () => {
    const of = (architecture: string, name: string, status: string) => stanza(name, status, "1.0", architecture);
    const isInstalled = "install ok installed";
    const both = of("amd64", "dpkg", isInstalled) + of("amd64", "torn", isInstalled);
    const torn = of("i386", "torn", "install reinstreq half-installed");
    expect(await onFiles(both + torn).states.faults(signal)).toEqual({
      installed: 2,
      unfinished: [{ name: "torn:i386", version: "1.0", state: "half-installed", mustBeReinstalled: true }],
      isInterrupted: false,
      unmet: [],
      held: [],
      writer: undefined,
    });
  });
});

describe("apt, inspected for faults,", () => {
  it("is run once for an unchanged state, without locks and without writing", async () => {
    const { states, asked, files } = onFiles(well, [], unmetText);
    await states.faults(signal);
    await states.faults(signal);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/Debug::NoLocking=1 .*Dir::Cache::pkgcache= .*check$/);
    writeFileSync(files.status, well + stanza("more", "install ok installed"));
    expect(await states.faults(signal)).toMatchObject({ installed: 3 });
    expect(asked).toHaveLength(2);
  });

  it("does not run while dpkg has unmerged updates", async () => {
    const { states, asked } = onFiles(well, [stanza("slow", "install ok unpacked")], unmetText);
    expect(await states.faults(signal)).toMatchObject({ isInterrupted: true, unmet: [] });
    expect(asked).toEqual([]);
  });

  const withLocks = (isHeld: (lock: "frontend" | "database", naps: number, looks: number) => boolean) => {
    const { files } = onFiles(well + stanza("slow", "install ok unpacked"));
    let naps = 0;
    let looks = 0;
    const holder = (path: string) => {
      looks += 1;
      const lock = path === files.frontendLock ? "frontend" : "database";
      return Promise.resolve(isHeld(lock, naps, looks) ? { pid: 7, program: lock } : undefined);
    };
    const faults = createFaults({
      exec: () => Promise.resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false }),
      database: createDatabase(files),
      locks: { holder, program: () => Promise.resolve("apt") },
      paths: files,
      clock: {
        sleep() {
          naps += 1;
          return Promise.resolve();
        },
      },
    });
    return faults(signal);
  };

  it("is not reported as interrupted when dpkg begins while its files are read", async () => {
    expect(await withLocks((lock, _, looks) => lock === "database" && looks > 2)).toMatchObject({
      writer: { program: "database" },
    });
  });

  it("is inspected again between two runs of dpkg, but not for as long as the frontend lock is held", async () => {
    const next = await withLocks((lock, naps) => lock === "frontend" || naps > 1);
    expect(next).toMatchObject({ writer: { program: "database" } });
    const kept = await withLocks((lock) => lock === "frontend");
    expect(kept).toMatchObject({ writer: undefined, unfinished: [{ name: "slow" }] });
  });

  it("fails with apt's error when it cannot answer", async () => {
    const { files } = onFiles(well);
    const exec: Exec = () =>
      Promise.resolve({ exitCode: 100, stdout: "", stderr: "E: The package cache is corrupted\n", truncated: false });
    const states = apt.open({ needsReboot, exec, clock: createFakeClock(), paths: files });
    await expect(states.faults(signal)).rejects.toThrow("apt refuses to answer: The package cache is corrupted");
  });
});
