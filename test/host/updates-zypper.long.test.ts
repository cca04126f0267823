import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import { catalogOf, expectJustMade, reportedOf } from "./support/catalog.ts";
import { eventually } from "./support/eventually.ts";
import { namesOf, packageVerbs } from "./support/package-work.ts";
import { testCatalog } from "./support/rpm-catalog.ts";
import { rpmFile, rpmRepository } from "./support/rpm-host.ts";
import { holdUp, type RpmTree, relist } from "./support/rpm-tree.ts";
import { testUpdates } from "./support/rpm-updates.ts";
import { describeOnHost, type Session } from "./support/session.ts";
import { exportKeys, makeSigningKeys, signed, signingKeys } from "./support/signing-keys.ts";
import {
  describeRelease,
  makeZypperRoot,
  useRepository,
  zypperAdapter,
  zypperLock,
  zypperRoot,
  zypperWords,
} from "./support/zypper-host.ts";

/** Zypper's own books: its caches, its history, and what readers of rpm's database share. Snapper works by its timers meanwhile. */
const books = [
  /^\/var\/log\/snapper\.log$/,
  /^\/var\/log\/journal\//,
  /^\/(?:var\/)?tmp\/systemd-private-/,
  /^\/srv\/zypperhost\/var\/(?:log|cache\/zypp\/solv)(?:\/|$)/,
  /\.sqlite(?:-shm|-wal)?$/,
];
const asking = [...zypperWords, "--no-refresh"] as const;

