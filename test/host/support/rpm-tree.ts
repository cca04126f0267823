import { expect, it } from "vitest";
import type { InstalledPackage, PackageFile, TransactionResult } from "#domain/ports/packages.ts";
import { eventually } from "./eventually.ts";
import type { createPackageWork, packageVerbs } from "./package-work.ts";
import { type Advisory, makeRpmRepository, type RpmRecipe, rpmFile } from "./rpm-host.ts";
import type { Session } from "./session.ts";

/** A script that continues for as long as a file is there; what is killed meanwhile is in the middle. */
export const waits = 'local file = "/tmp/wait"\nwhile posix.access(file) do posix.sleep(1) end';

/** Version of the package `release` that a tree has at first. */
export const release = "9.1";
const isRelease = [
  "Provides: distribution-release",
  "Provides: system-release = 9",
  "Provides: system-release(releasever) = 9",
];
const isKernel = { isSideBySide: true, header: ["Provides: multiversion(kernel)"] } as const;
export const longName = "a-package-whose-name-is-far-too-long-for-the-column-that-it-is-listed-in";
export const advisories: readonly Advisory[] = [{ id: "TEST-2026-1", name: "hole", version: "1.1" }];

/** Packages for every package manager of rpm's. */
export const commonRecipes: readonly RpmRecipe[] = [
  { name: "release", version: release, header: isRelease },
  { name: "release", version: "9.2", header: isRelease },
  ...["1.0", "2.0", "3.0"].map((version) => ({ name: "kernel", version, ...isKernel })),
  { name: longName, version: "1.0" },
  { name: longName, version: "2.0" },
  {
    name: "fancy",
    version: "1.0",
    header: [
      "Summary: Draws | €\tpictures",
      "Provides: painter = 3, libfancy.so.1()(64bit)",
      "Requires: (app or nothing-else), release >= 9",
      "Requires(pre): library",
      "Recommends: extra",
      "URL: https://fancy.example/",
      "Packager: Somebody <somebody@example.org>",
    ],
  },
  { name: "wanting", version: "1.0", header: ["Requires: painter"] },
  { name: "app", version: "1.0", header: ["Requires: library"] },
  { name: "app", version: "2.0", header: ["Requires: library >= 2", "Requires: extra"] },
  { name: "library", version: "1.0" },
  { name: "library", version: "2.0" },
  { name: "extra", version: "1.0" },
  { name: "hole", version: "1.0" },
  { name: "hole", version: "1.1" },
  { name: "hole", version: "1.2" },
  { name: "demanding", version: "1.0" },
  { name: "demanding", version: "1.1", header: ["Requires: library >= 2"] },
  { name: "steady", version: "1.0" },
  { name: "steady", version: "2.0" },
  { name: "replaced", version: "1.0" },
  { name: "successor", version: "2.0", header: ["Obsoletes: replaced < 2", "Provides: replaced = 2"] },
  { name: "early", version: "1.0" },
  { name: "early", version: "2.0", scripts: { "%pre": 'error("I will not begin")' } },
  { name: "late", version: "1.0" },
  { name: "late", version: "2.0", scripts: { "%post": 'error("I will not end")' } },
  { name: "slow", version: "1.0" },
  { name: "slow", version: "2.0", scripts: { "%post": waits } },
  { name: "dated", version: "1.0", epoch: 1 },
  { name: "dated", version: "0.9", epoch: 2 },
  { name: "lonely", version: "1.0" },
  { name: "needy", version: "1.0", header: ["Requires: extra"] },
  { name: "hopeless", version: "1.0", header: ["Requires: nowhere-to-be-had"] },
];

