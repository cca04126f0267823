import { packageVerbs } from "./package-work.ts";
import { dnf5Adapter, dnf5Words, dnfAdapter, dnfWords, makeRpmRoot, rpmRoot } from "./rpm-host.ts";
import type { RpmTree } from "./rpm-tree.ts";
import type { Session } from "./session.ts";

/** What others than dnf write meanwhile, and rpm. */
const booksOfOthers = [
  /^\/var\/log\/journal\//,
  // The daemon of snapper writes it when it ends, whenever that is.
  /^\/var\/log\/snapper\.log$/,
  /^\/(?:var\/)?tmp\/systemd-private-/,
  /\.sqlite(?:-shm|-wal)?$/,
];
/** Of dnf 4: its log, its cache, and checksums that it notes beside files of a repository. */
const books4 = [
  ...booksOfOthers,
  /^\/srv\/rpmhost\/var\/(?:log|cache\/dnf)(?:\/|$)/,
  /^\/srv\/rpm-repository\/.*\.rpm$/,
  /^\/var\/cache\/dnf\/packages\.db$/,
];
/** Dnf 5 keeps no books of questions. */
const books5 = [...booksOfOthers, /\/\.keyring\.lock$/];

/** Words of dnf on the tree, with versions behind a dash. */
const installing =
  (session: Pick<Session, "host">, words: readonly string[]) =>
  (...packages: readonly string[]) =>
    session.host.exec([...words, "install", ...packages.map((each) => each.replace("=", "-"))]);
const excludeSteady = (session: Pick<Session, "host">) =>
  session.host.writeFile(`${rpmRoot}/etc/dnf/dnf.conf`, "[main]\ninstallonly_limit=2\nexcludepkgs = other, stea*\n");

/** The tree with dnf 4. */
export function dnfTree(session: Session): RpmTree {
  const { shell } = session;
  const list = "/etc/dnf/plugins/versionlock.list";
  const fileOfRepository = /Package "steady-2.0-1.noarch" from local repository/;
  const lines = (...of: readonly string[]) => `${of.join("\n")}\n`;
  return {
    name: "dnf",
    program: "dnf",
    root: rpmRoot,
    verbs: packageVerbs(session, dnfAdapter),
    command: dnfAdapter.command,
    makeRoot: () => makeRpmRoot(session),
    lists: ["var/cache/dnf", "var/cache/dnf/base-*/repodata"],
    install: installing(session, dnfWords),
    remove: (...names) => session.host.exec([...dnfWords, "remove", ...names]),
    markAutomatic: (name) => session.host.exec([...dnfWords, "mark", "remove", name]),
    keepsMarks: false,
    holdSteady: () => session.host.writeFile(list, lines("steady-0:2.0-1.*")),
    holdBothByLock: () => session.host.writeFile(list, lines("steady-0:1.0-1.*", "hole-0:1.0-1.*")),
    holdSteadyByPattern: () => excludeSteady(session),
    locks: async () => (await shell(`grep -v '^#' ${list} | sort || true`)).split("\n").filter((line) => line !== ""),
    lockOf: (name) => `${name}-0:1.0-1.*`,
    foreignLocks: ["!hole-0:9.0-1.*"],
    addForeignLocks: () => shell(`echo '!hole-0:9.0-1.*' >>${list}`),
    upgradeWords: [...dnfWords, "upgrade"],
    pidOf: async () => Number((await shell(`cat ${rpmRoot}/var/lib/dnf/rpmdb_lock.pid`)).trim()),
    books: books4,
    booksOfChanges: books4,
    steps: { timestamps: [1, 2, 4, 6, 7, 9, 11, 13], of: 13, line: (step) => ` ${step}/13 ` },
    says: {
      repositoryGone: /Failed to download metadata for repo 'base'/,
      installing: /Upgrading +: hole-1.1-1.noarch/,
      earlyFailed: /^early: its PREIN script failed .*I will not begin/,
      lateFailed: /^late: its POSTIN script failed .*I will not end/,
      planIsShort: /^UpdateRefused: .*extra-1.0-1.noarch/,
      versionGone: /^UpdateRefused: .*steady-3.0-1.noarch/,
      fileGone: fileOfRepository,
      fileDamaged: fileOfRepository,
    },
  };
}

/** The tree with dnf 5. */
export function dnf5Tree(session: Session): RpmTree {
  const { shell } = session;
  const locks = ['version = "1.0"', "[[packages]]", 'name = "steady"', "[[packages.conditions]]"];
  const steadyAtNew = [...locks, 'key = "evr"', 'comparator = "="', 'value = "2.0-1"', ""].join("\n");
  const download = /steady-2.0-1.noarch.rpm.*Failed to download packages/;
  return {
    ...dnfTree(session),
    program: "dnf5",
    verbs: packageVerbs(session, dnf5Adapter),
    command: dnf5Adapter.command,
    lists: ["var/cache/libdnf5", "var/cache/libdnf5/base-*/repodata"],
    rpmWords: [],
    install: installing(session, dnf5Words),
    remove: (...names) => session.host.exec([...dnf5Words, "remove", ...names]),
    markAutomatic: (name) => session.host.exec([...dnf5Words, "mark", "dependency", name]),
    keepsMarks: true,
    holdSteady: () => session.host.writeFile(`${rpmRoot}/etc/dnf/versionlock.toml`, steadyAtNew),
    holdBothByLock: () => session.host.exec([...dnf5Words, "versionlock", "add", "steady", "hole"]),
    locks: async () => {
      const { stdout } = await session.host.exec([...dnf5Words, "versionlock", "list"]);
      return [...stdout.matchAll(/^Package name: (\S+)$/gm)].map(([, name = ""]) => name).sort();
    },
    lockOf: (name) => name,
    foreignLocks: [],
    addForeignLocks: () => Promise.resolve(),
    upgradeWords: [...dnf5Words, "upgrade"],
    pidOf: async (unit) => Number((await shell(`systemctl show --property=MainPID --value ${unit}.service`)).trim()),
    books: books5,
    booksOfChanges: [
      ...books5,
      /^\/srv\/rpmhost\/(?:usr\/lib\/sysimage|var\/log|var\/cache\/libdnf5|var\/lib\/dnf)(?:\/|$)/,
    ],
    steps: {
      timestamps: [1, 2, 3, 4, 6, 8, 10, 12, 15],
      of: 15,
      line: (step) => `^\\[ *${step}/15\\]`,
    },
    says: {
      repositoryGone: /Failed to download metadata .*for repository "base"/,
      installing: /Upgrading hole-0:1.1-1.noarch/,
      earlyFailed: /^early: its %pre script failed .*I will not begin/,
      lateFailed: /^late: its %post script failed .*I will not end/,
      planIsShort: /^UpdateRefused: .*extra-1.0-1.noarch/,
      versionGone: /^UpdateRefused: .*steady-3.0-1.noarch/,
      fileGone: download,
      fileDamaged: download,
    },
  };
}
