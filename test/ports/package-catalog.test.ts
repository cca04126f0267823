import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import { createFakePackageCatalog, fakeListed, fakeLogged } from "../fakes/package-catalog.ts";
import { fakePackage } from "../fakes/package-manager.ts";

const { signal } = new AbortController();

function fake(): PackageCatalog {
  const catalog = createFakePackageCatalog(() => [fakePackage("dpkg", "1.0")]);
  const requiring = [{ name: "dash", relation: "pre_depends", isAlternative: false }] as const;
  catalog.listed.set("dpkg", fakeListed("dpkg", { summary: "Debian package management system", requiring }));
  catalog.listed.set("apt", fakeListed("apt"));
  catalog.logged = [fakeLogged("apt")];
  return catalog;
}

const openApt = (): PackageCatalog =>
  apt.open({ exec, clock: systemClock, needsReboot: () => Promise.resolve(false) }).catalog ?? fake();

const hasApt = existsSync("/usr/bin/apt-get") && existsSync("/var/lib/dpkg/status");

describe.each<readonly [string, () => PackageCatalog, boolean]>([
  ["fake", fake, true],
  ["apt", openApt, hasApt],
])("a catalog of packages: %s", (name, make, isThere) => {
  describe.skipIf(!isThere)("that is asked", () => {
    let catalog: PackageCatalog;
    beforeAll(() => {
      catalog = make();
    });

    it("finds packages by words of name and description in any case", async () => {
      const found = await catalog.search(["DPKG", "management"], signal);
      const at = found.names.indexOf("dpkg");
      expect(found.read(at)).toMatchObject({ name: "dpkg", summary: expect.stringMatching(/package/i) });
      expect(new Set(found.names).size).toBe(found.names.length);
      const none = await catalog.search(["no such package anywhere"], signal);
      expect(none.names).toEqual([]);
      // Nothing has changed meanwhile.
      expect([found.version, none.version]).toEqual([expect.any(String), found.version]);
      expect((await catalog.search([], signal)).names.length).toBeGreaterThanOrEqual(found.names.length);
    });

    it.runIf(name === "apt")("finds what apt-cache finds", async () => {
      // Most of what has the first word only provides it.
      const words = ["mail-transport-agent", "Server"];
      const { stdout } = await exec(["/usr/bin/apt-cache", "search", "--", ...words], { timeoutMs: 120_000 });
      const its = stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.slice(0, line.indexOf(" - "))]));
      expect([...(await catalog.search(words, signal)).names].sort()).toEqual(its.sort());
    });

    it.runIf(name === "apt")("shows a package by the native architecture and by all of them, as apt does", async () => {
      const { stdout } = await exec(["/usr/bin/dpkg", "--print-architecture"]);
      // The first is of all architectures, the other of one.
      for (const each of ["debconf", "dpkg"])
        for (const architecture of ["all", stdout.trim()])
          expect((await catalog.show(`${each}:${architecture}`, signal))?.installed?.state).toBe("installed");
    });

    it("shows a package, and no unknown one", async () => {
      expect(await catalog.show("dpkg", signal)).toMatchObject({
        name: "dpkg",
        installed: { isManual: expect.any(Boolean), state: "installed" },
        versions: expect.arrayContaining([expect.objectContaining({ origins: expect.any(Array) })]),
      });
      for (const none of ["no-such-package-anywhere", "--help", "", "a b"])
        expect([none, await catalog.show(none, signal)]).toEqual([none, undefined]);
    });

    it("has what requires a package, and its files", async () => {
      expect((await catalog.requiring("dpkg", signal)).map((each) => each.name)).toContain("dash");
      const files = (await catalog.filesOf("dpkg", signal)) ?? [];
      expect(files).toContain("/usr/bin/dpkg");
      expect(await catalog.filesOf("../../../etc/passwd", signal)).toBeUndefined();
    });

    it("lists history entries, newest first", async () => {
      const times: number[] = [];
      for await (const { startedAt } of catalog.history(signal)) times.push(startedAt);
      expect(times).toEqual(times.toSorted((a, b) => b - a));
    });
  });
});
