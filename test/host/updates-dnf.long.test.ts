import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RollbackReport, UpdateApply } from "#contract/updates.ts";
import type { AvailableUpdates, TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { momentsToKill } from "./support/kills.ts";
import type { GoneOn } from "./support/package-work.ts";
import { namesOf, packageVerbs } from "./support/package-work.ts";
import { catalogRecipes, testCatalog } from "./support/rpm-catalog.ts";
import { changeRecipes, testChanges } from "./support/rpm-changes.ts";
import type { Advisory, RpmRecipe } from "./support/rpm-host.ts";
import {
  dnfAdapter,
  dnfCommand,
  dnfWords,
  makeRpmRepository,
  makeRpmRoot,
  rpmFile,
  rpmRepository,
  rpmRoot,
} from "./support/rpm-host.ts";
import type { RpmTree } from "./support/rpm-tree.ts";
import { commonRecipes, testLists, testLostCaller, testPackageFiles } from "./support/rpm-tree.ts";
import { testWayBack } from "./support/rpm-way-back.ts";
import { describeOnHost } from "./support/session.ts";

const longName = "a-package-whose-name-is-far-too-long-for-the-column-that-it-is-listed-in";

const recipes: readonly RpmRecipe[] = [
  {
    name: "release",
    version: "9.1",
    header: ["Provides: system-release = 9.1", "Provides: system-release(releasever) = 9"],
  },
  {
    name: "release",
    version: "9.2",
    header: ["Provides: system-release = 9.2", "Provides: system-release(releasever) = 9"],
  },
  ...commonRecipes,
  ...changeRecipes,
  ...catalogRecipes,
  { name: longName, version: "1.0" },
  { name: longName, version: "2.0" },
  { name: "kernel", version: "1.0", isSideBySide: true },
  { name: "kernel", version: "2.0", isSideBySide: true },
  { name: "kernel", version: "3.0", isSideBySide: true },
];
const advisories: readonly Advisory[] = [{ id: "TEST-2026:1", name: "hole", version: "1.1" }];
/** Dnf's own books: its log, its cache, journals of its databases, and checksums that it notes beside files of a repository. */
const books = [
  /^\/var\/log\/journal\//,
  // The daemon of snapper writes it when it ends, whenever that is.
  /^\/var\/log\/snapper\.log$/,
  /^\/(?:var\/)?tmp\/systemd-private-/,
  /^\/srv\/rpmhost\/var\/(?:log|cache\/dnf)(?:\/|$)/,
  /\.sqlite(?:-shm|-wal)?$/,
  /^\/srv\/rpm-repository\/.*\.rpm$/,
  /^\/var\/cache\/dnf\/packages\.db$/,
];
const nothingChanged = { added: [], removed: [], changed: [] };

describeOnHost("dnf as the package manager of updates", (session) => {
  const verbs = packageVerbs(session, dnfAdapter);
  const { work, result, simulate, commit, check, all } = verbs;

  const installed = async (): Promise<Readonly<Record<string, string>>> => {
    const words = ["rpm", "--root", rpmRoot, "--query", "--all", "--queryformat", "%{NAME} %{VERSION}\\n"];
    const { stdout } = await session.host.exec(words);
    return Object.fromEntries(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" ")),
    );
  };
  const install = (...names: readonly string[]) => session.host.exec([...dnfWords, "install", ...names]);

  const tree: RpmTree = {
    name: "dnf",
    root: rpmRoot,
    verbs,
    command: dnfCommand,
    release: "9.1",
    lists: ["var/cache/dnf", "var/cache/dnf/base-*/repodata"],
    install: (...packages) => install(...packages.map((each) => each.replace("=", "-"))),
    remove: (...names) => session.host.exec([...dnfWords, "remove", ...names]),
    markAutomatic: (name) => session.host.exec([...dnfWords, "mark", "remove", name]),
    holdSteady: () => session.host.writeFile("/etc/dnf/plugins/versionlock.list", "steady-0:2.0-1.*\n"),
    relist: (more = []) => makeRpmRepository(session, [], [...advisories, ...more]),
  };

  beforeAll(async () => {
    await makeRpmRepository(session, recipes, advisories);
  });
  beforeEach(async () => {
    await session.shell(`rm -rf ${rpmRoot} /tmp/wait`);
    await makeRpmRoot(session);
    await install("release-9.1");
  });

  it("reports what could be updated, what for security, and the newer release", async () => {
    await install("app-1.0", "library-1.0", "hole-1.0", "dated-1:1.0", `${longName}-1.0`);
    const { updates, held, listsAt } = await result<AvailableUpdates>({ verb: "updates" });
    expect(updates.map(({ name, from, to, isSecurity }) => `${name} ${from} ${to} ${isSecurity}`).sort()).toEqual([
      `${longName} 1.0-1 2.0-1 false`,
      "app 1.0-1 2.0-1 false",
      "dated 1:1.0-1 2:0.9-1 false",
      "hole 1.0-1 1.2-1 true",
      "library 1.0-1 2.0-1 false",
      "release 9.1-1 9.2-1 false",
    ]);
    expect(held).toEqual([]);
    expect(Number.isSafeInteger(listsAt)).toBe(true);
    expect(await result({ verb: "release" })).toEqual({
      version: "9.2",
      releaseDate: "",
      isSecurity: false,
      changelog: "",
    });
    expect(await check("security_updates")).toMatchObject({
      status: "warn",
      message: "1 security update is not installed: hole",
      details: {
        updates: [{ name: "hole", installed: "1.0-1", candidate: "1.2-1", suites: ["TEST-2026:1"], held: false }],
      },
    });
  });

  it("knows what somebody asked for and what came along", async () => {
    await install("app-1.0");
    const found = await all();
    expect(found.map(({ name, isManual }) => `${name} ${isManual}`)).toEqual([
      "app true",
      "library false",
      "release true",
    ]);
  });

  it("changes nothing by asking", async () => {
    await install("app-1.0", "hole-1.0");
    await result({ verb: "updates" });
    const before = await fileTree(session);
    await result({ verb: "updates" });
    await result({ verb: "release" });
    await check("dnf_status");
    await simulate({ type: "all" });
    await simulate({ isSecurityOnly: true });
    await result({ verb: "audit" });
    expect(changesSince(before, await fileTree(session), { ignore: books })).toEqual(nothingChanged);
  });

  it("does not ask again while nothing has changed", async () => {
    await install("app-1.0", "hole-1.0");
    expect(await result({ verb: "countAgain" })).toBe(0);
  });

  testLists(session, tree);
  testChanges(session, tree);
  testCatalog(session, tree, dnfWords);

  it("cannot refresh what is gone", async () => {
    await session.shell(`mv ${rpmRepository} ${rpmRepository}.gone`);
    try {
      const { error } = await work({ verb: "refresh" });
      expect(error).toContain("Failed to download metadata for repo 'base'");
    } finally {
      await session.shell(`mv ${rpmRepository}.gone ${rpmRepository}`);
    }
  });

  it("installs exactly the version that closes the hole", async () => {
    await install("app-1.0", "library-1.0", "hole-1.0");
    const plan = await simulate({ isSecurityOnly: true });
    expect(plan).toMatchObject({
      changes: [{ name: "hole", architecture: "noarch", from: "1.0-1", to: "1.1-1", isSecurity: true }],
      downloadBytes: expect.any(Number),
    });
    expect(plan.downloadBytes).toBeGreaterThan(0);
    const before = await fileTree(session);
    const { result: done, lines, steps } = await work<TransactionResult>({ verb: "commit", id: "hole", plan });
    expect(done).toEqual({ isDone: true, reason: "" });
    expect(lines.join("\n")).toMatch(/Upgrading +: hole-1.1-1.noarch/);
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
    expect(await installed()).toEqual({ app: "1.0", library: "1.0", hole: "1.1", release: "9.1" });
    expect(changesSince(before, await fileTree(session), { ignore: books })).toEqual({
      added: [],
      removed: [],
      changed: [`${rpmRoot}/etc/hole/conf`, `${rpmRoot}/usr/share/hole/version`],
    });
    expect(await simulate({ isSecurityOnly: true })).toEqual({ changes: [], downloadBytes: 0, diskBytes: 0 });
    expect(await check("security_updates")).toMatchObject({ status: "pass" });
  });

  it("updates the named packages with what they need, and keeps the marks", async () => {
    await install("library-1.0");
    await install("app-1.0", "hole-1.0", "steady-1.0");
    await session.host.exec([...dnfWords, "mark", "remove", "library"]);
    const plan = await simulate({ names: ["app"] });
    expect(namesOf(plan)).toEqual(["app", "extra", "library"]);
    expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
    const found = await all();
    expect(found.map(({ name, version, isManual }) => `${name} ${version} ${isManual}`)).toEqual([
      "app 2.0-1 true",
      "extra 1.0-1 false",
      "hole 1.0-1 true",
      "library 2.0-1 false",
      "release 9.1-1 true",
      "steady 1.0-1 true",
    ]);
    expect(await simulate({ names: ["app"] })).toMatchObject({ changes: [] });
    for (const name of ["nowhere", "*", "app-1.0", "--help"])
      expect(await work({ verb: "simulate", request: { names: [name] } })).toMatchObject({
        error: `UpdateRefused: ${name} is not installed`,
      });
  });

  it("lets packages take the place of others only in an update of the system", async () => {
    await install("replaced-1.0");
    expect(namesOf(await simulate({ type: "packages" }))).toEqual(["release"]);
    const plan = await simulate({ type: "all" });
    expect(plan.changes).toContainEqual({
      name: "replaced",
      architecture: "noarch",
      from: "1.0-1",
      to: null,
      isSecurity: false,
    });
    expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual({ release: "9.2", successor: "2.0" });
    const found = await all();
    expect(found.find(({ name }) => name === "successor")).toMatchObject({ isManual: true });
  });

  it("keeps kernels beside each other, and the oldest goes for the new one", async () => {
    await install("kernel-1.0");
    const second = await simulate({ names: ["kernel"] });
    expect(second.changes).toEqual([
      { name: "kernel", architecture: "noarch", from: null, to: "3.0-1", isSecurity: false },
    ]);
    await install("kernel-2.0");
    const third = await simulate({ names: ["kernel"] });
    expect(third.changes).toEqual([
      { name: "kernel", architecture: "noarch", from: "1.0-1", to: "3.0-1", isSecurity: false },
    ]);
    expect(await commit(third)).toEqual({ isDone: true, reason: "" });
    const found = await all();
    expect(found.filter(({ name }) => name === "kernel").map(({ version }) => version)).toEqual(["2.0-1", "3.0-1"]);
    expect(await check("dnf_status")).toMatchObject({ status: "pass" });
  });

  it.each([
    ["versionlock", "steady-0:1.0-1.*", "/etc/dnf/plugins/versionlock.list"],
    ["excludepkgs", "[main]\nexcludepkgs = other, stea*", `${rpmRoot}/etc/dnf/dnf.conf`],
  ])("leaves what is held by %s", async (_by, text, path) => {
    await install("steady-1.0", "hole-1.0");
    await session.host.writeFile(path, `${text}\n`);
    const { updates, held } = await result<AvailableUpdates>({ verb: "updates" });
    expect(updates.map(({ name }) => name).sort()).toEqual(["hole", "release"]);
    expect(held).toEqual(["steady"]);
    expect(namesOf(await simulate({ type: "all" }))).toEqual(["hole", "release"]);
    expect(await work({ verb: "simulate", request: { names: ["steady"] } })).toMatchObject({
      error: "UpdateRefused: steady is held at its version",
    });
    expect(await check("dnf_status")).toMatchObject({
      status: "warn",
      message: expect.stringMatching(/^1 package held at its version and not updated: steady/),
    });
  });

  it("holds packages at their versions, and takes back just that", async () => {
    await install("steady-1.0", "hole-1.0");
    const hold = (isHeld: boolean, ...names: string[]) => work({ verb: "hold", names, isHeld });
    const held = async () => (await result<AvailableUpdates>({ verb: "updates" })).held;
    const locks = async () =>
      (await session.shell("grep -v '^#' /etc/dnf/plugins/versionlock.list || true"))
        .trim()
        .split("\n")
        .filter((line) => line !== "")
        .sort();
    const done = { result: { isDone: true, reason: "" } };
    expect(await hold(true, "steady", "hole")).toMatchObject(done);
    expect([await held(), await locks()]).toEqual([
      ["hole", "steady"],
      ["hole-0:1.0-1.*", "steady-0:1.0-1.*"],
    ]);
    await session.shell("echo '!hole-0:9.0-1.*' >>/etc/dnf/plugins/versionlock.list");
    expect(await hold(false, "hole")).toMatchObject(done);
    expect([await held(), await locks()]).toEqual([["steady"], ["!hole-0:9.0-1.*", "steady-0:1.0-1.*"]]);
    await install("kernel-1.0");
    await install("kernel-2.0");
    expect(await hold(true, "kernel")).toMatchObject(done);
    expect(await held()).toEqual(["kernel", "steady"]);
    expect(await hold(false, "kernel")).toMatchObject(done);
    expect(await held()).toEqual(["steady"]);
    await session.host.writeFile(`${rpmRoot}/etc/dnf/dnf.conf`, "[main]\nexcludepkgs = stea*\n");
    expect(await hold(false, "steady")).toMatchObject({
      error: expect.stringMatching(/^UpdateRefused: steady is held by more than a lock of its name/),
    });
    expect([await held(), await locks()]).toEqual([["steady"], ["!hole-0:9.0-1.*"]]);
  });

  it("reports a hole in a held package and does not close it", async () => {
    await install("hole-1.0");
    await session.host.writeFile("/etc/dnf/plugins/versionlock.list", "hole-0:1.0-1.*\n");
    expect(await check("security_updates")).toMatchObject({
      status: "warn",
      details: { pending: 1, pending_held: 1, updates: [{ name: "hole", candidate: "1.1-1", held: true }] },
    });
    expect(await simulate({ isSecurityOnly: true })).toMatchObject({ changes: [] });
  });

  it("reports a script that fails before a package is unpacked, and goes no further", async () => {
    await install("early-1.0");
    const done = await commit(await simulate({ names: ["early"] }));
    expect(done).toMatchObject({
      isDone: false,
      reason: expect.stringMatching(/^early: its PREIN script failed .*I will not begin/),
    });
    expect(await installed()).toMatchObject({ early: "1.0" });
    expect(await result({ verb: "audit" })).toEqual([]);
    expect(await check("dnf_status")).toMatchObject({ status: "pass" });
  });

  it("reports a script that fails afterwards, although the package counts as installed", async () => {
    await install("late-1.0");
    const done = await commit(await simulate({ names: ["late"] }));
    expect(done).toMatchObject({
      isDone: false,
      reason: expect.stringMatching(/^late: its POSTIN script failed .*I will not end/),
    });
    expect(await installed()).toMatchObject({ late: "2.0" });
  });

  it("refuses a plan that is no longer what would be done", async () => {
    await install("app-1.0", "library-1.0", "steady-1.0");
    const plan = await simulate({ names: ["app"] });
    const short = { ...plan, changes: plan.changes.filter(({ name }) => name !== "extra") };
    expect(await work({ verb: "commit", id: "short", plan: short })).toMatchObject({
      error: expect.stringMatching(/^UpdateRefused: .*extra-1.0-1.noarch/),
    });
    const [steady] = (await simulate({ names: ["steady"] })).changes;
    const gone = { changes: [{ ...steady, to: "3.0-1" }], downloadBytes: 0, diskBytes: 0 } as TransactionPlan;
    expect(await work({ verb: "commit", id: "gone", plan: gone })).toMatchObject({
      error: expect.stringMatching(/^UpdateRefused: .*steady-3.0-1.noarch/),
    });
    expect(await installed()).toEqual({ app: "1.0", library: "1.0", release: "9.1", steady: "1.0" });
  });

  it.each([
    ["is gone", `mv ${rpmFile("steady", "2.0")} /root/`],
    ["is damaged", `cp ${rpmFile("steady", "2.0")} /root/ && echo more >> ${rpmFile("steady", "2.0")}`],
  ])("changes nothing when the file of a package %s", async (_what, spoil) => {
    await install("steady-1.0", "hole-1.0");
    const plan = await simulate({ names: ["steady", "hole"] });
    await session.shell(spoil);
    try {
      const done = await commit(plan);
      expect(done).toMatchObject({
        isDone: false,
        reason: expect.stringContaining('Package "steady-2.0-1.noarch" from local repository'),
      });
      expect(await installed()).toEqual({ hole: "1.0", release: "9.1", steady: "1.0" });
    } finally {
      await session.shell(`mv /root/steady-2.0-1.noarch.rpm ${rpmRepository}/noarch/`);
    }
  });

  describe("what is interrupted", () => {
    const lockFile = `${rpmRoot}/var/lib/dnf/rpmdb_lock.pid`;
    const waitingFile = `${rpmRoot}/tmp/wait`;

    /** Dnf in the middle of the script of `slow`. */
    const begin = async (unit: string, ...words: readonly string[]): Promise<number> => {
      await session.host.writeFile(waitingFile, "");
      await session.shell(`systemd-run --quiet --collect --unit=${unit} ${[...words].join(" ")}`);
      await eventually(async () => expect(await installed()).toMatchObject({ slow: "2.0" }));
      return Number((await session.shell(`cat ${lockFile}`)).trim());
    };
    const upgrade = [...dnfWords, "upgrade", "slow", "steady"];

    it("is found, named and mended", async () => {
      await install("slow-1.0");
      const pid = await begin("administrator", ...dnfWords, "upgrade", "slow");
      expect(await check("dnf_status")).toMatchObject({
        status: "pass",
        message: `dnf (process ${pid}) is changing packages right now`,
      });
      const plan = await simulate({ names: ["release"] });
      expect(await work({ verb: "commit", id: "locked", plan })).toMatchObject({
        error: expect.stringMatching(new RegExp(`^PackagesLocked: dnf \\(process ${pid}\\) holds the lock`)),
      });
      await session.host.exec(["kill", "-KILL", String(pid)]);
      await session.shell(`rm ${waitingFile}`);
      expect(await check("dnf_status")).toMatchObject({
        status: "fail",
        message: expect.stringMatching(
          /^The package manager was stopped in the middle of its work: slow \(left beside 2.0-1\)/,
        ),
      });
      expect(await result({ verb: "audit" })).toEqual(["slow 1.0-1 is left beside another version of it"]);
      await result({ verb: "finish" });
      expect(await check("dnf_status")).toMatchObject({
        status: "pass",
        message: "2 packages installed, all in order",
      });
      expect(await installed()).toEqual({ release: "9.1", slow: "2.0" });
    });

    it("is repaired without anything else, and the rest can be done", async () => {
      await install("slow-1.0", "steady-1.0");
      const plan = await simulate({ names: ["slow", "steady"] });
      const pid = await begin("killed", ...upgrade);
      await session.host.exec(["kill", "-KILL", String(pid)]);
      await session.shell(`rm ${waitingFile}`);
      await result({ verb: "settle", id: "one" });
      expect(await result({ verb: "repair", id: "one" })).toEqual({ isDone: true, reason: "" });
      const after = await installed();
      expect(after).toMatchObject({ slow: "2.0" });
      const rest = plan.changes.filter(({ name, to }) => `${after[name]}-1` !== to);
      expect(await commit({ ...plan, changes: rest })).toEqual({ isDone: true, reason: "" });
      expect(await installed()).toEqual({ release: "9.1", slow: "2.0", steady: "2.0" });
      expect(await result({ verb: "audit" })).toEqual([]);
      expect(await check("dnf_status")).toMatchObject({ status: "pass" });
    });

    it.each(momentsToKill([1, 2, 4, 6, 7, 9, 11, 13]))(
      "ends at the plan although dnf was killed at step %i of 13",
      async (round) => {
        const names = ["app", "library", "steady", "hole", "dated", longName];
        await install(...names.map((name) => (name === "dated" ? "dated-1:1.0" : `${name}-1.0`)));
        const plan = await simulate({ names });
        const running = work<TransactionResult>({ verb: "commit", id: `round-${round}`, plan });
        const unit = `steward-packages-round-${round}.service`;
        await session.shell(
          `until grep -q ' ${round}/13 ' /run/steward-packages/steward-packages-round-${round}.log 2>/dev/null; do :; done; ` +
            `systemctl kill --signal=KILL ${unit} 2>/dev/null || true`,
        );
        await running;
        const end = await result<GoneOn>({ verb: "goOn", id: `round-${round}`, plan });
        const isDone = { isDone: true, reason: "" };
        expect(end).toMatchObject({ repaired: isDone, committed: isDone, left: [], status: "pass" });
        for (const { name, to } of plan.changes)
          expect(end.installed.find((each) => each.name === name)?.version).toBe(to);
      },
    );

    testLostCaller(session, tree);
  });

  testPackageFiles(session, tree);
  it("returns to several kernels, each with its version", async () => {
    await install("kernel-1.0", "kernel-2.0", "steady-1.0");
    const kernels = async () =>
      (await session.shell(`rpm --root ${rpmRoot} -q kernel --queryformat '%{VERSION}\\n' | sort`)).trim().split("\n");
    const before = await all();
    const done = await result<UpdateApply>({ verb: "apply", id: "update", request: { type: "all" } });
    expect(done).toMatchObject({ success: true, error: null });
    // The oldest goes with the third one.
    expect(await kernels()).toEqual(["2.0", "3.0"]);
    const back = await result<RollbackReport>({ verb: "rollback", id: "back", snapshotId: done.snapshot_id });
    expect(back).toMatchObject({ success: true, requires_reboot: true });
    expect(back.packages).toEqual(
      expect.arrayContaining([
        { name: "kernel", from: null, to: "1.0-1" },
        { name: "kernel", from: "3.0-1", to: null },
      ]),
    );
    expect(await kernels()).toEqual(["1.0", "2.0"]);
    expect(await all()).toEqual(before);
    const forth = await result<RollbackReport>({
      verb: "rollback",
      id: "forth",
      snapshotId: back.safety_snapshot_id,
    });
    expect(forth).toMatchObject({ success: true });
    expect(await kernels()).toEqual(["2.0", "3.0"]);
  });

  testWayBack(session, tree);
});
