import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RollbackReport, UpdateApply } from "#contract/updates.ts";
import type { AvailableUpdates, InstalledPackage, TransactionResult } from "#domain/ports/packages.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { packageVerbs } from "./support/package-work.ts";
import { testPacmanCatalog } from "./support/pacman-catalog.ts";
import { testPacmanChanges } from "./support/pacman-changes.ts";
import type { PacmanRecipe } from "./support/pacman-host.ts";
import {
  hold,
  makePackages,
  makePacmanRoot,
  offer,
  pacmanAdapter,
  pacmanCommand,
  pacmanFile,
  pacmanRepository,
  pacmanRoot,
  pacmanWords,
} from "./support/pacman-host.ts";
import { describeOnHost } from "./support/session.ts";

/** A script that continues for as long as a file is there; what is killed meanwhile is in the middle. */
const waits = "post_upgrade() { while [ -e /tmp/wait ]; do sleep 0.2; done; }\n";

const old = {
  app: { name: "app", version: "1.0", depend: ["library"] },
  library: { name: "library", version: "1.0" },
  steady: { name: "steady", version: "1.0" },
  replaced: { name: "replaced", version: "1.0" },
  late: { name: "late", version: "1.0" },
  slow: { name: "slow", version: "1.0" },
  clash: { name: "clash", version: "1.0" },
  need: { name: "need", version: "1.0" },
  tardy: { name: "tardy", version: "1.0", install: waits },
} satisfies Record<string, PacmanRecipe>;
const extra: PacmanRecipe = { name: "extra", version: "1.0" };
const fresh = {
  app: { name: "app", version: "2.0", depend: ["library>=2", "extra"] },
  library: { name: "library", version: "2.0" },
  steady: { name: "steady", version: "2.0" },
  successor: {
    name: "successor",
    version: "2.0",
    replaces: ["replaced"],
    conflict: ["replaced"],
    provides: ["replaced=2.0"],
  },
  late: { name: "late", version: "2.0", install: "post_upgrade() { echo I will not end; return 3; }\n" },
  slow: { name: "slow", version: "2.0", install: waits },
  clash: { name: "clash", version: "2.0", conflict: ["steady"] },
  tardy: { name: "tardy", version: "2.0" },
  need: { name: "need", version: "2.0", depend: ["nowhere-to-be-had"] },
} satisfies Record<string, PacmanRecipe>;

/** What systemd writes, pacman's cache and log, and the service's own lists. */
const books = [
  /^\/var\/log\/journal\//,
  /^\/(?:var\/)?tmp\/systemd-private-/,
  /^\/srv\/pacmanhost\/var\/(?:log|cache)(?:\/|$)/,
];

