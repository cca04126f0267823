import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RollbackReport, UpdateApply } from "#contract/updates.ts";
import type { AvailableUpdates, TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import { eventually } from "./eventually.ts";
import { changesSince, fileTree } from "./file-tree.ts";
import { timesToKill } from "./kills.ts";
import { type GoneOn, namesOf } from "./package-work.ts";
import { changeRecipes, testChanges } from "./rpm-changes.ts";
import { makeRpmRepository, rpmFile, rpmRepository } from "./rpm-host.ts";
import {
  advisories,
  commonRecipes,
  holdUp,
  longName,
  type RpmTree,
  release,
  testLists,
  testLostCaller,
  testPackageFiles,
} from "./rpm-tree.ts";
import { testWayBack } from "./rpm-way-back.ts";
import type { Session } from "./session.ts";

const done = { isDone: true, reason: "" };
const nothing = { changes: [], downloadBytes: 0, diskBytes: 0 };
const base = `release ${release}-1`;
const reported = ({ changes }: TransactionPlan): readonly string[] =>
  changes.map(({ name, from, to }) => `${name} ${from} ${to}`).sort();

/** The tests of an adapter for packages of rpm, with its package manager on a tree of its own. */
export function testUpdates(session: Session, tree: RpmTree): void {
  const { shell } = session;
  const { root, install, says, program } = tree;
  const { work, result, simulate, refusal, commit, check, all } = tree.verbs;
  const status = () => check(`${tree.name}_status`);
  const installed = async () => (await all()).map(({ name, version }) => `${name} ${version}`);
  const marked = async () =>
    (await all()).map(({ name, version, isManual }) => `${name} ${version}${isManual ? "" : " along"}`);
  const updates = () => result<AvailableUpdates>({ verb: "updates" });

  beforeAll(() => makeRpmRepository(session, [...commonRecipes, ...changeRecipes], advisories));
  beforeEach(async () => {
    await shell(`rm -rf ${root} /tmp/wait`);
    await tree.makeRoot();
    await install(`release=${release}`);
  });

  it("reports what could be updated, what for security, and the newer release", async () => {
    await install("app=1.0", "library=1.0", "hole=1.0", "dated=1:1.0", `${longName}=1.0`);
    const { updates: found, held, listsAt } = await updates();
    expect(found.map(({ name, from, to, isSecurity }) => `${name} ${from} ${to} ${isSecurity}`).sort()).toEqual([
      `${longName} 1.0-1 2.0-1 false`,
      "app 1.0-1 2.0-1 false",
      "dated 1:1.0-1 2:0.9-1 false",
      "hole 1.0-1 1.2-1 true",
      "library 1.0-1 2.0-1 false",
      "release 9.1-1 9.2-1 false",
    ]);
    expect(held).toEqual([]);
    expect(Number.isSafeInteger(listsAt)).toBe(true);
    const newer = { version: "9.2", releaseDate: "", isSecurity: false, changelog: "" };
    expect(await result({ verb: "release" })).toEqual(newer);
    const hole = { name: "hole", installed: "1.0-1", candidate: "1.2-1", suites: ["TEST-2026-1"], held: false };
    expect(await check("security_updates")).toMatchObject({
      status: "warn",
      message: "1 security update is not installed: hole",
      details: { updates: [hole] },
    });
    expect(await result({ verb: "restartNeeds" })).toMatchObject({ requiresReboot: false });
  });

  it("changes nothing when it is asked, and runs no program again while nothing has changed", async () => {
    await install("app=1.0", "hole=1.0");
    await updates();
    const before = await fileTree(session);
    await updates();
    await result({ verb: "release" });
    await status();
    await simulate({ type: "all" });
    await simulate({ isSecurityOnly: true });
    await result({ verb: "audit" });
    const changes = changesSince(before, await fileTree(session), { ignore: tree.books });
    expect(changes).toEqual({ added: [], removed: [], changed: [] });
    expect(await result({ verb: "countAgain" })).toBe(0);
  });

  testLists(session, tree);
  testChanges(session, tree);

  it("cannot refresh lists of a repository that is gone, and keeps those that it has", async () => {
    await shell(`mv ${rpmRepository} ${rpmRepository}.gone`);
    try {
      expect((await work({ verb: "refresh" })).error).toMatch(says.repositoryGone);
      expect(await updates()).toMatchObject({ updates: [{ name: "release" }] });
    } finally {
      await shell(`mv ${rpmRepository}.gone ${rpmRepository}`);
    }
  });

  it("installs exactly the version that closes a security hole, one of three updates", async () => {
    await install("app=1.0", "library=1.0", "hole=1.0");
    const plan = await simulate({ isSecurityOnly: true });
    const hole = { name: "hole", architecture: "noarch", from: "1.0-1", to: "1.1-1", isSecurity: true };
    expect(plan.changes).toEqual([hole]);
    expect(plan.downloadBytes).toBeGreaterThan(0);
    await session.host.writeFile(`${root}/etc/hole/conf`, "mine\n");
    const before = await fileTree(session);
    const { result: outcome, lines, steps } = await work<TransactionResult>({ verb: "commit", id: "hole", plan });
    expect(outcome).toEqual(done);
    expect(lines.join("\n")).toMatch(says.installing);
    expect(lines.join("\n")).not.toMatch(/<\w/);
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
    expect(await installed()).toEqual(["app 1.0-1", "hole 1.1-1", "library 1.0-1", base]);
    const changes = changesSince(before, await fileTree(session), { ignore: tree.booksOfChanges });
    expect(changes).toEqual({ added: [], removed: [], changed: [`${root}/usr/share/hole/version`] });
    expect(await simulate({ isSecurityOnly: true })).toEqual(nothing);
    expect(await check("security_updates")).toMatchObject({ status: "pass" });
  });

  it("updates everything, and distinguishes packages that were asked for from those that came along", async () => {
    await install("library=1.0");
    await tree.markAutomatic("library");
    await install("app=1.0", "hole=1.0");
    expect(await marked()).toEqual(["app 1.0-1", "hole 1.0-1", "library 1.0-1 along", base]);
    const plan = await simulate({ type: "all" });
    expect(reported(plan)).toEqual([
      "app 1.0-1 2.0-1",
      "extra null 1.0-1",
      "hole 1.0-1 1.2-1",
      "library 1.0-1 2.0-1",
      "release 9.1-1 9.2-1",
    ]);
    expect(await commit(plan)).toEqual(done);
    const now = ["app 2.0-1", "extra 1.0-1 along", "hole 1.2-1", "library 2.0-1 along", "release 9.2-1"];
    expect(await marked()).toEqual(now);
    expect(await simulate({ type: "all" })).toEqual(nothing);
    expect(await result({ verb: "audit" })).toEqual([]);
    expect(await status()).toMatchObject({ status: "pass", message: "5 packages installed, all in order" });
  });

  it("updates the named packages with what they need", async () => {
    await install("app=1.0", "library=1.0", "steady=1.0");
    const plan = await simulate({ names: ["app"] });
    expect(namesOf(plan)).toEqual(["app", "extra", "library"]);
    expect(await commit(plan)).toEqual(done);
    expect(await installed()).toEqual(["app 2.0-1", "extra 1.0-1", "library 2.0-1", base, "steady 1.0-1"]);
    expect(await simulate({ names: ["app"] })).toMatchObject({ changes: [] });
    expect(await simulate({ names: [] })).toMatchObject({ changes: [] });
    for (const name of ["nowhere", "*", "app-1.0", "app=1.0", "--help"])
      expect(await refusal({ names: [name] })).toBe(`UpdateRefused: ${name} is not installed`);
  });

  it("lets packages take the place of others only in an update of the system", async () => {
    await install("replaced=1.0");
    expect(namesOf(await simulate({ type: "packages" }))).toEqual(["release"]);
    const plan = await simulate({ type: "all" });
    expect(reported(plan)).toEqual(["release 9.1-1 9.2-1", "replaced 1.0-1 null", "successor null 2.0-1"]);
    expect(await commit(plan)).toEqual(done);
    expect(await marked()).toEqual(["release 9.2-1", "successor 2.0-1"]);
  });

  it("keeps kernels beside each other", async () => {
    const kernels = async () => (await installed()).filter((line) => line.startsWith("kernel "));
    await install("kernel=1.0");
    expect(reported(await simulate({ names: ["kernel"] }))).toEqual(["kernel null 3.0-1"]);
    await install("kernel=2.0");
    const third = await simulate({ names: ["kernel"] });
    // Dnf is asked to keep two.
    const isLimited = tree.name === "dnf";
    expect(reported(third)).toEqual([`kernel ${isLimited ? "1.0-1" : "null"} 3.0-1`]);
    expect(await commit(third)).toEqual(done);
    const now = [...(isLimited ? [] : ["kernel 1.0-1"]), "kernel 2.0-1", "kernel 3.0-1"];
    expect(await kernels()).toEqual(now);
    expect(await status()).toMatchObject({ status: "pass" });
    expect(await result({ verb: "repair", id: "one" })).toEqual(done);
    expect(await kernels()).toEqual(now);
  });

  it("returns to several kernels, each with its version", async () => {
    await install("kernel=1.0", "steady=1.0");
    await install("kernel=2.0");
    const before = await all();
    const applied = await result<UpdateApply>({ verb: "apply", id: "update", request: { type: "all" } });
    expect(applied).toMatchObject({ success: true, error: null });
    const later = await installed();
    expect(later).toContain("kernel 3.0-1");
    const back = await result<RollbackReport>({ verb: "rollback", id: "back", snapshotId: applied.snapshot_id });
    expect(back).toMatchObject({ success: true, requires_reboot: true });
    expect(back.packages).toContainEqual({ name: "kernel", from: "3.0-1", to: null });
    expect(await all()).toEqual(before);
    const forth = await result<RollbackReport>({ verb: "rollback", id: "forth", snapshotId: back.safety_snapshot_id });
    expect(forth).toMatchObject({ success: true });
    expect(await installed()).toEqual(later);
  });

  it("leaves held packages at their versions, and reports a security hole in one", async () => {
    await install("steady=1.0", "hole=1.0");
    await tree.holdBothByLock();
    const found = await updates();
    expect([found.updates.map(({ name }) => name), found.held]).toEqual([["release"], ["hole", "steady"]]);
    expect(namesOf(await simulate({ type: "all" }))).toEqual(["release"]);
    expect(await simulate({ isSecurityOnly: true })).toMatchObject({ changes: [] });
    expect(await refusal({ names: ["steady"] })).toBe("UpdateRefused: steady is held at its version");
    expect(await status()).toMatchObject({
      status: "warn",
      message: expect.stringMatching(/^2 packages held at their version and not updated: hole, steady/),
    });
    expect(await check("security_updates")).toMatchObject({
      status: "warn",
      details: { pending: 1, pending_held: 1, updates: [{ name: "hole", candidate: "1.1-1", held: true }] },
    });
  });

  it("holds packages, and removes just its own holds", async () => {
    await install("steady=1.0", "hole=1.0", "kernel=1.0");
    await install("kernel=2.0");
    const hold = (isHeld: boolean, ...names: string[]) => work({ verb: "hold", names, isHeld });
    const held = async () => [[...(await updates()).held].sort(), await tree.locks()];
    const isDone = { result: done };
    const foreign = tree.foreignLocks ?? [];
    const [hole, steady] = ["hole", "steady"].map((name) => tree.lockOf(name));
    expect(await hold(true, "steady", "hole")).toMatchObject(isDone);
    expect(await held()).toEqual([
      ["hole", "steady"],
      [hole, steady],
    ]);
    await tree.addForeignLocks?.();
    expect(await hold(false, "hole")).toMatchObject(isDone);
    expect(await held()).toEqual([["steady"], [...foreign, steady]]);
    expect(await hold(true, "kernel")).toMatchObject(isDone);
    expect((await held())[0]).toEqual(["kernel", "steady"]);
    expect(await hold(false, "kernel")).toMatchObject(isDone);
    await tree.holdSteadyByPattern();
    expect(await hold(false, "steady")).toMatchObject({
      error: expect.stringMatching(/^UpdateRefused: steady is held by more than a lock of its name/),
    });
    expect(await held()).toEqual([["steady"], foreign]);
    expect(namesOf(await simulate({ type: "all" }))).not.toContain("steady");
  });

  it("reports a script that fails before a package is unpacked, and goes no further", async () => {
    await install("early=1.0", "steady=1.0");
    const outcome = await commit(await simulate({ names: ["early"] }));
    expect(outcome).toEqual({ isDone: false, reason: expect.stringMatching(says.earlyFailed) });
    expect(await installed()).toEqual(["early 1.0-1", base, "steady 1.0-1"]);
    expect(await result({ verb: "audit" })).toEqual([]);
    expect(await status()).toMatchObject({ status: "pass" });
  });

  it("reports a script that fails afterwards, although the package counts as installed", async () => {
    await install("late=1.0");
    const outcome = await commit(await simulate({ names: ["late"] }));
    expect(outcome).toEqual({ isDone: false, reason: expect.stringMatching(says.lateFailed) });
    expect(await installed()).toEqual(["late 2.0-1", base]);
  });

  it("refuses a plan that is no longer what would be done", async () => {
    await install("app=1.0", "library=1.0", "steady=1.0");
    const plan = await simulate({ names: ["app"] });
    const short = { ...plan, changes: plan.changes.filter(({ name }) => name !== "extra") };
    expect((await work({ verb: "commit", id: "short", plan: short })).error).toMatch(says.planIsShort);
    const [steady] = (await simulate({ names: ["steady"] })).changes;
    const gone = { ...nothing, changes: [{ ...steady, to: "3.0-1" }] } as TransactionPlan;
    expect((await work({ verb: "commit", id: "gone", plan: gone })).error).toMatch(says.versionGone);
    expect(await installed()).toEqual(["app 1.0-1", "library 1.0-1", base, "steady 1.0-1"]);
  });

  it.each([
    ["is gone", "mv {} /root/", says.fileGone],
    ["is damaged", "cp {} /root/ && echo more >> {}", says.fileDamaged],
  ])("changes nothing when the file of a package %s", async (_what, spoil, reason) => {
    await install("steady=1.0", "hole=1.0");
    const plan = await simulate({ names: ["steady", "hole"] });
    await shell(spoil.replaceAll("{}", rpmFile("steady", "2.0")));
    try {
      expect(await commit(plan)).toMatchObject({ isDone: false, reason: expect.stringMatching(reason) });
      expect(await installed()).toEqual(["hole 1.0-1", base, "steady 1.0-1"]);
    } finally {
      await shell(`mv /root/steady-2.0-1.noarch.rpm ${rpmFile("steady", "2.0")}`);
    }
  });

  describe("after an interruption", () => {
    const along = tree.keepsMarks ? " along" : "";

    it("finds and names what an administrator's run left, and repairs it", async () => {
      await install("slow=1.0");
      const letGo = await holdUp(session, root);
      await shell(`systemd-run --quiet --collect --unit=administrator ${tree.upgradeWords.join(" ")} slow`);
      await eventually(async () => expect(await installed()).toContain("slow 2.0-1"));
      const pid = await tree.pidOf("administrator");
      const message = `${program} (process ${pid}) is changing packages right now`;
      expect(await status()).toMatchObject({ status: "pass", message });
      const plan = await simulate({ names: ["release"] });
      const locked = `PackagesLocked: ${program} (process ${pid}) holds the lock`;
      expect((await work({ verb: "commit", id: "locked", plan })).error).toContain(locked);
      if (tree.name === "zypper") expect((await work({ verb: "refresh" })).error).toContain(locked);
      await shell("systemctl kill --signal=KILL administrator.service");
      await letGo();
      const stopped = /^The package manager was stopped in the middle of its work: slow \(left beside 2.0-1\)/;
      await eventually(async () =>
        expect(await status()).toMatchObject({ status: "fail", message: expect.stringMatching(stopped) }),
      );
      expect(await result({ verb: "audit" })).toEqual(["slow 1.0-1 is left beside another version of it"]);
      await result({ verb: "finish" });
      expect(await status()).toMatchObject({ status: "pass", message: "2 packages installed, all in order" });
      expect(await installed()).toEqual([base, "slow 2.0-1"]);
    });

    it("repairs its own killed run without anything else, and can do the rest", async () => {
      await install("slow=1.0", "steady=1.0");
      await tree.markAutomatic("slow");
      const plan = await simulate({ names: ["slow", "steady"] });
      const letGo = await holdUp(session, root);
      const running = work<TransactionResult>({ verb: "commit", id: "killed", plan });
      await eventually(async () => expect(await installed()).toContain("slow 2.0-1"));
      await shell("systemctl kill --signal=KILL steward-packages-killed.service");
      expect((await running).result).toEqual({ isDone: false, reason: "it was ended by SIGKILL" });
      await letGo();
      await result({ verb: "settle", id: "killed" });
      expect(await result({ verb: "repair", id: "killed" })).toEqual(done);
      const after = await installed();
      expect(after).toContain("slow 2.0-1");
      const rest = plan.changes.filter(({ name, to }) => !after.includes(`${name} ${to}`));
      expect(await commit({ ...plan, changes: rest })).toEqual(done);
      expect(await marked()).toEqual([base, `slow 2.0-1${along}`, "steady 2.0-1"]);
      expect(await result({ verb: "audit" })).toEqual([]);
      expect(await status()).toMatchObject({ status: "pass" });
    });

    const { timestamps, of, line } = tree.steps;
    it.each(timesToKill(timestamps))(`ends at the plan although it was killed at step %i of ${of}`, async (at) => {
      const names = ["app", "library", "steady", "hole", "dated", longName];
      await install("library=1.0");
      await tree.markAutomatic("library");
      await install("app=1.0", "steady=1.0", "hole=1.0", "dated=1:1.0", `${longName}=1.0`);
      const plan = await simulate({ names });
      const id = `round-${at}`;
      const running = work<TransactionResult>({ verb: "commit", id, plan });
      const log = `/run/steward-packages/steward-packages-${id}.log`;
      await shell(
        `until grep -q '${line(at)}' ${log} 2>/dev/null; do :; done; systemctl kill --signal=KILL steward-packages-${id}.service 2>/dev/null || true`,
      );
      await running;
      const end = await result<GoneOn>({ verb: "goOn", id, plan });
      expect(end).toMatchObject({ repaired: done, committed: done, left: [], status: "pass" });
      expect(await marked()).toEqual([
        `${longName} 2.0-1`,
        "app 2.0-1",
        "dated 2:0.9-1",
        expect.stringMatching(tree.keepsMarks ? /^extra 1\.0-1 along$/ : /^extra 1\.0-1/),
        "hole 1.2-1",
        expect.stringMatching(tree.keepsMarks ? /^library 2\.0-1 along$/ : /^library 2\.0-1/),
        base,
        "steady 2.0-1",
      ]);
    });

    testLostCaller(session, tree);
  });

  testPackageFiles(session, tree);
  testWayBack(session, tree);
}
