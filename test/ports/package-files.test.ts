import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import type { PackageFiles, PresentPackage } from "#domain/ports/packages.ts";
import { PackageFileMissing } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakePackageFiles, presentPackage } from "../fakes/package-files.ts";

const { signal } = new AbortController();
const transaction = { id: "test-1", progress: { step: () => undefined, line: () => undefined } };
/** Small, and on every host with dpkg. */
const wantedName = "base-passwd";

const needsReboot = () => Promise.resolve(false);
const aptFiles = (ports: { readonly exec: Exec; readonly clock: Clock } = { exec, clock: systemClock }): PackageFiles =>
  apt.open({ ...ports, needsReboot }).files;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-package-files-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

async function found(files: PackageFiles): Promise<PresentPackage> {
  const one = (await files.present(signal)).find(({ name }) => name === wantedName);
  if (one === undefined) throw new Error(`${wantedName} is not there`);
  return one;
}

// Restoring is tried on a host of its own, in test/host/snapshots.long.test.ts.
describe.each([
  ["fake", true, () => createFakePackageFiles([presentPackage(wantedName, "3.6")])],
  ["apt", existsSync("/usr/bin/dpkg-deb"), () => aptFiles()],
] as const)("package files: %s", (_, isHere, make: () => PackageFiles) => {
  it.skipIf(!isHere)("are of packages that are present", async () => {
    const { architecture, version, state } = await found(make());
    expect([architecture, version, state]).toEqual([
      expect.stringMatching(/^[a-z0-9-]+$/),
      expect.stringMatching(/^\d/),
      "installed",
    ]);
  });

  it.skipIf(!isHere)("are fetched into a directory, and identified", async () => {
    const files = make();
    const wanted = await found(files);
    const { name } = await files.fetch(wanted, directory, signal);
    expect(name).toBe(files.fileName(wanted));
    const { architecture, version } = wanted;
    expect(await files.identify(join(directory, name), signal)).toEqual({ name: wantedName, architecture, version });
  });

  it.skipIf(!isHere)("are missing where that version is not available", async () => {
    const files = make();
    const other = { ...(await found(files)), version: "0.0.0-never" };
    await expect(files.fetch(other, directory, signal)).rejects.toThrow(PackageFileMissing);
    const bare = { ...(await found(files)), state: "configuration" as const };
    await expect(files.fetch(bare, directory, signal)).rejects.toThrow(PackageFileMissing);
  });

  it.skipIf(!isHere)("are not confused with other files", async () => {
    writeFileSync(join(directory, "other.deb"), "something else");
    await expect(make().identify(join(directory, "other.deb"), signal)).rejects.toThrow(
      "other.deb is not a package file",
    );
  });

  it.skipIf(!isHere)("are not installed again", async () => {
    const files = make();
    const nothing = { files: [], configuration: [], remove: [], marks: [] };
    expect(await files.restore(nothing, transaction, signal)).toEqual({ isDone: true, reason: "" });
  });
});

describe("package files: apt without a network", () => {
  const failing = (stderr: string) => {
    let downloads = 0;
    const run: Exec = (argv) => {
      if (argv.includes("download")) downloads += 1;
      return Promise.resolve({ exitCode: 100, stdout: "", stderr, truncated: false });
    };
    return { run, downloads: () => downloads };
  };
  const fetchTwice = async (run: Exec, waitMs = 0): Promise<void> => {
    const clock = createFakeClock();
    const files = aptFiles({ exec: run, clock });
    for (let at = 0; at < 2; at++) {
      const wanted = presentPackage("nowhere-to-be-had", "0.0.0-never");
      await expect(files.fetch(wanted, directory, signal)).rejects.toThrow(PackageFileMissing);
      await clock.advance(waitMs);
    }
  };

  it("asks repositories that do not answer once, and again after a while", async () => {
    const silent = failing("E: Failed to fetch http://example.org/x.deb  Could not resolve 'example.org'");
    await fetchTwice(silent.run);
    expect(silent.downloads()).toBe(1);
    await fetchTwice(silent.run, 11 * 60_000);
    expect(silent.downloads()).toBe(3);
  });

  it("asks repositories that do answer each time", async () => {
    const answering = failing("E: Version '0.0.0-never' for 'nowhere-to-be-had' was not found");
    await fetchTwice(answering.run);
    expect(answering.downloads()).toBe(2);
  });
});

describe.skipIf(!existsSync("/usr/bin/dpkg-deb"))("package files: apt", () => {
  it("refuses an invalid name of a transaction", async () => {
    const nothing = { files: [], configuration: [], remove: [], marks: [] };
    const files = aptFiles();
    const hostile = { ...transaction, id: "../x --y" };
    await expect(files.restore(nothing, hostile, signal)).rejects.toThrow("cannot use");
  });
});
