import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PackageVersion, TransactionUnseen, UpdateRefused } from "#domain/ports/packages.ts";
import { createPurge } from "./purge.ts";

const { signal } = new AbortController();
const done = { isDone: true, reason: "" };
const removal = (name: string) => ({ name, architecture: "noarch", from: "1.0-1", to: null });

describe("purging packages of rpm", () => {
  let root: string;
  let packages: PackageVersion[];
  const remove = (...names: readonly string[]) => {
    packages = packages.filter(({ name }) => !names.includes(name));
    return Promise.resolve(done);
  };
  const open = () =>
    createPurge(
      {
        database: () => Promise.resolve({ packages }),
        files: {
          configFiles: () =>
            Promise.resolve(
              new Map(
                packages.flatMap(({ name }) => [
                  [`${name}/conf`, name],
                  [`${name} $(x)`, name],
                ]),
              ),
            ),
        },
      },
      {
        root,
        stateDir: join(root, "state"),
        exec: () => Promise.reject(new Error("nothing is run")),
        clock: { monotonicMs: () => 0, sleep: () => Promise.resolve() },
        needsReboot: () => Promise.resolve(false),
      },
    );
  const left = async () => (await readdir(join(root, "etc"), { recursive: true })).filter((name) => name.includes("."));
  const noted = async () => (existsSync(join(root, "state")) ? readdir(join(root, "state/packages")) : []);

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "steward-purge-"));
    packages = ["app", "lib", "other"].map((name) => ({ name, architecture: "noarch", version: "1.0-1" }));
    for (const name of ["app", "lib", "other"]) {
      await mkdir(join(root, "etc", name), { recursive: true });
      for (const path of [`${name}/conf.rpmsave`, `${name} $(x).rpmnew`]) await writeFile(join(root, "etc", path), "");
    }
    await writeFile(join(root, "etc/app/conf.rpmsave.mine"), "");
  });
  afterEach(() => rm(root, { recursive: true }));

  it("removes what is left of removed packages, and nothing of others", async () => {
    const changes = [removal("app"), removal("lib")];
    expect(await open().around("one", changes, () => remove("app", "lib"), signal)).toEqual(done);
    expect((await left()).sort()).toEqual(["app/conf.rpmsave.mine", "other $(x).rpmnew", "other/conf.rpmsave"]);
    expect(await noted()).toEqual([]);
  });

  it("leaves what belongs to a package that could not be removed", async () => {
    const failed = { isDone: false, reason: "a script failed" };
    const changes = [removal("app"), removal("lib")];
    expect(await open().around("one", changes, async () => ({ ...(await remove("lib")), ...failed }), signal)).toEqual(
      failed,
    );
    expect(await left()).toContain("app/conf.rpmsave");
    expect(await left()).not.toContain("lib/conf.rpmsave");
  });

  it("is resumed by another process, and forgotten where nothing was changed", async () => {
    const unseen = new TransactionUnseen("systemd did not say");
    const started = open().around(
      "one",
      [removal("app")],
      () => remove("app").then(() => Promise.reject(unseen)),
      signal,
    );
    await expect(started).rejects.toBe(unseen);
    expect(await left()).toContain("app/conf.rpmsave");
    expect(await noted()).toEqual(["one.purge"]);
    expect(await open().finish("other", done, signal)).toEqual(done);
    expect(await open().finish("one", done, signal)).toEqual(done);
    expect(await left()).not.toContain("app/conf.rpmsave");
    expect(await noted()).toEqual([]);

    const refused = new UpdateRefused("it is not what was planned");
    await expect(open().around("two", [removal("lib")], () => Promise.reject(refused), signal)).rejects.toBe(refused);
    expect(await left()).toContain("lib/conf.rpmsave");
    expect(await noted()).toEqual([]);
  });

  it("reports what it could not remove", async () => {
    await rm(join(root, "etc/app/conf.rpmsave"));
    await mkdir(join(root, "etc/app/conf.rpmsave"));
    expect(await open().around("one", [removal("app")], () => remove("app"), signal)).toMatchObject({
      isDone: false,
      reason: expect.stringContaining("cannot remove configuration that is left: "),
    });
  });
});
