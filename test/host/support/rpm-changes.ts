import { release as runningKernel } from "node:os";
import { describe, expect, it } from "vitest";
import type { PackagesChanged } from "#contract/package-changes.ts";
import type { RollbackReport } from "#contract/updates.ts";
import type { ChangeRequest, TransactionPlan } from "#domain/ports/packages.ts";
import { eventually } from "./eventually.ts";
import type { GoneOn } from "./package-work.ts";
import type { RpmRecipe } from "./rpm-host.ts";
import { holdUp, type RpmTree, release, waits } from "./rpm-tree.ts";
import type { Session } from "./session.ts";

export const changeRecipes: readonly RpmRecipe[] = [
  {
    name: "editor",
    version: "1.0",
    header: ["Requires: library", "Recommends: extra", "Provides: any-editor"],
  },
  { name: "rival", version: "1.0", header: ["Conflicts: steady"] },
  { name: "sticky", version: "1.0", scripts: { "%postun": waits } },
  { name: "kernel-core", version: "1.0", files: { [`/boot/vmlinuz-${runningKernel()}`]: "a kernel\n" } },
];

type Change = ChangeRequest["change"];

/** Tests of packages that come and go, with rpm and the package manager itself as the judges. */
export function testChanges(session: Pick<Session, "host" | "shell">, tree: RpmTree): void {
  const { shell } = session;
  const { root, verbs, install } = tree;
  const { work, result, commit, all } = verbs;

  const requestOf = (change: Change, names: readonly string[], removesOnlyNamed = false): ChangeRequest => ({
    change,
    names,
    removesOnlyNamed,
  });
  const plan = (change: Change, ...names: string[]): Promise<TransactionPlan> =>
    result({ verb: "planChange", request: requestOf(change, names) });
  const refusal = async (change: Change, ...names: string[]): Promise<string | undefined> =>
    (await work({ verb: "planChange", request: requestOf(change, names) })).error;
  const refusalOfNarrowed = async (change: Change, ...names: string[]): Promise<string | undefined> =>
    (await work({ verb: "planChange", request: requestOf(change, names, true) })).error;
  const carryOut = (change: Change, ...names: string[]): Promise<PackagesChanged> =>
    result({ verb: "change", id: "change", request: requestOf(change, names) });
  const rollBack = async ({ snapshot_id: snapshotId }: PackagesChanged): Promise<void> =>
    expect(await result<RollbackReport>({ verb: "rollback", id: "back", snapshotId })).toMatchObject({ success: true });
  const reported = ({ changes }: TransactionPlan): readonly string[] =>
    changes.map(({ name, from, to, isRequested }) => `${name} ${from} ${to}${isRequested ? " asked" : ""}`).sort();
  const marked = async (): Promise<readonly string[]> =>
    (await all()).map(({ name, version, isManual }) => `${name} ${version} ${isManual ? "manual" : "along"}`);
  const state = async () => ({
    marks: await all(),
    etc: await shell(`cd ${root}/etc && find . -type f -path '*/conf*' -exec sha256sum {} + | sort -k 2`),
  });
  const done = { success: true, error: null };
  const base = `release ${release}-1 manual`;

  describe("changes of packages", () => {
    it("install packages with what they need, each with its mark, and are undone by a rollback", async () => {
      await install("library=1.0");
      await tree.markAutomatic("library");
      const before = await state();
      expect(reported(await plan("install", "editor:noarch"))).toEqual(["editor null 1.0-1 asked", "extra null 1.0-1"]);
      const found = await carryOut("install", "editor", "library");
      expect(found).toMatchObject({ ...done, packages_changed: 3 });
      expect(await marked()).toEqual(["editor 1.0-1 manual", "extra 1.0-1 along", "library 2.0-1 manual", base]);
      expect(await plan("install", "editor", "library")).toEqual({ changes: [], downloadBytes: 0, diskBytes: 0 });
      await rollBack(found);
      expect(await state()).toEqual(before);
    });

    it("remove packages with what depends on them alone, and are undone by a rollback", async () => {
      await install("library=1.0", "extra=1.0");
      await tree.markAutomatic("library");
      await install("app=1.0", "editor=1.0");
      await session.host.writeFile(`${root}/etc/app/conf`, "mine\n");
      const before = await state();
      // What nothing needs any more stays, as on every other host.
      expect(reported(await plan("remove", "app", "editor"))).toEqual(["app 1.0-1 null", "editor 1.0-1 null"]);
      expect(await refusalOfNarrowed("remove", "library")).toMatch(
        /^UpdateRefused: app, editor would be removed as well, for which the key has no scope/,
      );
      const removed = await carryOut("remove", "library");
      expect(removed).toMatchObject({ ...done, packages_changed: 3 });
      expect(await marked()).toEqual(["extra 1.0-1 manual", base]);
      expect(await shell(`cat ${root}/etc/app/conf.rpmsave`)).toBe("mine\n");
      await rollBack(removed);
      expect((await state()).marks).toEqual(before.marks);
      expect(await shell(`cat ${root}/etc/app/conf`)).toBe("mine\n");

      const purged = await carryOut("purge", "app");
      expect(purged).toMatchObject({ ...done, packages_changed: 1 });
      expect(await shell(`ls -A ${root}/etc/app; cat ${root}/etc/editor/conf`)).toBe("setting\n");
      await rollBack(purged);
      expect((await state()).marks).toEqual(before.marks);
      expect(await shell(`cat ${root}/etc/app/conf`)).toBe("mine\n");
    });

    it("complete a purge that was killed in the middle", async () => {
      await install("steady=1.0", "sticky=1.0");
      for (const name of ["steady", "sticky"]) await session.host.writeFile(`${root}/etc/${name}/conf`, "mine\n");
      const purge = await plan("purge", "steady", "sticky");
      const letGo = await holdUp(session, root);
      const running = work({ verb: "commit", id: "killed", plan: purge });
      const saved = () => shell(`cd ${root}/etc && find . -name '*.rpmsave'`);
      await eventually(async () => expect(await saved()).toContain("sticky/conf.rpmsave"));
      await shell("systemctl kill --signal=KILL steward-packages-killed.service");
      await letGo();
      await running;
      const isDone = { isDone: true, reason: "" };
      expect(await result<GoneOn>({ verb: "goOn", id: "killed", plan: purge })).toMatchObject({
        repaired: isDone,
        committed: isDone,
        left: [],
        status: "pass",
      });
      expect([await marked(), await saved()]).toEqual([[base], ""]);
    });

    it("replace conflicting packages only where their removal is permitted", async () => {
      await install("steady=1.0");
      expect(reported(await plan("install", "rival"))).toEqual(["rival null 1.0-1 asked", "steady 1.0-1 null"]);
      expect(await refusalOfNarrowed("install", "rival")).toMatch(/^UpdateRefused: steady would be removed as well/);
      const before = await state();
      const found = await carryOut("install", "rival");
      expect(found).toMatchObject({ ...done, packages_changed: 2 });
      expect(await marked()).toEqual([base, "rival 1.0-1 manual"].sort());
      await rollBack(found);
      expect(await state()).toEqual(before);
    });

    it("are refused for unknown names, held packages, and packages that the host needs", async () => {
      await install("steady=1.0", "library=1.0", "app=1.0", "kernel-core=1.0");
      for (const name of ["nowhere", "any-editor", "steady-1.0"])
        expect(await refusal("install", "extra", name)).toMatch(`UpdateRefused: ${name} is not a package (a name that`);
      expect(await refusal("install", "hopeless")).toContain("nowhere-to-be-had");
      const isNeeded = { release: "it says which release", "kernel-core": "its kernel runs" };
      for (const [name, reason] of Object.entries(isNeeded))
        expect(await refusal("remove", "steady", name)).toMatch(
          `UpdateRefused: ${name} would be removed, which is refused: ${reason}`,
        );

      const removal = await plan("remove", "library");
      expect(removal.diskBytes).toBeLessThan(0);
      await work({ verb: "hold", names: ["app", "steady"], isHeld: true });
      for (const change of ["install", "remove"] as const)
        expect(await refusal(change, "steady")).toBe("UpdateRefused: steady is held at its version");
      expect(await refusal("remove", "library")).toMatch(/^UpdateRefused: .*app/);
      await work({ verb: "hold", names: ["app", "steady"], isHeld: false });

      await install("editor=1.0");
      expect(await work({ verb: "commit", id: "old", plan: removal })).toMatchObject({
        error: expect.stringMatching(/^UpdateRefused: what would be done has changed since it was planned/),
      });
      expect((await marked()).filter((line) => /^(app|library|editor) /.test(line))).toHaveLength(3);

      await shell(`rm -rf ${root}/${tree.lists[0]}`);
      expect(await refusal("install", "extra")).toBe(
        "UpdateRefused: there are no package lists: they must be refreshed first",
      );
      expect(await commit(await plan("remove", "steady"))).toEqual({ isDone: true, reason: "" });
    });
  });
}
