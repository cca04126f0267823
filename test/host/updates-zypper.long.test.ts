import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AvailableUpdates, TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { momentsToKill } from "./support/kills.ts";
import type { GoneOn } from "./support/package-work.ts";
import { namesOf, packageVerbs } from "./support/package-work.ts";
import { catalogRecipes } from "./support/rpm-catalog.ts";
import { changeRecipes, testChanges } from "./support/rpm-changes.ts";
import type { Advisory, RpmRecipe } from "./support/rpm-host.ts";
import { makeRpmRepository, rpmFile, rpmRepository } from "./support/rpm-host.ts";
import type { RpmTree } from "./support/rpm-tree.ts";
import { commonRecipes, testLists, testLostCaller, testPackageFiles } from "./support/rpm-tree.ts";
import { testWayBack } from "./support/rpm-way-back.ts";
import { describeOnHost } from "./support/session.ts";
import { exportKeys, makeSigningKeys, signed, signingKeys } from "./support/signing-keys.ts";
import { testZypperCatalog } from "./support/zypper-catalog.ts";
import {
  describeRelease,
  makeZypperRoot,
  useRepository,
  zypperAdapter,
  zypperCommand,
  zypperLock,
  zypperRoot,
  zypperWords,
} from "./support/zypper-host.ts";

const sideBySide = { isSideBySide: true, header: ["Provides: multiversion(kernel)"] } as const;

const recipes: readonly RpmRecipe[] = [
  { name: "release", version: "15.5", header: ["Provides: distribution-release"] },
  { name: "release", version: "15.6", header: ["Provides: distribution-release"] },
  ...commonRecipes,
  ...catalogRecipes,
  ...changeRecipes,
  { name: "kernel", version: "1.0", ...sideBySide },
  { name: "kernel", version: "2.0", ...sideBySide },
];
const advisories: readonly Advisory[] = [{ id: "TEST-2026-1", name: "hole", version: "1.1" }];
/** Zypper's own books: its caches, its history, and what readers of rpm's database share. Snapper works by its timers meanwhile. */
const books = [
  /^\/var\/log\/snapper\.log$/,
  /^\/var\/log\/journal\//,
  /^\/(?:var\/)?tmp\/systemd-private-/,
  /^\/srv\/zypperhost\/var\/(?:log|cache\/zypp\/solv)(?:\/|$)/,
  /\.sqlite(?:-shm|-wal)?$/,
];
const nothingChanged = { added: [], removed: [], changed: [] };

