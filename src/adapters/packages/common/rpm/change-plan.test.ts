import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ChangeRequest, type PackageVersion, UpdateRefused } from "#domain/ports/packages.ts";
import type { PlainChange } from "../changes.ts";
import { createPlanChange } from "./change-plan.ts";
import { nevraOf } from "./names.ts";
import { type AdvisedRpm, NoLists } from "./offers.ts";

const { signal } = new AbortController();
const at = (name: string, version = "1.0-1", architecture = "noarch"): PackageVersion => ({
  name,
  version,
  architecture,
});
const step = (name: string, from: string | null, to: string | null, architecture = "noarch"): PlainChange => {
  return { name, architecture, from, to };
};
const state = {
  packages: [
    at("app"),
    at("lib", "1.0-1", "i686"),
    at("lib", "1.0-1", "x86_64"),
    at("kernel"),
    at("kernel", "2.0-1"),
    at("java-1.8.0"),
    at("pinned"),
  ],
  isHeld: ({ name }: PackageVersion) => name === "pinned",
  mark: "",
};

type Answer = readonly PlainChange[] | Error;

/** A manager that gives these answers, and says what it was asked. */
function manager(answers: { readonly install?: Answer; readonly erasing?: Answer; readonly remove?: Answer }) {
  const asked: string[] = [];
  const give = (answer: Answer = []) =>
    answer instanceof Error
      ? Promise.reject(answer)
      : Promise.resolve({ changes: answer, sizes: () => Promise.resolve({ downloadBytes: 1, diskBytes: 2 }) });
  const advised: readonly AdvisedRpm[] = [{ ...at("lib", "1.1-1", "x86_64"), advisory: "A-1" }];
  const planChange = createPlanChange({
    database: () => Promise.resolve(state),
    advised: () => Promise.resolve(advised),
    install(wanted, mayErase) {
      asked.push(`install ${wanted.map(({ name, architecture = "*" }) => `${name}/${architecture}`).join()}`);
      return give(mayErase ? answers.erasing : answers.install);
    },
    remove(packages) {
      asked.push(`remove ${packages.map(nevraOf).join()}`);
      return give(answers.remove);
    },
  });
  const plan = (change: ChangeRequest["change"], ...names: readonly string[]) =>
    planChange({ change, names, removesOnlyNamed: false }, signal);
  return { plan, asked };
}

describe("packages that are to be installed", () => {
  it("are requested, and their dependencies are not", async () => {
    const install = [step("editor", null, "1-1"), step("extra", null, "1-1"), step("lib", "1.0-1", "1.2-1", "x86_64")];
    const { plan, asked } = manager({ install });
    expect(await plan("install", "editor", "lib:x86_64", "editor")).toEqual({
      changes: [
        { ...step("editor", null, "1-1"), isSecurity: false, isRequested: true },
        { ...step("extra", null, "1-1"), isSecurity: false },
        { ...step("lib", "1.0-1", "1.2-1", "x86_64"), isSecurity: true, isRequested: true },
      ],
      downloadBytes: 1,
      diskBytes: 2,
    });
    expect(asked).toEqual(["install editor/*,lib/x86_64"]);
  });

  it("are not changed where they are installed already", async () => {
    expect((await manager({}).plan("install", "app", "lib", "lib:i686", "java-1.8.0")).changes).toEqual([]);
  });

  it("make space only where there is no other way, and only for themselves", async () => {
    const conflict = new UpdateRefused("rival conflicts with app");
    const erasing = [step("rival", null, "1-1"), step("app", "1.0-1", null)];
    const { plan, asked } = manager({ install: conflict, erasing });
    expect((await plan("install", "rival")).changes).toHaveLength(2);
    expect(asked).toHaveLength(2);
    // Neither by leaving out what was asked for, nor by taking it away.
    await expect(plan("install", "rival", "other")).rejects.toBe(conflict);
    await expect(plan("install", "rival", "app")).rejects.toBe(conflict);
    await expect(
      manager({ install: conflict, erasing: new UpdateRefused("no") }).plan("install", "rival"),
    ).rejects.toBe(conflict);
    await expect(manager({ install: conflict, erasing: new Error("broken") }).plan("install", "rival")).rejects.toThrow(
      "broken",
    );
  });

  it.each([
    "No match for argument: nowhere; Unable to find a match: nowhere",
    "Failed to resolve the transaction: No match for argument: nowhere",
    "Package 'nowhere' not found.",
  ])("are refused where they are not packages: %s", async (reason) => {
    const { plan, asked } = manager({ install: new UpdateRefused(reason), erasing: [] });
    await expect(plan("install", "nowhere")).rejects.toThrow(/^nowhere is not a package \(/);
    expect(asked).toHaveLength(1);
  });

  it("must be named, not what they provide nor a version of theirs", async () => {
    const { plan } = manager({ install: [step("editor", null, "1.0-1"), step("more", null, "1-1", "ppc64le")] });
    for (const name of ["any-editor", "editor-1.0"])
      await expect(plan("install", name)).rejects.toThrow(`${name} is not a package (`);
    await expect(plan("install", "more.ppc64le")).rejects.toThrow("follows a colon (more:ppc64le)");
    await expect(plan("install", "editor.i686")).rejects.toThrow("follows a colon (editor:i686)");
  });

  it("need lists", async () => {
    await expect(manager({ install: new NoLists("none") }).plan("install", "editor")).rejects.toThrow(
      "there are no package lists",
    );
  });
});

describe("packages that are to be removed", () => {
  it("go in all versions and architectures, or in one of these", async () => {
    const { plan, asked } = manager({ remove: [step("app", "1.0-1", null)] });
    expect(await plan("purge", "app")).toMatchObject({ isPurge: true, changes: [{ name: "app", isSecurity: false }] });
    expect(await plan("remove", "kernel", "lib:i686")).not.toHaveProperty("isPurge");
    expect(asked).toEqual(["remove app-1.0-1.noarch", "remove lib-1.0-1.i686,kernel-1.0-1.noarch,kernel-2.0-1.noarch"]);
  });

  it("must be there", async () => {
    const { plan, asked } = manager({});
    for (const name of ["absent", "app:x86_64", "java"])
      await expect(plan("remove", name)).rejects.toThrow(`${name} is not installed`);
    await expect(plan("remove", "app.noarch")).rejects.toThrow("follows a colon (app:noarch)");
    expect(asked).toEqual([]);
  });
});

describe("a held package", () => {
  it("is neither installed nor removed, by its name or with others", async () => {
    for (const change of ["install", "remove", "purge"] as const)
      await expect(manager({}).plan(change, "pinned")).rejects.toThrow("pinned is held at its version");
    await expect(manager({ remove: [step("pinned", "1.0-1", null)] }).plan("remove", "app")).rejects.toThrow(
      "pinned would have to be removed, and is held at its version",
    );
    await expect(manager({ install: [step("pinned", "1.0-1", "2-1")] }).plan("install", "app")).rejects.toThrow(
      "pinned would have to be 2-1, and is held",
    );
  });
});

describe("names", () => {
  it("are passed on only where rpm would take them for names", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (name) => {
        const { plan, asked } = manager({});
        await plan("install", name).catch((error: unknown) => expect(error).toBeInstanceOf(UpdateRefused));
        if (asked.length > 0) expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_.+-]*(?::\w+)?$/);
      }),
    );
    for (const name of ["-o", "a b", "a*", "@group", "/usr/bin/x", "a=1", "!app", "~app", "a:b:c", "a:*"])
      await expect(manager({}).plan("remove", name)).rejects.toThrow("is not a package name");
  });
});