/** A tree with rpm's packages, and its package manager. */
export interface RpmTree {
  readonly name: "dnf" | "zypper";
  readonly root: string;
  readonly verbs: ReturnType<typeof packageVerbs>;
  /** The words that run the adapter. */
  readonly command: ReturnType<typeof createPackageWork>["command"];
  /** The program, as it is named when it holds the lock. */
  readonly program: string;
  /** Makes the tree again, without packages. */
  readonly makeRoot: () => Promise<unknown>;
  /** Where the lists are, below the root, and a pattern of those of the repository. */
  readonly lists: readonly [directory: string, ofRepository: string];
  /** Brings exact versions, `name=version`, as an administrator does. */
  readonly install: (...packages: readonly string[]) => Promise<unknown>;
  readonly remove: (...names: readonly string[]) => Promise<unknown>;
  /** Says that nobody asked for a package. */
  readonly markAutomatic: (name: string) => Promise<unknown>;
  /** Whether it knows after a killed transaction which packages nobody asked for. Dnf 4 takes them for asked for. */
  readonly keepsMarks: boolean;
  /** Holds `steady` at its new version, where that is said outside of what the adapter restores. */
  readonly holdSteady?: () => Promise<unknown>;
  /** Locks `steady` and `hole` at their versions, as an administrator does. */
  readonly holdBothByLock: () => Promise<unknown>;
  readonly holdSteadyByPattern: () => Promise<unknown>;
  /** The locks of single packages, sorted, each as {@link RpmTree.lockOf} has it. */
  readonly locks: () => Promise<readonly string[]>;
  readonly lockOf: (name: string) => string;
  /** Locks that are not the service's, and come first. */
  readonly foreignLocks?: readonly string[];
  readonly addForeignLocks?: () => Promise<unknown>;
  /** An administrator's update of packages, whose names follow. */
  readonly upgradeWords: readonly string[];
  /** The process that holds the lock for this unit. */
  readonly pidOf: (unit: string) => Promise<number>;
  /** What changes by questions, and by changes of packages. */
  readonly books: readonly RegExp[];
  readonly booksOfChanges: readonly RegExp[];
  /** Of its steps in an update of seven packages: at which it is killed, and what it writes then. */
  readonly steps: {
    readonly timestamps: readonly number[];
    readonly of: number;
    readonly line: (step: number) => string;
  };
  readonly says: Readonly<
    Record<
      | "repositoryGone"
      | "installing"
      | "earlyFailed"
      | "lateFailed"
      | "planIsShort"
      | "versionGone"
      | "fileGone"
      | "fileDamaged",
      RegExp
    >
  >;
  /** Words without which the host's rpm installs nothing; those of Debian's releases unless given. */
  readonly rpmWords?: readonly string[];
}

/** Writes the lists of the repository again, of the files that are there now. */
export const relist = (session: Host, more: readonly Advisory[] = []) =>
  makeRpmRepository(session, [], [...advisories, ...more]);

type Host = Pick<Session, "host" | "shell">;

/** Tests of the lists and of what they offer for security. */
export function testLists(session: Host, { root, verbs, lists, install }: RpmTree): void {
  const { shell } = session;
  const { result, refusal, check } = verbs;
  const [directory, ofRepository] = lists;

  it("reports missing lists, and downloads them", async () => {
    await shell(`rm -rf ${root}/${directory}`);
    expect(await result({ verb: "updates" })).toEqual({ updates: [], held: [], listsAt: null });
    expect(await check("security_updates")).toMatchObject({
      status: "warn",
      message: expect.stringMatching(/^There are no package lists/),
    });
    expect(await refusal({})).toBe("UpdateRefused: there are no package lists: they must be refreshed first");
    const found = `ls -d ${root}/${ofRepository} 2>/dev/null || true`;
    expect(await shell(found)).toBe("");
    await result({ verb: "refresh" });
    expect(await shell(found)).not.toBe("");
    expect(await result({ verb: "updates" })).toMatchObject({ updates: [{ name: "release" }] });
  });

  it("refuses security updates that need other updates", async () => {
    await install("demanding=1.0", "library=1.0");
    await relist(session, [{ id: "TEST-2026-2", name: "demanding", version: "1.1" }]);
    try {
      await result({ verb: "refresh" });
      expect(await refusal({ isSecurityOnly: true })).toBe(
        "UpdateRefused: the security updates need more than themselves: library 2.0-1",
      );
    } finally {
      await relist(session);
    }
  });
}