describeOnHost("zypper as the package manager of updates", (session) => {
  const { shell } = session;
  const verbs = packageVerbs(session, zypperAdapter);
  const { work, result, simulate, refusal, commit, check, all } = verbs;
  const told = ({ changes }: TransactionPlan): readonly string[] =>
    changes.map(({ name, from, to }) => `${name} ${from} ${to}`).sort();
  const installed = async (): Promise<readonly string[]> =>
    (await all()).map(({ name, version }) => `${name} ${version}`);
  const marked = async (): Promise<readonly string[]> =>
    (await all()).map(({ name, version, isManual }) => `${name} ${version} ${isManual}`);
  const refresh = () => session.host.exec([...zypperWords, "refresh"]);
  /** Brings exact versions as an administrator does. */
  const install = async (...names: readonly string[]): Promise<void> => {
    await session.host.exec([
      ...zypperWords,
      "--no-refresh",
      "install",
      "--no-recommends",
      "--oldpackage",
      "--",
      ...names,
    ]);
  };

  const relist = (more: readonly Advisory[] = []) => makeRpmRepository(session, [], [...advisories, ...more]);
  const tree: RpmTree = {
    name: "zypper",
    root: zypperRoot,
    verbs,
    command: zypperCommand,
    release: "15.5",
    lists: ["var/cache/zypp", "var/cache/zypp/raw/base"],
    install,
    remove: (...names) => session.host.exec([...zypperWords, "--no-refresh", "remove", "--", ...names]),
    markAutomatic: (name) => session.host.writeFile(`${zypperRoot}/var/lib/zypp/AutoInstalled`, `${name}\n`),
    relist,
  };

  beforeAll(() => makeRpmRepository(session, recipes, advisories));
  beforeEach(async () => {
    await session.shell(`rm -rf ${zypperRoot} /tmp/wait`);
    await makeZypperRoot(session);
    await refresh();
    await install("release=15.5");
  });

  it("reports what could be updated, what for security, and the newer release", async () => {
    await install("app=1.0", "library=1.0", "hole=1.0", "dated=1:1.0");
    const { updates, held, listsAt } = await result<AvailableUpdates>({ verb: "updates" });
    expect(updates.map(({ name, from, to, isSecurity }) => `${name} ${from} ${to} ${isSecurity}`).sort()).toEqual([
      "app 1.0-1 2.0-1 false",
      "dated 1:1.0-1 2:0.9-1 false",
      "hole 1.0-1 1.2-1 true",
      "library 1.0-1 2.0-1 false",
      "release 15.5-1 15.6-1 false",
    ]);
    expect(held).toEqual([]);
    expect(Number.isSafeInteger(listsAt)).toBe(true);
    expect(await result({ verb: "release" })).toEqual({
      version: "15.6",
      releaseDate: "",
      isSecurity: false,
      changelog: "",
    });
    expect(await check("security_updates")).toMatchObject({
      status: "warn",
      message: "1 security update is not installed: hole",
      details: {
        updates: [{ name: "hole", installed: "1.0-1", candidate: "1.2-1", suites: ["TEST-2026-1"], held: false }],
      },
    });
    expect(await result({ verb: "restartNeeds" })).toMatchObject({ requiresReboot: false });
  });

  it("changes nothing by asking, and does not ask again while nothing has changed", async () => {
    await install("app=1.0", "library=1.0", "hole=1.0");
    await result({ verb: "updates" });
    const before = await fileTree(session);
    await result({ verb: "updates" });
    await result({ verb: "release" });
    await check("zypper_status");
    await simulate({ type: "all" });
    await simulate({ isSecurityOnly: true });
    await result({ verb: "audit" });
    expect(changesSince(before, await fileTree(session), { ignore: books })).toEqual(nothingChanged);
    expect(await result({ verb: "countAgain" })).toBe(0);
  });

  testLists(session, tree);
  testChanges(session, tree);

  it("cannot refresh what is gone, and still knows what it knew", async () => {
    await session.shell(`mv ${rpmRepository} ${rpmRepository}.gone`);
    try {
      expect((await work({ verb: "refresh" })).error).toContain("Problem retrieving files from 'base'");
      expect(await result({ verb: "updates" })).toMatchObject({ updates: [{ name: "release" }] });
    } finally {
      await session.shell(`mv ${rpmRepository}.gone ${rpmRepository}`);
    }
  });

  it("installs exactly the version that closes the hole, one of three that could be updated", async () => {
    await install("app=1.0", "library=1.0", "hole=1.0");
    const plan = await simulate({ isSecurityOnly: true });
    expect(plan.changes).toEqual([
      { name: "hole", architecture: "noarch", from: "1.0-1", to: "1.1-1", isSecurity: true },
    ]);
    expect(plan.downloadBytes).toBeGreaterThan(0);
    await session.host.writeFile(`${zypperRoot}/etc/hole/conf`, "mine\n");
    const { result: done, lines, steps } = await work<TransactionResult>({ verb: "commit", id: "hole", plan });
    expect(done).toEqual({ isDone: true, reason: "" });
    expect(lines).toContain("(1/1) installing hole-1.1-1.noarch");
    expect(lines.join("\n")).not.toMatch(/<\w/);
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
    expect(await installed()).toEqual(["app 1.0-1", "hole 1.1-1", "library 1.0-1", "release 15.5-1"]);
    expect(await session.shell(`cat ${zypperRoot}/etc/hole/conf`)).toBe("mine\n");
    expect(await simulate({ isSecurityOnly: true })).toEqual({ changes: [], downloadBytes: 0, diskBytes: 0 });
    expect(await check("security_updates")).toMatchObject({ status: "pass" });
  });

  it("updates all, and keeps what somebody asked for apart from what came along", async () => {
    await install("library=1.0");
    await session.host.writeFile(`${zypperRoot}/var/lib/zypp/AutoInstalled`, "library\n");
    await install("app=1.0", "hole=1.0");
    expect(await marked()).toEqual(["app 1.0-1 true", "hole 1.0-1 true", "library 1.0-1 false", "release 15.5-1 true"]);
    const plan = await simulate({ type: "all" });
    expect(told(plan)).toEqual([
      "app 1.0-1 2.0-1",
      "extra null 1.0-1",
      "hole 1.0-1 1.2-1",
      "library 1.0-1 2.0-1",
      "release 15.5-1 15.6-1",
    ]);
    expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
    expect(await marked()).toEqual([
      "app 2.0-1 true",
      "extra 1.0-1 false",
      "hole 1.2-1 true",
      "library 2.0-1 false",
      "release 15.6-1 true",
    ]);
    expect(await simulate({ type: "all" })).toEqual({ changes: [], downloadBytes: 0, diskBytes: 0 });
    expect(await result({ verb: "audit" })).toEqual([]);
    expect(await check("zypper_status")).toMatchObject({
      status: "pass",
      message: "5 packages installed, all in order",
    });
  });

  it("updates the named packages with what they need", async () => {
    await install("app=1.0", "library=1.0", "steady=1.0");
    const plan = await simulate({ names: ["app"] });
    expect(namesOf(plan)).toEqual(["app", "extra", "library"]);
    expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual(["app 2.0-1", "extra 1.0-1", "library 2.0-1", "release 15.5-1", "steady 1.0-1"]);
    expect(await simulate({ names: ["app"] })).toMatchObject({ changes: [] });
    expect(await simulate({ names: [] })).toMatchObject({ changes: [] });
    for (const name of ["nowhere", "*", "app=1.0", "--help"])
      expect(await refusal({ names: [name] })).toBe(`UpdateRefused: ${name} is not installed`);
  });

  it("lets packages take the place of others only in an update of the system", async () => {
    await install("replaced=1.0");
    expect(namesOf(await simulate({ type: "packages" }))).toEqual(["release"]);
    const plan = await simulate({ type: "all" });
    expect(told(plan)).toEqual(["release 15.5-1 15.6-1", "replaced 1.0-1 null", "successor null 2.0-1"]);
    expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
    expect(await marked()).toEqual(["release 15.6-1 true", "successor 2.0-1 true"]);
  });

  it("goes to what the repositories have, older or not, where there are no releases", async () => {
    await describeRelease(session, "opensuse-tumbleweed");
    await install("steady=2.0");
    await session.shell(`mv ${rpmFile("steady", "2.0")} /root/`);
    try {
      await relist();
      await result({ verb: "refresh" });
      expect(namesOf(await simulate({ type: "packages" }))).toEqual(["release"]);
      const plan = await simulate({ type: "system" });
      expect(told(plan)).toEqual(["release 15.5-1 15.6-1", "steady 2.0-1 1.0-1"]);
      expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
      expect(await installed()).toEqual(["release 15.6-1", "steady 1.0-1"]);
    } finally {
      await session.shell(`mv /root/steady-2.0-1.noarch.rpm ${rpmFile("steady", "2.0")}`);
      await relist();
    }
  });

  it("keeps kernels beside each other, and takes none for left over", async () => {
    await install("kernel=1.0");
    const plan = await simulate({ names: ["kernel"] });
    expect(told(plan)).toEqual(["kernel null 2.0-1"]);
    expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual(["kernel 1.0-1", "kernel 2.0-1", "release 15.5-1"]);
    expect(await check("zypper_status")).toMatchObject({ status: "pass" });
    expect(await result({ verb: "repair", id: "one" })).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual(["kernel 1.0-1", "kernel 2.0-1", "release 15.5-1"]);
  });

  it("leaves what is held, and reports a hole in it", async () => {
    await install("steady=1.0", "hole=1.0");
    await session.host.exec([...zypperWords, "addlock", "stea*", "hole"]);
    const { updates, held } = await result<AvailableUpdates>({ verb: "updates" });
    expect(updates.map(({ name }) => name)).toEqual(["release"]);
    expect(held).toEqual(["hole", "steady"]);
    expect(namesOf(await simulate({ type: "all" }))).toEqual(["release"]);
    expect(await simulate({ isSecurityOnly: true })).toMatchObject({ changes: [] });
    expect(await refusal({ names: ["steady"] })).toBe("UpdateRefused: steady is held at its version");
    expect(await check("zypper_status")).toMatchObject({
      status: "warn",
      message: expect.stringMatching(/^2 packages held at their version and not updated: hole, steady/),
    });
    expect(await check("security_updates")).toMatchObject({
      status: "warn",
      details: { pending: 1, pending_held: 1, updates: [{ name: "hole", candidate: "1.1-1", held: true }] },
    });
  });

  it("holds packages by their names, and takes back just that", async () => {
    await install("steady=1.0", "hole=1.0");
    const hold = (isHeld: boolean, ...names: string[]) => work({ verb: "hold", names, isHeld });
    const held = async () => (await result<AvailableUpdates>({ verb: "updates" })).held;
    const locks = async () => (await session.host.exec([...zypperWords, "locks"])).stdout;
    const done = { result: { isDone: true, reason: "" } };
    expect(await hold(true, "steady", "hole")).toMatchObject(done);
    expect(await held()).toEqual(["hole", "steady"]);
    expect(await locks()).toMatch(/\| hole +\| package [\s\S]*\| steady +\| package /);
    expect(await hold(false, "hole")).toMatchObject(done);
    expect(await held()).toEqual(["steady"]);
    await session.host.exec([...zypperWords, "addlock", "stea*"]);
    expect(await hold(false, "steady")).toMatchObject({
      error: expect.stringMatching(/^UpdateRefused: steady is held by more than a lock of its name/),
    });
    expect(await locks()).toMatch(/\| stea\* +\| package /);
    await session.host.exec([...zypperWords, "removelock", "stea*"]);
    expect(await held()).toEqual([]);
  });

  it("reports a script that fails before a package is unpacked, and goes no further", async () => {
    await install("early=1.0", "steady=1.0");
    const { isDone, reason } = await commit(await simulate({ names: ["early"] }));
    expect(isDone).toBe(false);
    expect(reason).toMatch(/^early: its prein script failed \(I will not begin\)/);
    expect(await installed()).toEqual(["early 1.0-1", "release 15.5-1", "steady 1.0-1"]);
    expect(await result({ verb: "audit" })).toEqual([]);
    expect(await check("zypper_status")).toMatchObject({ status: "pass" });
  });

  it("reports a script that fails afterwards, although the package counts as installed", async () => {
    await install("late=1.0");
    expect(await commit(await simulate({ names: ["late"] }))).toEqual({
      isDone: false,
      reason: "late: its post script failed (I will not end)",
    });
    expect(await installed()).toEqual(["late 2.0-1", "release 15.5-1"]);
  });

  it("refuses a plan that is no longer what would be done", async () => {
    await install("app=1.0", "library=1.0", "steady=1.0");
    const plan = await simulate({ names: ["app"] });
    const short = { ...plan, changes: plan.changes.filter(({ name }) => name !== "extra") };
    expect((await work({ verb: "commit", id: "short", plan: short })).error).toMatch(
      /^UpdateRefused: what would be done has changed since it was planned \(now .*extra 1.0-1/,
    );
    const [steady] = (await simulate({ names: ["steady"] })).changes;
    const gone = { changes: [{ ...steady, to: "3.0-1" }], downloadBytes: 0, diskBytes: 0 } as TransactionPlan;
    expect((await work({ verb: "commit", id: "gone", plan: gone })).error).toMatch(
      /^UpdateRefused: what would be done has changed since it was planned: No provider of 'steady.noarch=3.0-1' found/,
    );
    expect(await installed()).toEqual(["app 1.0-1", "library 1.0-1", "release 15.5-1", "steady 1.0-1"]);
  });

  it.each([
    ["is gone", "mv {} /root/", "not found on medium"],
    ["is damaged", "cp {} /root/ && echo more >> {}", "Digest verification failed for file 'steady-2.0-1.noarch.rpm'"],
  ])("changes nothing when the file of a package %s", async (_what, spoil, reason) => {
    await install("steady=1.0", "hole=1.0");
    const plan = await simulate({ names: ["steady", "hole"] });
    await session.shell(spoil.replaceAll("{}", rpmFile("steady", "2.0")));
    try {
      expect(await commit(plan)).toMatchObject({ isDone: false, reason: expect.stringContaining(reason) });
      expect(await installed()).toEqual(["hole 1.0-1", "release 15.5-1", "steady 1.0-1"]);
    } finally {
      await session.shell(`mv /root/steady-2.0-1.noarch.rpm ${rpmFile("steady", "2.0")}`);
    }
  });

  it("changes nothing when the repository vanishes", async () => {
    await install("steady=1.0", "hole=1.0");
    const plan = await simulate({ names: ["steady", "hole"] });
    await session.shell(`mv ${rpmRepository} ${rpmRepository}.gone`);
    try {
      expect(await commit(plan)).toMatchObject({ isDone: false, reason: expect.stringContaining(rpmRepository) });
      expect(await installed()).toEqual(["hole 1.0-1", "release 15.5-1", "steady 1.0-1"]);
    } finally {
      await session.shell(`mv ${rpmRepository}.gone ${rpmRepository}`);
    }
  });

  describe("that inspects signatures", () => {
    const kept = "/root/unsigned";
    const sign = (signer: string, path: string) =>
      shell(
        `rpmsign --define '__gpg /usr/bin/gpg' --define '_gpg_name ${signer}' --define '_gpg_path ${signingKeys}' --addsign ${path} 2>&1`,
      );
    beforeAll(() => makeSigningKeys(session));
    beforeEach(async () => {
      await shell(`rm -rf ${kept} && cp -a ${rpmRepository} ${kept}`);
      await shell(`${exportKeys(["maker"], "--armor")} > /root/maker.asc`);
      await shell(`rpm --root ${zypperRoot} --import /root/maker.asc`);
      await install("steady=1.0", "hole=1.0");
    });
    const putBack = () => shell(`rm -rf ${rpmRepository} && mv ${kept} ${rpmRepository}`);

    it("refuses a package that is signed by somebody else, and takes the right one", async () => {
      try {
        await sign("maker", rpmFile("steady", "2.0"));
        await sign("stranger", rpmFile("hole", "1.2"));
        await relist();
        await useRepository(session, ["gpgcheck=1", "repo_gpgcheck=0", "pkg_gpgcheck=1"]);
        await result({ verb: "refresh" });
        const both = await simulate({ names: ["steady", "hole"] });
        expect(await commit(both, "both")).toMatchObject({
          isDone: false,
          reason: expect.stringContaining("Signatures public key is not available"),
        });
        expect(await installed()).toEqual(["hole 1.0-1", "release 15.5-1", "steady 1.0-1"]);
        const bare = await simulate({ names: ["release"] });
        expect(await commit(bare, "bare")).toMatchObject({
          isDone: false,
          reason: expect.stringContaining("File is unsigned"),
        });
        expect(await commit(await simulate({ names: ["steady"] }), "right")).toEqual({ isDone: true, reason: "" });
        expect(await installed()).toEqual(["hole 1.0-1", "release 15.5-1", "steady 2.0-1"]);
      } finally {
        await putBack();
      }
    });

    it("refuses lists that are signed by somebody else, and goes on with those that it has", async () => {
      const list = `${rpmRepository}/repodata/repomd.xml`;
      try {
        await relist();
        await shell(signed("stranger", `--armor --detach-sign ${list}`));
        await shell(`${exportKeys(["stranger"], "--armor")} > ${list}.key`);
        await useRepository(session, ["gpgcheck=1"]);
        await shell(`echo '<!-- newer -->' >> ${list}`);
        await shell(`rm ${list}.asc`);
        await shell(signed("stranger", `--armor --detach-sign ${list}`));
        expect((await work({ verb: "refresh" })).error).toContain("Signature verification failed for repomd.xml");
        expect(await shell(`rpm --root ${zypperRoot} --query gpg-pubkey | wc -l`)).toBe("1\n");
        expect(await result({ verb: "updates" })).toMatchObject({ listsAt: expect.any(Number) });
      } finally {
        await putBack();
      }
    });
  });

  describe("what is interrupted", () => {
    /** Zypper in the middle of the script of `slow`. */
    const begin = async (unit: string): Promise<number> => {
      await session.host.writeFile("/tmp/wait", "");
      await session.host.writeFile(`${zypperRoot}/tmp/wait`, "");
      const words = [...zypperWords, "--no-refresh", "update", "--", "slow"];
      await session.shell(`systemd-run --quiet --collect --unit=${unit} ${words.join(" ")}`);
      await eventually(async () => expect(await installed()).toContain("slow 2.0-1"));
      return Number((await session.shell(`cat ${zypperLock}`)).trim());
    };
    const letGo = () => session.shell(`rm -f /tmp/wait ${zypperRoot}/tmp/wait`);

    it("is found, named and mended", async () => {
      await install("slow=1.0");
      const pid = await begin("administrator");
      expect(await check("zypper_status")).toMatchObject({
        status: "pass",
        message: `zypper (process ${pid}) is changing packages right now`,
      });
      const plan = await simulate({ names: ["release"] });
      expect((await work({ verb: "commit", id: "locked", plan })).error).toMatch(
        new RegExp(`^PackagesLocked: zypper \\(process ${pid}\\) holds the lock`),
      );
      expect((await work({ verb: "refresh" })).error).toMatch(
        new RegExp(`^PackagesLocked: zypper \\(process ${pid}\\) holds the lock`),
      );
      await session.shell("systemctl kill --signal=KILL administrator.service");
      await letGo();
      await eventually(async () =>
        expect(await check("zypper_status")).toMatchObject({
          status: "fail",
          message: expect.stringMatching(
            /^The package manager was stopped in the middle of its work: slow \(left beside 2.0-1\)/,
          ),
        }),
      );
      expect(await result({ verb: "audit" })).toEqual(["slow 1.0-1 is left beside another version of it"]);
      await result({ verb: "finish" });
      expect(await check("zypper_status")).toMatchObject({
        status: "pass",
        message: "2 packages installed, all in order",
      });
      expect(await installed()).toEqual(["release 15.5-1", "slow 2.0-1"]);
    });

    it("waits for an administrator, and then does what was planned", async () => {
      await install("slow=1.0", "steady=1.0");
      const plan = await simulate({ names: ["steady"] });
      await begin("meanwhile");
      const running = work<TransactionResult>({ verb: "commit", id: "waiting", plan });
      await letGo();
      expect((await running).result).toEqual({ isDone: true, reason: "" });
      expect(await installed()).toEqual(["release 15.5-1", "slow 2.0-1", "steady 2.0-1"]);
    });

    it.each(momentsToKill([1, 2, 3, 4, 5, 6]))(
      "ends at the plan although zypper was killed at package %i of 6",
      async (at) => {
        const names = ["app", "library", "steady", "hole", "dated"];
        await install("app=1.0", "library=1.0", "steady=1.0", "hole=1.0", "dated=1:1.0");
        const plan = await simulate({ names });
        expect(plan.changes).toHaveLength(6);
        const id = `round-${at}`;
        const running = work<TransactionResult>({ verb: "commit", id, plan });
        await session.shell(
          `until grep -q '(${at}/6) Installing' /run/steward-packages/steward-packages-${id}.log 2>/dev/null; do :; done; ` +
            `systemctl kill --signal=KILL steward-packages-${id}.service 2>/dev/null || true`,
        );
        await running;
        const end = await result<GoneOn>({ verb: "goOn", id, plan });
        const isDone = { isDone: true, reason: "" };
        expect(end).toMatchObject({ repaired: isDone, committed: isDone, left: [], status: "pass" });
        expect(await installed()).toEqual([
          "app 2.0-1",
          "dated 2:0.9-1",
          "extra 1.0-1",
          "hole 1.2-1",
          "library 2.0-1",
          "release 15.5-1",
          "steady 2.0-1",
        ]);
      },
    );

    it("is repaired without anything else, and the marks are as they were", async () => {
      await install("slow=1.0", "steady=1.0");
      await session.host.writeFile(`${zypperRoot}/var/lib/zypp/AutoInstalled`, "slow\n");
      const plan = await simulate({ names: ["slow", "steady"] });
      await session.host.writeFile("/tmp/wait", "");
      await session.host.writeFile(`${zypperRoot}/tmp/wait`, "");
      const running = work<TransactionResult>({ verb: "commit", id: "killed", plan });
      await eventually(async () => expect(await installed()).toContain("slow 2.0-1"));
      await session.shell("systemctl kill --signal=KILL steward-packages-killed.service");
      expect((await running).result).toEqual({ isDone: false, reason: "it was ended by SIGKILL" });
      await letGo();
      await result({ verb: "settle", id: "killed" });
      expect(await result({ verb: "repair", id: "killed" })).toEqual({ isDone: true, reason: "" });
      expect((await marked()).filter((line) => line.startsWith("slow"))).toEqual(["slow 2.0-1 false"]);
      expect(await result({ verb: "audit" })).toEqual([]);
    });

    testLostCaller(session, tree);
  });

  testPackageFiles(session, tree);
  testZypperCatalog(session, tree, books);
  testWayBack(session, tree);
});
