import { describe, expect, it } from "vitest";
import type { RollbackReport, UpdateApply } from "#contract/updates.ts";
import type { UpdateRequest } from "#domain/ports/packages.ts";
import type { StoredSnapshot } from "#domain/ports/snapshots.ts";
import { rpmFile, rpmRepository } from "./rpm-host.ts";
import { type RpmTree, release, relist } from "./rpm-tree.ts";
import type { Session } from "./session.ts";

const kept = "/root/old-packages";
const old = ["app", "dated", "hole", "library", "replaced", "steady"];

/** Tests of an update behind a snapshot of packages and of the way back, each done by a process of its own. */
export function testWayBack(session: Pick<Session, "host" | "shell">, tree: RpmTree): void {
  const { shell } = session;
  const { root, verbs, install, remove } = tree;
  const apply = (id: string, request: Partial<UpdateRequest>): Promise<UpdateApply> =>
    verbs.result({ verb: "apply", id, request });
  const rollBack = (id: string, snapshotId: string): Promise<RollbackReport> =>
    verbs.result({ verb: "rollback", id, snapshotId });

  /** What rpm knows, what is manual or held, and every file of the packages and the settings. */
  const state = async () => {
    const format = "%{NAME} %|EPOCH?{%{EPOCH}}:{none}| %{VERSION}-%{RELEASE}.%{ARCH}\\n";
    return {
      packages: (await shell(`rpm --root ${root} -qa --queryformat '${format}'`)).trim().split("\n").sort(),
      marks: await verbs.all(),
      files: await shell(
        `cd ${root} && find etc usr -path usr/lib/sysimage -prune -o -type f -exec sha256sum {} + | sort -k 2`,
      ),
    };
  };

  /** Leaves nobody the old versions. @returns how they come back. */
  const forgetOld = async (): Promise<() => Promise<unknown>> => {
    const files = [...old.map((name) => rpmFile(name, "1.0")), rpmFile("release", release)];
    const [directory = ""] = files[0]?.match(/^.*(?=\/)/) ?? [];
    await shell(`mkdir ${kept} && mv ${files.join(" ")} ${kept}`);
    await relist(session);
    await verbs.result({ verb: "refresh" });
    return async () => {
      await shell(`mv ${kept}/*.rpm ${directory} && rmdir ${kept}`);
      await relist(session);
    };
  };

  describe("an update behind a snapshot", () => {
    it("is undone to the very packages, settings and marks, and so is the rollback", async () => {
      const names = ["app=1.0", "library=1.0", "steady=1.0", "dated=1:1.0", "replaced=1.0", "hole=1.0", "lonely=1.0"];
      await install(...names);
      await session.host.writeFile(`${root}/etc/app/conf`, "mine\n");
      const before = await state();
      const done = await apply("update", { type: "all" });
      expect(done).toMatchObject({ success: true, error: null, packages_updated: 9, operation_id: "update" });
      const bringBack = await forgetOld();
      try {
        await remove("lonely", "steady");
        await install("needy=1.0");
        await session.host.writeFile(`${root}/etc/app/conf`, "later\n");
        // The first is of a package that goes back, the other one of nobody.
        const foreign = `${root}/etc/later/conf`;
        await session.host.writeFile(foreign, "later\n");
        const later = await state();
        expect(later.packages).toEqual(
          expect.arrayContaining(["app none 2.0-1.noarch", "dated 2 0.9-1.noarch", "successor none 2.0-1.noarch"]),
        );

        const back = await rollBack("back", done.snapshot_id);
        expect(back).toMatchObject({
          message: expect.stringMatching(`^returned to ${done.snapshot_id}; \\d files left alone`),
          success: true,
          snapshot_id: done.snapshot_id,
          packages_changed: 11,
        });
        expect(back.packages).toEqual(
          expect.arrayContaining([
            { name: "app", from: "2.0-1", to: "1.0-1" },
            { name: "lonely", from: null, to: "1.0-1" },
            { name: "needy", from: "1.0-1", to: null },
          ]),
        );
        expect(back.files_left).toContain(foreign);
        expect(await shell(`mv ${root}/etc/later /root && cat /root/later/conf`)).toBe("later\n");
        expect(await state()).toEqual(before);
        await shell(`mv /root/later ${root}/etc`);

        expect(await rollBack("forth", back.safety_snapshot_id)).toMatchObject({
          message: `returned to ${back.safety_snapshot_id}`,
          success: true,
          packages_changed: 11,
        });
        expect(await state()).toEqual(later);
      } finally {
        await bringBack();
      }
    });

    it("whose old files are not available is partial, which it reports, and keeps files for the next one", async () => {
      const [first, second, third] = ["1.0", "1.1", "1.2"].map((version) => rpmFile("hole", version));
      const offer = async (...moves: readonly string[]): Promise<void> => {
        await shell(moves.join(" && "));
        await relist(session);
        await verbs.result({ verb: "refresh" });
      };
      const lacks = async () =>
        (await verbs.result<readonly StoredSnapshot[]>({ verb: "snapshots" })).map((each) => each.lacks);
      const hole = async () => (await state()).packages.find((line) => line.startsWith("hole "));
      await install("hole=1.0", "steady=1.0");
      await shell(`mkdir ${kept}`);
      try {
        await offer(`mv ${first} ${third} ${kept}`);
        const names = ["hole", "steady"];
        expect(await verbs.result({ verb: "lacking", names })).toMatchObject([{ name: "hole", version: "1.0-1" }]);
        const before = await state();
        const demanding = { verb: "apply", id: "refused", request: { names }, requiresFull: true } as const;
        expect(await verbs.work(demanding)).toMatchObject({
          error: expect.stringMatching(/^DomainError: cannot take the snapshot: hole-1\.0-1.* nothing was changed$/),
        });
        expect(await state()).toEqual(before);
        expect(await lacks()).toEqual([]);

        const done = await apply("partial", { names });
        expect(done).toMatchObject({ success: true, error: null, packages_updated: 2 });
        expect(await lacks()).toEqual([["hole"]]);
        const back = { verb: "rollback", snapshotId: done.snapshot_id } as const;
        expect(await verbs.work({ ...back, id: "whole" })).toMatchObject({
          error: expect.stringContaining("not available: hole 1.0-1"),
        });
        expect(await hole()).toBe("hole none 1.1-1.noarch");
        expect(await verbs.result({ ...back, id: "part", partial: true })).toMatchObject({
          success: true,
          message: expect.stringContaining("not returned to, since their files are not available: hole 1.0-1"),
          packages: [{ name: "steady", from: "2.0-1", to: "1.0-1" }],
        });

        // The file that the update brought was kept, and is nowhere else any more.
        await offer(`mv ${second} ${kept}`, `mv ${kept}/hole-1.2* ${third}`);
        expect(await verbs.result({ verb: "lacking", names: ["hole"] })).toEqual([]);
        const next = await verbs.result<UpdateApply>({ ...demanding, id: "full", request: { names: ["hole"] } });
        expect(next).toMatchObject({ success: true, packages_updated: 1 });
        expect(await hole()).toBe("hole none 1.2-1.noarch");
        expect(await rollBack("back", next.snapshot_id)).toMatchObject({ success: true });
        expect(await hole()).toBe("hole none 1.1-1.noarch");
      } finally {
        await shell(`mv ${kept}/*.rpm ${rpmRepository}/noarch/ && rmdir ${kept}`);
        await relist(session);
      }
    });

    it("in which a script fails reports it, and is rolled back", async () => {
      await install("late=1.0", "steady=1.0");
      const before = await state();
      const done = await apply("update", { names: ["late", "steady"] });
      expect(done).toMatchObject({ success: false, error: expect.stringMatching(/^late: its .*I will not end/) });
      expect((await state()).packages).toContain("late none 2.0-1.noarch");
      expect(await rollBack("back", done.snapshot_id)).toMatchObject({ success: true });
      expect(await state()).toEqual(before);
      expect(await verbs.result({ verb: "audit" })).toEqual([]);
    });
  });
}
