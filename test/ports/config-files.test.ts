import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createConfigFiles } from "#adapters/packages/config-files.ts";
import type { ConfigFiles } from "#domain/ports/packages.ts";
import { createFakeConfigFiles } from "../fakes/config-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-config-files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const never = new AbortController().signal;
const listOf = (names: readonly string[]) =>
  names.map((name) => ({ file: name.replace(/\.[^.]+$/, ""), offered: name, changedAt: 1 }));

/** Lays files of these names into a directory, or into the list of the fake. */
const made: Readonly<Record<string, (names: readonly string[]) => ConfigFiles>> = {
  fake(names) {
    const fake = createFakeConfigFiles();
    fake.list = listOf(names.map((name) => join(folder, name)));
    return fake;
  },
  real(names) {
    mkdirSync(join(folder, "app/deep"), { recursive: true });
    for (const name of names) writeFileSync(join(folder, name), "");
    return createConfigFiles(folder);
  },
};

describe.each(Object.entries(made))("configuration files: %s", (_, make) => {
  it("reports what every package manager lays beside a changed file", async () => {
    const names = ["app/a.conf.dpkg-dist", "b.rpmnew", "c.pacnew", "app/deep/d.ucf-dist"];
    const found = await make(names).offered(never);
    expect(found.map(({ offered }) => offered.slice(folder.length + 1)).sort()).toEqual(names.toSorted());
    expect(found.find(({ offered }) => offered.endsWith("dpkg-dist"))).toEqual({
      file: join(folder, "app/a.conf"),
      offered: join(folder, "app/a.conf.dpkg-dist"),
      changedAt: expect.any(Number),
    });
  });
});

describe("configuration files: real", () => {
  it("are nothing else, and nothing that a link leads to", async () => {
    mkdirSync(join(folder, "app"));
    for (const name of ["plain.conf", "app/e.dpkg-old", "f.rpmsave", "dpkg-dist"])
      writeFileSync(join(folder, name), "");
    mkdirSync(join(folder, "folder.rpmnew"));
    symlinkSync("/etc/hostname", join(folder, "link.rpmnew"));
    symlinkSync("..", join(folder, "app/around"));
    expect(await createConfigFiles(folder).offered(never)).toEqual([]);
  });

  it("are none where there is no such directory, and are not looked for any longer when that is not wanted", async () => {
    expect(await createConfigFiles(join(folder, "none")).offered(never)).toEqual([]);
    await expect(createConfigFiles(folder).offered(AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  });
});