describeOnHost("pacman as the package manager of updates", (session) => {
  const { work, result, simulate, refusal, commit, all, ...verbs } = packageVerbs(session, pacmanAdapter);
  const check = () => verbs.check("pacman_status");
  const installed = async (): Promise<Readonly<Record<string, string>>> =>
    Object.fromEntries((await all()).map(({ name, version }) => [name, version]));
  const lock = `${pacmanRoot}/var/lib/pacman/db.lck`;
  const list = `${pacmanRoot}/var/lib/pacman/sync/core.db`;
  const hashOf = (path: string): Promise<string> => session.shell(`sha256sum < ${path}`);

  /** The tree has the old packages, and the service knows of the new ones. */
  const begin = async (names: readonly (keyof typeof old)[], offered: readonly PacmanRecipe[]): Promise<void> => {
    await offer(session, [...Object.values(old), extra]);
    await session.host.exec([...pacmanWords, "--sync", "--refresh", "--", ...names]);
    await offer(session, [...offered, extra]);
    await result({ verb: "refresh" });
  };

  beforeAll(() => makePackages(session, [...Object.values(old), ...Object.values(fresh), extra]));
  beforeEach(async () => {
    await session.shell(`rm -rf ${pacmanRoot}`);
    await makePacmanRoot(session);
  });

  it("reports what could be updated, and leaves the host's lists alone", async () => {
    await begin(["app", "steady"], [fresh.app, fresh.library, fresh.steady]);
    const before = await fileTree(session);
    const hash = await hashOf(list);
    await result({ verb: "refresh" });
    const { updates, held, listsAt } = await result<AvailableUpdates>({ verb: "updates" });
    expect(updates.map(({ name, from, to }) => `${name} ${from} ${to}`).sort()).toEqual([
      "app 1.0-1 2.0-1",
      "library 1.0-1 2.0-1",
      "steady 1.0-1 2.0-1",
    ]);
    expect(held).toEqual([]);
    expect(Number.isSafeInteger(listsAt)).toBe(true);
    expect(await result({ verb: "release" })).toBeNull();
    const found = await result<readonly InstalledPackage[]>({ verb: "installed" });
    expect(found.map(({ name, isManual }) => `${name} ${isManual}`)).toEqual([
      "app true",
      "library false",
      "steady true",
    ]);
    await simulate();
    await result({ verb: "audit" });
    expect(await check()).toMatchObject({ status: "pass", message: "3 packages installed, all in order" });
    expect(await result({ verb: "check", id: "security_updates" })).toMatchObject({ status: "skip" });
    expect(await hashOf(list)).toBe(hash);
    expect(await result({ verb: "countAgain" })).toBe(0);
    const changes = changesSince(before, await fileTree(session), { ignore: books });
    expect(changes).toEqual({ added: [], removed: [], changed: [] });
  });

  it("reports missing lists, and a repository that is gone", async () => {
    expect(await result({ verb: "updates" })).toEqual({ updates: [], held: [], listsAt: null });
    expect(await refusal()).toBe("UpdateRefused: there are no package lists: they must be refreshed first");
    await session.shell(`mv ${pacmanRepository} ${pacmanRepository}.gone`);
    try {
      expect((await work({ verb: "refresh" })).error).toContain("failed retrieving file 'core.db'");
      expect(await result({ verb: "updates" })).toMatchObject({ listsAt: null });
    } finally {
      await session.shell(`mv ${pacmanRepository}.gone ${pacmanRepository}`);
    }
  });

  it("does exactly what was planned, and keeps marks and changed settings", async () => {
    await begin(["app", "replaced"], [fresh.app, fresh.library, fresh.successor]);
    await session.host.exec([...pacmanWords, "--database", "--asdeps", "app"]);
    await session.host.writeFile(`${pacmanRoot}/etc/app/conf`, "mine\n");
    const plan = await simulate();
    expect(plan.changes.map(({ name, from, to }) => `${name} ${from} ${to}`).sort()).toEqual([
      "app 1.0-1 2.0-1",
      "extra null 1.0-1",
      "library 1.0-1 2.0-1",
      "replaced 1.0-1 null",
      "successor null 2.0-1",
    ]);
    expect(plan.downloadBytes).toBeGreaterThan(0);
    const { result: done, lines, steps } = await work<TransactionResult>({ verb: "commit", id: "all", plan });
    expect(done).toEqual({ isDone: true, reason: "" });
    expect(lines).toContain("upgrading app...");
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
    const found = await result<readonly InstalledPackage[]>({ verb: "installed" });
    expect(found.map(({ name, version, isManual }) => `${name} ${version} ${isManual}`)).toEqual([
      "app 2.0-1 false",
      "extra 1.0-1 false",
      "library 2.0-1 false",
      "successor 2.0-1 true",
    ]);
    expect(await session.shell(`cat ${pacmanRoot}/etc/app/conf ${pacmanRoot}/etc/app/conf.pacnew`)).toBe(
      "mine\nsetting 2.0\n",
    );
    expect(await hashOf(list)).toBe(await hashOf(`${pacmanRepository}/core.db`));
    expect(await simulate()).toEqual({ changes: [], downloadBytes: 0, diskBytes: 0 });
    expect(await result({ verb: "audit" })).toEqual([]);
  });

  it("updates all or nothing", async () => {
    await begin(["app", "steady", "replaced"], [fresh.app, fresh.library, fresh.steady]);
    expect(await refusal({ names: ["steady"] })).toBe(
      "UpdateRefused: pacman's packages are updated all together or not at all, and library, app would stay behind: name all of them, or none",
    );
    const all = await simulate({ names: ["steady", "app", "library"] });
    expect(all).toEqual(await simulate());
    expect(await simulate({ names: ["replaced"] })).toMatchObject({ changes: [] });
    for (const name of ["nowhere", "*", "--help", "core/app"])
      expect(await refusal({ names: [name] })).toBe(`UpdateRefused: ${name} is not installed`);
    expect(await refusal({ isSecurityOnly: true })).toBe(
      "UpdateRefused: pacman does not distinguish security updates from others",
    );
    await offer(session, [fresh.successor]);
    await result({ verb: "refresh" });
    expect(await refusal({ type: "packages" })).toContain("pacman would remove replaced");
  });

  it("leaves what is held", async () => {
    await begin(["steady", "library"], [fresh.steady, fresh.library]);
    await hold(session, "IgnorePkg = other ste*");
    expect(await result({ verb: "updates" })).toMatchObject({ updates: [{ name: "library" }], held: ["steady"] });
    expect(await refusal({ names: ["steady"] })).toBe("UpdateRefused: steady is held at its version");
    expect(await check()).toMatchObject({ status: "warn", message: expect.stringContaining("steady") });
    expect(await commit(await simulate())).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual({ library: "2.0-1", steady: "1.0-1" });
  });

  it("reports a script that fails, although the package counts as installed", async () => {
    await begin(["late"], [fresh.late]);
    const { isDone, reason } = await commit(await simulate());
    expect(isDone).toBe(false);
    expect(reason).toMatch(/^late: its script failed \(I will not end\)/);
    expect(await installed()).toEqual({ late: "2.0-1" });
  });

  it("refuses what cannot be solved", async () => {
    await begin(["need"], [fresh.need]);
    expect(await refusal()).toMatch(/^UpdateRefused: .*nowhere-to-be-had/);
  });

  it("refuses a plan that is no longer what would be done", async () => {
    await begin(["app", "steady"], [fresh.app, fresh.library, fresh.steady]);
    const plan = await simulate();
    const short = { ...plan, changes: plan.changes.filter(({ name }) => name !== "steady") };
    expect((await work({ verb: "commit", id: "short", plan: short })).error).toMatch(
      /^UpdateRefused: .*planned \(now steady 2\.0-1\)$/,
    );
    expect(await installed()).toEqual({ app: "1.0-1", library: "1.0-1", steady: "1.0-1" });
  });

  it.each([
    ["a package is gone", "mv {} /root/"],
    ["a package is damaged", "cp {} /root/ && echo more >> {}"],
    [
      "a file is in the way",
      `mkdir -p ${pacmanRoot}/usr/share/extra && touch ${pacmanRoot}/usr/share/extra/version && cp {} /root/`,
    ],
  ])("changes nothing, not even the host's lists, when %s", async (_what, spoil) => {
    await begin(["app"], [fresh.app, fresh.library]);
    const plan = await simulate();
    const hash = await hashOf(list);
    const file = pacmanFile(fresh.library);
    await session.shell(spoil.replaceAll("{}", file));
    try {
      expect(await commit(plan)).toMatchObject({
        isDone: false,
        reason: expect.stringMatching(/failed retrieving file 'library|exists in filesystem/),
      });
      expect(await installed()).toEqual({ app: "1.0-1", library: "1.0-1" });
      expect(await hashOf(list)).toBe(hash);
      expect(await result({ verb: "updates" })).toMatchObject({ updates: [{ name: "app" }, { name: "library" }] });
    } finally {
      await session.shell(`mv /root/${file.replace(/^.*\//, "")} ${file}`);
    }
  });

  it("does not remove what only conflicts", async () => {
    await begin(["steady", "clash"], [fresh.clash, fresh.steady]);
    expect(await commit(await simulate())).toMatchObject({
      isDone: false,
      reason: expect.stringContaining("are in conflict"),
    });
    expect(await installed()).toEqual({ clash: "1.0-1", steady: "1.0-1" });
  });

  it("waits for a running pacman, and names a lock that no process holds", async () => {
    await begin(["slow", "steady"], [fresh.slow, fresh.steady]);
    await session.host.writeFile(`${pacmanRoot}/tmp/wait`, "");
    const plan = await simulate();
    const words = [...pacmanWords, "--sync", "--refresh", "slow"];
    await session.shell(`systemd-run --quiet --collect --unit=administrator ${words.join(" ")}`);
    await eventually(async () => expect(await installed()).toMatchObject({ slow: "2.0-1" }));
    expect(await check()).toMatchObject({
      status: "pass",
      message: expect.stringMatching(/^pacman \(process \d+\) is changing packages right now$/),
    });
    const now = await simulate();
    expect(now.changes.map(({ name }) => name)).toEqual(["steady"]);
    expect((await work({ verb: "commit", id: "locked", plan: now })).error).toMatch(
      /^PackagesLocked: pacman \(process \d+\) holds the lock/,
    );
    expect((await work({ verb: "commit", id: "outdated", plan })).error).toMatch(/^UpdateRefused: /);
    await session.shell("systemctl kill --signal=KILL administrator.service");
    await eventually(async () => expect(await check()).toMatchObject({ status: "fail" }));
    expect(await result({ verb: "audit" })).toEqual([expect.stringContaining(`${lock} is left of a pacman`)]);
    expect(await result({ verb: "repair", id: "one" })).toMatchObject({ isDone: false });
    expect((await work({ verb: "finish" })).error).toContain("it must be repaired by hand");
    expect((await work({ verb: "commit", id: "left", plan: now })).error).toMatch(
      /^PackagesLocked: .* nobody holds it: see what it was doing, then remove that file$/,
    );
    await session.shell(`test -e ${lock} && rm -f ${lock}`);
    expect(await check()).toMatchObject({ status: "pass" });
    expect(await commit(now)).toEqual({ isDone: true, reason: "" });
  });

  it("waits for an administrator, and then uses the lists that were fetched", async () => {
    await begin(["slow", "steady"], [old.slow, fresh.steady]);
    const plan = await simulate();
    await offer(session, [fresh.slow, fresh.steady]);
    await session.host.writeFile(`${pacmanRoot}/tmp/wait`, "");
    const words = [...pacmanWords, "--sync", "--refresh", "slow"];
    await session.shell(`systemd-run --quiet --collect --unit=meanwhile ${words.join(" ")}`);
    await eventually(async () => expect(await installed()).toMatchObject({ slow: "2.0-1" }));
    const running = work({ verb: "commit", id: "meanwhile", plan });
    await session.shell(`rm ${pacmanRoot}/tmp/wait`);
    expect((await running).result).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual({ slow: "2.0-1", steady: "2.0-1" });
    expect(await hashOf(list)).toBe(await hashOf(`${pacmanRepository}/core.db`));
  });

  it("replaces a package although nothing else is new", async () => {
    await begin(["replaced"], [fresh.successor]);
    expect(await commit(await simulate())).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual({ successor: "2.0-1" });
  });

  it("is not hindered by a lock that is left in the service's own lists", async () => {
    await begin(["steady"], [fresh.steady]);
    await session.shell(`touch ${pacmanRoot}/var/cache/steward-pacman/db.lck`);
    await result({ verb: "refresh" });
    expect(await commit(await simulate())).toEqual({ isDone: true, reason: "" });
  });

  it("reports that it was killed, and the rest can be done once the lock was inspected", async () => {
    await begin(["slow", "steady"], [fresh.slow, fresh.steady]);
    await session.host.writeFile(`${pacmanRoot}/tmp/wait`, "");
    const running = work<TransactionResult>({ verb: "commit", id: "killed", plan: await simulate() });
    await eventually(async () => expect(await installed()).toMatchObject({ slow: "2.0-1" }));
    await session.shell("systemctl kill --signal=KILL steward-packages-killed.service");
    expect((await running).result).toEqual({ isDone: false, reason: "it was ended by SIGKILL" });
    await result({ verb: "settle", id: "killed" });
    expect(await result({ verb: "repair", id: "killed" })).toEqual({
      isDone: false,
      reason: `${lock} is left of a pacman that was stopped in the middle of its work`,
    });
    // Packages were changed: the lists that fit to them stay.
    expect(await hashOf(list)).toBe(await hashOf(`${pacmanRepository}/core.db`));
    await session.shell(`test -e ${lock} && rm -f ${lock} ${pacmanRoot}/tmp/wait`);
    expect(await commit(await simulate(), "rest")).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual({ slow: "2.0-1", steady: "2.0-1" });
  });

  it("continues when the process that waits for it is killed", async () => {
    await begin(["slow"], [fresh.slow]);
    await session.host.writeFile(`${pacmanRoot}/tmp/wait`, "");
    const argv = pacmanCommand({ verb: "commit", id: "lost", plan: await simulate() });
    await session.shell(`systemd-run --quiet --collect --unit=caller ${argv.map((word) => `'${word}'`).join(" ")}`);
    await eventually(async () => expect(await installed()).toMatchObject({ slow: "2.0-1" }));
    await session.host.exec(["systemctl", "kill", "--signal=KILL", "caller.service"]);
    await session.shell("systemctl is-active steward-packages-lost.service");
    const settled = result({ verb: "settle", id: "lost" });
    await session.shell(`rm ${pacmanRoot}/tmp/wait`);
    await settled;
    expect(await result({ verb: "audit" })).toEqual([]);
    expect(await check()).toMatchObject({ status: "pass" });
  });

  it("reports incomplete entries and what is missing", async () => {
    await begin(["app"], [fresh.app, fresh.library]);
    await session.host.exec([...pacmanWords, "--remove", "--nodeps", "--nodeps", "library"]);
    expect(await check()).toMatchObject({ status: "fail", message: expect.stringContaining("app (library)") });
    expect(await result({ verb: "planMissing" })).toMatchObject({
      changes: [],
      obstacle: expect.stringContaining("only together with an update of everything"),
    });
    await session.shell(`rm ${pacmanRoot}/var/lib/pacman/local/app-1.0-1/desc`);
    expect(await check()).toMatchObject({ status: "fail", message: expect.stringMatching(/^app was only partly/) });
    expect(await result({ verb: "audit" })).toEqual(["app 1.0-1 is only partly installed"]);
  });

  describe("an update behind a snapshot", () => {
    const apply = (id: string): Promise<UpdateApply> => result({ verb: "apply", id, request: {} });
    const rollBack = (id: string, snapshotId: string): Promise<RollbackReport> =>
      result({ verb: "rollback", id, snapshotId });
    /** What is installed, who asked for it, and every file of the packages and the settings. */
    const state = async () => ({
      packages: await all(),
      files: await session.shell(`cd ${pacmanRoot} && find etc usr/share -type f -exec sha256sum {} + | sort -k 2`),
    });

    it("is undone to the very packages, settings and marks, and so is the rollback", async () => {
      await begin(["app", "replaced", "steady"], [fresh.app, fresh.library, fresh.successor, fresh.steady]);
      await session.host.exec([...pacmanWords, "--database", "--asdeps", "steady"]);
      await session.host.writeFile(`${pacmanRoot}/etc/app/conf`, "mine\n");
      const before = await state();
      const done = await apply("update");
      expect(done).toMatchObject({ success: true, error: null, packages_updated: 6 });
      await session.host.exec([...pacmanWords, "--database", "--asdeps", "app"]);
      await session.host.writeFile(`${pacmanRoot}/etc/app/conf`, "later\n");
      const later = await state();
      expect(later.packages).toMatchObject([
        { name: "app", version: "2.0-1", isManual: false },
        { name: "extra" },
        { name: "library", version: "2.0-1" },
        { name: "steady", version: "2.0-1" },
        { name: "successor", version: "2.0-1" },
      ]);

      const back = await rollBack("back", done.snapshot_id);
      expect(back).toMatchObject({ message: `returned to ${done.snapshot_id}`, success: true, packages_changed: 6 });
      expect(back.packages).toEqual(
        expect.arrayContaining([
          { name: "app", from: "2.0-1", to: "1.0-1" },
          { name: "extra", from: "1.0-1", to: null },
          { name: "replaced", from: null, to: "1.0-1" },
        ]),
      );
      expect(await state()).toEqual(before);
      expect(await check()).toMatchObject({ status: "pass" });

      expect(await rollBack("forth", back.safety_snapshot_id)).toMatchObject({ success: true, packages_changed: 6 });
      expect(await state()).toEqual(later);
    });

    it("in which a script fails reports it, and is rolled back although a file is in the way", async () => {
      await begin(["late", "replaced"], [fresh.late, fresh.successor]);
      const before = await state();
      const done = await apply("update");
      expect(done).toMatchObject({
        success: false,
        error: expect.stringMatching(/^late: its script .*I will not end/),
      });
      await session.host.writeFile(`${pacmanRoot}/usr/share/replaced/version`, "of somebody else\n");
      expect(await rollBack("back", done.snapshot_id)).toMatchObject({ success: true });
      expect(await state()).toEqual(before);
    });

    it("brings back packages that did not fit together then, and nothing besides", async () => {
      await begin(["app", "steady"], [fresh.app, fresh.library, fresh.steady]);
      await session.host.exec([...pacmanWords, "--remove", "--nodeps", "--nodeps", "library"]);
      const before = await state();
      const done = await apply("update");
      expect(await installed()).toMatchObject({ app: "2.0-1" });
      expect(await rollBack("back", done.snapshot_id)).toMatchObject({ success: true });
      expect(await state()).toEqual(before);
    });

    it("is undone after a rollback that was killed, once a person has seen to the lock that it left", async () => {
      await begin(["tardy", "steady"], [fresh.tardy, fresh.steady]);
      const before = await state();
      const { snapshot_id: snapshot } = await apply("update");
      await session.host.writeFile(`${pacmanRoot}/tmp/wait`, "");
      const running = work<RollbackReport>({ verb: "rollback", id: "killed", snapshotId: snapshot });
      await eventually(async () => expect(await installed()).toMatchObject({ tardy: "1.0-1" }));
      await session.shell("systemctl kill --signal=KILL steward-packages-killed.service");
      const { success, message } = (await running).result ?? {};
      expect([success, message]).toEqual([false, expect.stringContaining(`${lock} is left of a pacman`)]);
      await session.shell(`rm ${lock} ${pacmanRoot}/tmp/wait`);
      expect(await rollBack("again", snapshot)).toMatchObject({ success: true });
      expect(await state()).toEqual(before);
    });

    it("does not begin where the cache lacks a replaced version and a complete rollback is demanded", async () => {
      await begin(["app", "steady"], [fresh.app, fresh.library, fresh.steady]);
      await session.shell(`rm ${pacmanRoot}/var/cache/pacman/pkg/steady-1.0-1-any.pkg.tar.gz`);
      const { error } = await work({ verb: "apply", id: "update", request: {}, requiresFull: true });
      expect(error).toMatch(/cannot take the snapshot: steady-1.0-1.any is neither in the cache nor in a repository/);
      expect(await installed()).toEqual({ app: "1.0-1", library: "1.0-1", steady: "1.0-1" });
      expect(await apply("partial")).toMatchObject({ success: true });
      expect(await result({ verb: "snapshots" })).toMatchObject([{ lacks: ["steady"] }]);
      // What the update brought is kept, whatever becomes of the cache.
      await session.shell(`rm ${pacmanRoot}/var/cache/pacman/pkg/*`);
      expect(await result({ verb: "lacking", names: ["app", "library", "steady"] })).toEqual([]);
    });

    it("does not begin, and is not rolled back, with a damaged file", async () => {
      await begin(["steady"], [fresh.steady]);
      const file = `${pacmanRoot}/var/cache/pacman/pkg/steady-1.0-1-any.pkg.tar.gz`;
      await session.shell(`cp ${file} /root/whole && head -c 200 /root/whole > ${file}`);
      expect((await work({ verb: "apply", id: "torn", request: {}, requiresFull: true })).error).toContain(
        "neither in the cache",
      );
      await session.shell(`cp /root/whole ${file}`);
      const { snapshot_id: snapshot, success } = await apply("update");
      expect(success).toBe(true);
      await session.shell(
        `rm ${file} && find ${pacmanRoot}/var/lib/steward -type f -name '*' -size +300c -exec truncate -s 200 {} +`,
      );
      expect((await work({ verb: "rollback", id: "back", snapshotId: snapshot })).error).toMatch(/snapshot/);
      expect(await installed()).toEqual({ steady: "2.0-1" });
    });
  });

  testPacmanCatalog(session, { result, work }, books);
  testPacmanChanges(session, { result, work, all });
});
