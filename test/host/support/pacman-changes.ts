import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PackagesChanged } from "#contract/package-changes.ts";
import type { RollbackReport } from "#contract/updates.ts";
import type { ChangeRequest, TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import type { packageVerbs } from "./package-work.ts";
import { hold, makePackages, offer, type PacmanRecipe, pacmanFile, pacmanRoot, pacmanWords } from "./pacman-host.ts";
import type { Session } from "./session.ts";

const tool: PacmanRecipe = { name: "tool", version: "1.0", depend: ["helper"], provides: ["instrument=1"] };
const helper: PacmanRecipe = { name: "helper", version: "1.0" };
const newer: PacmanRecipe = { name: "helper", version: "2.0" };
const strict: PacmanRecipe = { name: "strict", version: "1.0", depend: ["helper>=2"] };
const rival: PacmanRecipe = { name: "rival", version: "1.0", conflict: ["helper"] };
const sick: PacmanRecipe = {
  name: "sick",
  version: "1.0",
  install: "pre_remove() { echo I will not go; return 3; }\n",
};
const all = [tool, helper, rival, sick];

/** Tests of packages that come and go by themselves. */
export function testPacmanChanges(
  session: Session,
  { result, work, all: installedNow }: Pick<ReturnType<typeof packageVerbs>, "result" | "work" | "all">,
): void {
  const run = async (...words: readonly string[]) => (await session.host.exec([...pacmanWords, ...words])).stdout;
  const asked = (change: ChangeRequest["change"], ...names: readonly string[]) => {
    return { verb: "planChange", request: { change, names, removesOnlyNamed: false } } as const;
  };
  const plan = (change: ChangeRequest["change"], ...names: readonly string[]) =>
    result<TransactionPlan>(asked(change, ...names));
  const refusal = async (change: ChangeRequest["change"], ...names: readonly string[]) =>
    (await work(asked(change, ...names))).error?.replace(/^UpdateRefused: /, "");
  const commit = (wanted: TransactionPlan, id: string) =>
    result<TransactionResult>({ verb: "commit", id, plan: wanted });
  const reported = ({ changes }: TransactionPlan) =>
    changes.map(({ name, from, to, isRequested }) => `${name} ${from} ${to}${isRequested ? " asked" : ""}`).sort();
  const installed = async () =>
    (await installedNow()).map(({ name, version, isManual }) => `${name} ${version} ${isManual}`);
  const isDone = { isDone: true, reason: "" };

  describe("that installs and removes packages", () => {
    beforeAll(() => makePackages(session, [...all, newer, strict]));
    beforeEach(async () => {
      await offer(session, all);
      await run("--sync", "--refresh");
    });

    it("installs named packages with what they need, and removes packages with what needs them", async () => {
      const coming = await plan("install", "tool");
      expect(reported(coming)).toEqual(["helper null 1.0-1", "tool null 1.0-1 asked"]);
      expect(coming.downloadBytes).toBeGreaterThan(0);
      expect(coming.diskBytes).toBe(8192);
      expect(await commit(coming, "come")).toEqual(isDone);
      expect(await installed()).toEqual(["helper 1.0-1 false", "tool 1.0-1 true"]);
      expect(await plan("install", "tool")).toMatchObject({ changes: [] });
      await session.host.writeFile(`${pacmanRoot}/etc/tool/conf`, "mine\n");
      const going = await plan("remove", "helper");
      expect(reported(going)).toEqual(["helper 1.0-1 null", "tool 1.0-1 null"]);
      expect(going.diskBytes).toBe(-8192);
      expect(
        (
          await work({
            ...asked("remove", "helper"),
            request: { change: "remove", names: ["helper"], removesOnlyNamed: true },
          })
        ).error,
      ).toMatch(/^UpdateRefused: tool would be removed as well/);
      expect(await commit(going, "go")).toEqual(isDone);
      expect(await installed()).toEqual([]);
      expect(await session.shell(`cat ${pacmanRoot}/etc/tool/conf.pacsave`)).toBe("mine\n");
    });

    it("removes what was changed of configuration only when that is asked for", async () => {
      await run("--sync", "--", "helper");
      await session.host.writeFile(`${pacmanRoot}/etc/helper/conf`, "mine\n");
      const going = await plan("purge", "helper");
      expect(going.isPurge).toBe(true);
      expect(await commit(going, "purge")).toEqual(isDone);
      expect(await session.shell(`ls -A ${pacmanRoot}/etc/helper 2>/dev/null || echo gone`)).toBe("gone\n");
    });

    it("refuses unknown names, conflicts, holds, and lists that are newer than what is installed", async () => {
      await run("--sync", "--", "tool");
      expect(await refusal("install", "nowhere")).toBe("target not found: nowhere");
      for (const name of ["-y", "core/rival", "*"])
        expect(await refusal("install", name)).toBe(`${name} is not a package name`);
      expect(await refusal("install", "rival")).toBe("rival and helper are in conflict");
      expect(await refusal("remove", "rival")).toBe("rival is not installed");
      await hold(session, "IgnorePkg = helper");
      expect(await refusal("remove", "helper")).toBe("helper is held at its version");
      expect(await refusal("install", "helper")).toBe("helper is held at its version");
      await hold(session, "HoldPkg = hel*");
      expect(await refusal("remove", "helper")).toMatch(/HoldPkg/);
      await hold(session, "HoldPkg = none");
      // The lists are newer than what is installed.
      await offer(session, [tool, newer, strict, rival]);
      await run("--sync", "--refresh");
      expect(await refusal("install", "strict")).toMatch(
        /^helper would become 2\.0-1, and pacman's packages are updated all together or not at all/,
      );
      await run("--remove", "--", "tool", "helper");
      expect(await refusal("install", "instrument")).toMatch(/^instrument is not a package/);
      await session.shell(`rm ${pacmanRoot}/var/lib/pacman/sync/*`);
      await result({ verb: "refresh" });
      expect(await refusal("install", "tool")).toBe(
        "the host has no package lists: they come with an update of everything",
      );
      expect(await installed()).toEqual([]);
    });

    it("changes nothing when the plan is obsolete, or a file is gone, and reports a script that fails", async () => {
      const coming = await plan("install", "tool");
      await session.shell(`mv ${pacmanFile(helper)} /root/`);
      try {
        expect(await commit(coming, "gone")).toMatchObject({ isDone: false, reason: expect.stringMatching(/helper/) });
        expect(await installed()).toEqual([]);
      } finally {
        await session.shell(`mv /root/helper-1.0-1-any.pkg.tar.gz ${pacmanFile(helper)}`);
      }
      await run("--sync", "--", "tool", "sick");
      expect((await work({ verb: "commit", id: "late", plan: coming })).error).toMatch(
        /^UpdateRefused: what would be done has changed since it was planned/,
      );
      const { isDone: isGone, reason } = await commit(await plan("remove", "sick"), "sick");
      expect([isGone, reason]).toEqual([false, expect.stringMatching(/^sick: its script failed \(I will not go\)/)]);
      expect(await installed()).toEqual(["helper 1.0-1 false", "tool 1.0-1 true"]);
    });

    describe("behind a snapshot", () => {
      const carryOut = (change: ChangeRequest["change"], ...names: readonly string[]): Promise<PackagesChanged> =>
        result({ verb: "change", id: change, request: asked(change, ...names).request });
      const rollBack = async ({ snapshot_id: snapshotId }: PackagesChanged): Promise<void> =>
        expect(await result<RollbackReport>({ verb: "rollback", id: "back", snapshotId })).toMatchObject({
          success: true,
        });
      const state = async () => ({
        packages: await installedNow(),
        files: await session.shell(`cd ${pacmanRoot} && find etc usr/share -type f -exec sha256sum {} + | sort -k 2`),
      });

      it("is rolled back to what was there, with its marks and its configuration", async () => {
        await run("--sync", "--asdeps", "--", "sick");
        const nothing = await state();
        const come = await carryOut("install", "tool");
        expect(come).toMatchObject({ success: true, error: null, packages_changed: 2 });
        await session.host.writeFile(`${pacmanRoot}/etc/tool/conf`, "mine\n");
        const there = await state();
        for (const change of ["remove", "purge"] as const) {
          const gone = await carryOut(change, "helper");
          expect(gone).toMatchObject({ success: true, error: null, packages_changed: 2 });
          expect(await installed()).toEqual(["sick 1.0-1 false"]);
          await rollBack(gone);
          expect((await state()).packages).toEqual(there.packages);
          expect(await session.shell(`cat ${pacmanRoot}/etc/tool/conf`)).toBe("mine\n");
        }
        await rollBack(come);
        expect((await state()).packages).toEqual(nothing.packages);
      });
    });
  });
}