function zypperTree(session: Session): RpmTree {
  const { shell } = session;
  return {
    name: "zypper",
    program: "zypper",
    root: zypperRoot,
    verbs: packageVerbs(session, zypperAdapter),
    command: zypperAdapter.command,
    async makeRoot() {
      await makeZypperRoot(session);
      await session.host.exec([...zypperWords, "refresh"]);
    },
    lists: ["var/cache/zypp", "var/cache/zypp/raw/base"],
    install: (...packages) =>
      session.host.exec([...asking, "install", "--no-recommends", "--oldpackage", "--", ...packages]),
    remove: (...names) => session.host.exec([...asking, "remove", "--", ...names]),
    markAutomatic: (name) => session.host.writeFile(`${zypperRoot}/var/lib/zypp/AutoInstalled`, `${name}\n`),
    keepsMarks: true,
    holdBothByLock: () => session.host.exec([...zypperWords, "addlock", "stea*", "hole"]),
    holdSteadyByPattern: () => session.host.exec([...zypperWords, "addlock", "stea*"]),
    async locks() {
      const { stdout } = await session.host.exec([...zypperWords, "locks"]);
      return [...stdout.matchAll(/\| ([a-z]+) +\| package /g)].map(([, name = ""]) => name).sort();
    },
    lockOf: (name) => name,
    upgradeWords: [...asking, "update", "--"],
    pidOf: async () => Number((await shell(`cat ${zypperLock}`)).trim()),
    books,
    booksOfChanges: [
      ...books,
      /^\/srv\/zypperhost\/(?:var\/(?:cache|lib)(?:\/|$)|run\/zypp\.pid$)/,
      /^\/srv\/rpm-repository\/.*\.rpm$/,
      /^\/var\/log\/zypper\.log$/,
    ],
    steps: { timestamps: [1, 2, 3, 4, 5, 6, 7], of: 7, line: (step) => `(${step}/7) Installing` },
    says: {
      repositoryGone: /Problem retrieving files from 'base'/,
      installing: /^\(1\/1\) installing hole-1\.1-1\.noarch$/m,
      earlyFailed: /^early: its prein script failed \(I will not begin\)/,
      lateFailed: /^late: its post script failed \(I will not end\)$/,
      planIsShort: /^UpdateRefused: what would be done has changed since it was planned \(now .*extra 1.0-1/,
      versionGone:
        /^UpdateRefused: what would be done has changed since it was planned: No provider of 'steady.noarch=3.0-1' found/,
      fileGone: /not found on medium/,
      fileDamaged: /Digest verification failed for file 'steady-2.0-1.noarch.rpm'/,
    },
  };
}

describeOnHost("zypper as the package manager of updates", (session) => {
  const { shell } = session;
  const tree = zypperTree(session);
  const { install } = tree;
  const { work, result, simulate, commit, all } = tree.verbs;
  const reported = ({ changes }: TransactionPlan): readonly string[] =>
    changes.map(({ name, from, to }) => `${name} ${from} ${to}`).sort();
  const installed = async (): Promise<readonly string[]> =>
    (await all()).map(({ name, version }) => `${name} ${version}`);

  testUpdates(session, tree);

  const search = async (...asked: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await session.host.exec([...asking, "search", "--type", "package", ...asked]);
    const names = stdout.split("\n").flatMap((line) => /^[^|]{1,4}\| (\S+) +\|/.exec(line)?.[1] ?? []);
    return [...new Set(names)].filter((name) => name !== "Name").sort();
  };
  testCatalog(session, tree, {
    names: () => search(),
    words: ["fancy", "painter", "MADE for"],
    find: (word) => search("--search-descriptions", "--provides", "--", word),
    installWanting: () => session.host.exec([...asking, "install", "--recommends", "wanting"]),
    foundSummary: "Draws | € pictures",
    books,
    async protectSteady() {
      await tree.holdSteadyByPattern();
      await session.host.writeFile(`${zypperRoot}/etc/zypp/systemCheck`, "## a comment\nrequires:steady\n");
    },
  });

  it("reports zypper's history, newest first, with rotated files", async () => {
    const { history, asNobody } = catalogOf(session, tree.verbs, tree.command);
    const log = `${zypperRoot}/var/log/zypp/history`;
    await tree.install("app=1.0", "library=1.0", "replaced=1.0", "dated=1:1.0", "kernel=1.0");
    await shell(`mv ${log} ${log}-20260101 && gzip ${log}-20260101`);
    await session.host.exec([...asking, "install", "--recommends", "fancy"]);
    await shell(`mv ${log} ${log}-20260201`);
    await session.host.exec([...asking, "update", "dated", "app"]);
    await session.host.exec([...asking, "install", "--force", "dated"]);
    await session.host.exec([...asking, "install", "--oldpackage", "kernel=2.0", "dated=1:1.0"]);
    await session.host.exec([...asking, "install", "early=2.0"]).catch(() => undefined);
    await tree.remove("fancy");
    const logged = await history();
    const reported = reportedOf(logged);
    expect(reported.slice(0, 6)).toEqual([
      ["remove fancy 1.0-1 undefined"],
      [],
      ["downgrade dated 2:0.9-1 1:1.0-1", "install kernel undefined 2.0-1"],
      ["reinstall dated 2:0.9-1 2:0.9-1"],
      ["upgrade app 1.0-1 2.0-1", "upgrade dated 1:1.0-1 2:0.9-1", "upgrade library 1.0-1 2.0-1"],
      ["install extra undefined 1.0-1 too", "install fancy undefined 1.0-1"],
    ]);
    expect(logged[1]?.error).toMatch(/^early-2\.0-1\.noarch\.rpm install failed\n[\s\S]*I will not begin/);
    expectJustMade(logged);
    expect(logged[0]?.commandLine).toMatch(/^zypper --root .* remove -- fancy$/);
    expect(await asNobody({ verb: "history" })).toEqual(JSON.parse(JSON.stringify(logged)));
    await shell(`chmod 600 ${log}`);
    await expect(asNobody({ verb: "history" })).rejects.toThrow(
      `HostUnavailable: cannot read the history of packages: ${log}: EACCES`,
    );
  });

  it("moves to the repositories' versions, older or not, on a rolling distribution", async () => {
    await describeRelease(session, "opensuse-tumbleweed");
    await install("steady=2.0");
    await shell(`mv ${rpmFile("steady", "2.0")} /root/`);
    try {
      await relist(session);
      await result({ verb: "refresh" });
      expect(namesOf(await simulate({ type: "packages" }))).toEqual(["release"]);
      const plan = await simulate({ type: "system" });
      expect(reported(plan)).toEqual(["release 9.1-1 9.2-1", "steady 2.0-1 1.0-1"]);
      expect(await commit(plan)).toEqual({ isDone: true, reason: "" });
      expect(await installed()).toEqual(["release 9.2-1", "steady 1.0-1"]);
    } finally {
      await shell(`mv /root/steady-2.0-1.noarch.rpm ${rpmFile("steady", "2.0")}`);
      await relist(session);
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

    it("refuses a package with a foreign signature, and installs the one with the right signature", async () => {
      try {
        await sign("maker", rpmFile("steady", "2.0"));
        await sign("stranger", rpmFile("hole", "1.2"));
        await relist(session);
        await useRepository(session, ["gpgcheck=1", "repo_gpgcheck=0", "pkg_gpgcheck=1"]);
        await result({ verb: "refresh" });
        const both = await simulate({ names: ["steady", "hole"] });
        expect(await commit(both, "both")).toMatchObject({
          isDone: false,
          reason: expect.stringContaining("Signatures public key is not available"),
        });
        expect(await installed()).toEqual(["hole 1.0-1", "release 9.1-1", "steady 1.0-1"]);
        const bare = await simulate({ names: ["release"] });
        expect(await commit(bare, "bare")).toMatchObject({
          isDone: false,
          reason: expect.stringContaining("File is unsigned"),
        });
        expect(await commit(await simulate({ names: ["steady"] }), "right")).toEqual({ isDone: true, reason: "" });
        expect(await installed()).toEqual(["hole 1.0-1", "release 9.1-1", "steady 2.0-1"]);
      } finally {
        await putBack();
      }
    });

    it("refuses lists with a foreign signature, and keeps those that it has", async () => {
      const list = `${rpmRepository}/repodata/repomd.xml`;
      try {
        await relist(session);
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

  it("waits for an administrator, and then does what was planned", async () => {
    await install("slow=1.0", "steady=1.0");
    const plan = await simulate({ names: ["steady"] });
    const letGo = await holdUp(session, zypperRoot);
    await shell(`systemd-run --quiet --collect --unit=meanwhile ${tree.upgradeWords.join(" ")} slow`);
    await eventually(async () => expect(await installed()).toContain("slow 2.0-1"));
    const running = work<TransactionResult>({ verb: "commit", id: "waiting", plan });
    await letGo();
    expect((await running).result).toEqual({ isDone: true, reason: "" });
    expect(await installed()).toEqual(["release 9.1-1", "slow 2.0-1", "steady 2.0-1"]);
  });
});