/** Tests of what is done with the files of packages. */
export function testPackageFiles(session: Host, tree: RpmTree): void {
  const { shell } = session;
  const { name: manager, root, verbs, install, remove, rpmWords = ["--force-debian"] } = tree;
  const { work, result, check, all, simulate, commit } = verbs;

  it("returns to exact versions from the files of packages", async () => {
    await install("app=1.0", "library=1.0", "steady=1.0", "dated=1:1.0", "replaced=1.0", "hole=1.0");
    await tree.markAutomatic("library");
    const before = await all();
    const directory = "/srv/kept";
    await shell(`rm -rf ${directory} && mkdir ${directory}`);
    const names = before.map(({ name }) => name);
    const files = await result<readonly PackageFile[]>({ verb: "fetch", names, directory });
    expect(new Set(files.map(({ origin }) => origin))).toEqual(new Set(["repository"]));
    expect(await result({ verb: "identify", path: `${directory}/dated-1%3a1.0-1.noarch.rpm` })).toEqual({
      name: "dated",
      architecture: "noarch",
      version: "1:1.0-1",
    });
    await session.host.writeFile(`${directory}/text.rpm`, "no package\n");
    expect((await work({ verb: "identify", path: `${directory}/text.rpm` })).error).toMatch(
      /^Error: text.rpm is not a package file/,
    );

    expect(await commit(await simulate({ type: "all" }))).toEqual({ isDone: true, reason: "" });
    await tree.markAutomatic("steady");
    await remove("hole");
    const versions = (found: readonly InstalledPackage[]) => found.map(({ name, version }) => `${name} ${version}`);
    expect(versions(await all())).toEqual(expect.arrayContaining(["app 2.0-1", "extra 1.0-1", "successor 2.0-1"]));
    await tree.holdSteady?.();

    const target = {
      files: files.map(({ name }) => `${directory}/${name}`),
      configuration: [],
      remove: [
        { name: "extra", architecture: "noarch", version: "1.0-1" },
        { name: "successor", architecture: "noarch", version: "2.0-1" },
      ],
      marks: before,
    };
    expect(await result({ verb: "restore", id: "back", target })).toEqual({ isDone: true, reason: "" });
    const after = await all();
    expect(after).toEqual(before);
    expect(await result({ verb: "restore", id: "back", target })).toEqual({ isDone: true, reason: "" });
    expect(await result({ verb: "updates" })).toMatchObject({ listsAt: expect.any(Number) });

    const torn = {
      ...target,
      files: [],
      remove: [{ name: "library", architecture: "noarch", version: "1.0-1" }],
      marks: [],
    };
    expect(await result({ verb: "restore", id: "torn", target: torn })).toMatchObject({
      isDone: false,
      reason: expect.stringContaining(`${manager} would not do just that`),
    });
    expect(await all()).toEqual(before);
  });

  it("cannot fetch a version that is nowhere", async () => {
    await install("steady=1.0");
    const file = rpmFile("steady", "1.0");
    await shell(`mv ${file} /root/`);
    try {
      await relist(session);
      await result({ verb: "refresh" });
      expect(await work({ verb: "fetch", names: ["steady"], directory: "/srv" })).toMatchObject({
        error: "PackageFileMissing: steady-1.0-1.noarch is neither in the cache nor in a repository",
      });
    } finally {
      await shell(`mv /root/steady-1.0-1.noarch.rpm ${file}`);
      await relist(session);
    }
  });

  it("installs missing dependencies, and reports those that are not available", async () => {
    await install("needy=1.0");
    await session.host.exec(["rpm", "--root", root, "--erase", "--nodeps", "extra"]);
    expect(await check(`${manager}_status`)).toMatchObject({
      status: "fail",
      message: expect.stringContaining("needy (Requires: extra)"),
    });
    expect(await result({ verb: "audit" })).toEqual(["needy lacks what it needs (Requires: extra)"]);
    expect(await result({ verb: "planMissing" })).toMatchObject({
      changes: [{ name: "extra", from: null, to: "1.0-1" }],
      obstacle: null,
    });
    await result({ verb: "installMissing" });
    expect(await check(`${manager}_status`)).toMatchObject({ status: "pass" });
    const file = rpmFile("hopeless", "1.0");
    await session.host.exec(["rpm", "--root", root, ...rpmWords, "--install", "--nodeps", file]);
    expect(await result({ verb: "planMissing" })).toMatchObject({
      changes: [],
      obstacle: expect.stringContaining("nowhere-to-be-had"),
    });
  });
}

/** Lets the script of `slow` wait until the answer is called. Rpm runs it in the tree or outside of it. */
export async function holdUp({ host, shell }: Host, root: string): Promise<() => Promise<unknown>> {
  const files = ["/tmp/wait", `${root}/tmp/wait`];
  for (const file of files) await host.writeFile(file, "");
  return () => shell(`rm -f ${files.join(" ")}`);
}

/** Tests of a transaction whose caller is gone. */
export function testLostCaller(session: Host, { root, verbs, command, install }: RpmTree): void {
  const { result, simulate, all } = verbs;
  const installed = async () => (await all()).map(({ name, version }) => `${name} ${version}`);

  it("continues when the process that waits for it is killed", async () => {
    await install("slow=1.0");
    const plan = await simulate({ names: ["slow"] });
    const letGo = await holdUp(session, root);
    const words = command({ verb: "commit", id: "lost", plan }).map((word) => `'${word}'`);
    await session.shell(`systemd-run --quiet --collect --unit=caller ${words.join(" ")}`);
    await eventually(async () => expect(await installed()).toContain("slow 2.0-1"));
    await session.host.exec(["systemctl", "kill", "--signal=KILL", "caller.service"]);
    await session.shell("systemctl is-active steward-packages-lost.service");
    const settled = result<TransactionResult>({ verb: "settle", id: "lost" });
    await letGo();
    await settled;
    expect(await result({ verb: "audit" })).toEqual([]);
    expect(await installed()).toEqual([`release ${release}-1`, "slow 2.0-1"]);
  });
}
