import { expect, it } from "vitest";
import { catalogOf, expectJustMade, reportedOf, sortedNames } from "./catalog.ts";
import { changesSince, fileTree } from "./file-tree.ts";
import type { Described } from "./package-work.ts";
import type { RpmTree } from "./rpm-tree.ts";
import type { Session } from "./session.ts";

/** What the tests of a catalog need of a package manager besides its tree. */
export interface CatalogJudge {
  /** Names of all packages, as the manager itself has them. */
  readonly names: () => Promise<readonly string[]>;
  /** Words to search for, and the names that the manager itself finds. */
  readonly words: readonly string[];
  readonly find: (word: string) => Promise<readonly string[]>;
  /** Installs `wanting` with what it recommends. */
  readonly installWanting: () => Promise<unknown>;
  /** Of `fancy` in a search: zypper has no tabs in its tables. */
  readonly foundSummary: string;
  /** What the manager writes when it is asked. */
  readonly books: readonly RegExp[];
  /** Holds `steady` at its old version, and protects it. */
  readonly protectSteady: () => Promise<unknown>;
}

/** Tests of what is known of packages, with the package manager itself and rpm as the judges. */
export function testCatalog(session: Session, tree: RpmTree, judge: CatalogJudge): void {
  const { root, verbs, command, install } = tree;
  const { search, describe, asNobody } = catalogOf(session, verbs, command);

  it("finds the packages that the manager itself finds, for every user, and changes nothing", async () => {
    await session.shell(`mkdir -p -m 1777 ${root}/var/tmp`);
    await install("app=1.0", "library=1.0", "fancy=1.0", "steady=1.0");
    expect(sortedNames(await search())).toEqual(await judge.names());
    const before = await fileTree(session);
    const found = await search("PICTURES", "draws");
    expect(found).toEqual([
      {
        name: "fancy",
        architecture: "noarch",
        version: "1.0-1",
        section: "",
        summary: judge.foundSummary,
        installedBytes: expect.any(Number),
        downloadBytes: expect.any(Number),
      },
    ]);
    const changes = changesSince(before, await fileTree(session), { ignore: judge.books });
    expect(changes).toEqual({ added: [], removed: [], changed: [] });
    expect(await asNobody({ verb: "search", words: ["pictures"] })).toEqual(found);
    for (const word of judge.words)
      expect([word, sortedNames(await search(word))]).toEqual([word, await judge.find(word)]);
    expect(sortedNames(await search("painter"))).toEqual(["fancy"]);
    expect(await search("libfancy.so.1")).toEqual([]);
    // The newest version, of what is installed as of what is not.
    const versions = (await search("made for a test")).map(({ name, version }) => `${name} ${version}`);
    expect(versions).toEqual(expect.arrayContaining(["steady 2.0-1", "hole 1.2-1", "dated 2:0.9-1"]));
  });

  it("shows a package, what needs it and its files", async () => {
    await session.shell(`mkdir -p -m 1777 ${root}/var/tmp`);
    await install("app=1.0", "library=1.0");
    await judge.installWanting();
    const { details, requiring, files } = await describe("fancy");
    expect(details).toMatchObject({
      name: "fancy",
      installed: { version: "1.0-1", isManual: false, isHeld: false, state: "installed" },
      candidate: "1.0-1",
      versions: [{ version: "1.0-1", origins: [{ location: "base" }] }],
      maintainer: "Somebody <somebody@example.org>",
      homepage: "https://fancy.example/",
      summary: "Draws | €\tpictures",
      description: "Made for a test.",
      isEssential: false,
    });
    expect(details?.depends.toSorted()).toEqual(["(app or nothing-else)", "library", "release >= 9"]);
    expect(details?.provides).toEqual(expect.arrayContaining(["painter = 3", "fancy = 1.0-1"]));
    const listed = await session.host.exec(["rpm", "--root", root, "--query", "--list", "fancy"]);
    expect(files).toEqual(listed.stdout.trim().split("\n"));
    expect(requiring).toEqual([{ name: "wanting", relation: "depends", isAlternative: false }]);
    const ofFancy = (relation: string, isAlternative = false) => ({ name: "fancy", relation, isAlternative });
    expect((await describe("extra")).requiring).toEqual([ofFancy("recommends")]);
    expect((await describe("app")).requiring).toEqual([ofFancy("depends", true)]);
    expect((await describe("library")).requiring).toContainEqual(ofFancy("pre_depends"));
    expect(await asNobody<Described>({ verb: "describe", name: "library" })).toEqual(await describe("library"));
    const { details: along } = await asNobody<Described>({ verb: "describe", name: "extra" });
    expect(along?.installed).toMatchObject({ isManual: false });
    const { details: dated } = await describe("dated");
    expect(dated?.installed).toBeUndefined();
    expect(dated).toMatchObject({
      candidate: "2:0.9-1",
      versions: [{ version: "2:0.9-1" }, { version: "1:1.0-1" }],
      depends: [],
    });
    for (const name of ["nowhere", "*", "--help", "fancy-1.0", "painter", "fancy:i686", "FANCY", ""])
      expect([name, await describe(name)]).toEqual([name, { details: null, requiring: [], files: null }]);
  });

  it("has no held package as a candidate, and shows installed packages without any list", async () => {
    await install("steady=1.0");
    expect((await describe("steady")).details).toMatchObject({ candidate: "2.0-1", isEssential: false });
    await judge.protectSteady();
    expect((await describe("steady")).details).toMatchObject({
      candidate: "1.0-1",
      versions: [
        { version: "2.0-1", origins: [{ location: "base" }] },
        { version: "1.0-1", origins: [{ location: "base" }] },
      ],
      isEssential: true,
    });
    await session.shell(`rm -rf ${root}/${tree.lists[0]}`);
    expect((await describe("steady")).details).toMatchObject({
      candidate: "1.0-1",
      versions: [{ version: "1.0-1", origins: [] }],
      summary: "made for a test",
    });
    expect((await verbs.work({ verb: "search", words: [] })).error).toMatch(
      /^HostUnavailable: the lists of packages cannot be read: /,
    );
  });
}

/** The same with dnf of either generation, and its history. @param words that run dnf on the tree. */
export function testDnfCatalog(session: Session, tree: RpmTree, words: readonly string[]): void {
  const query = async (...asked: readonly string[]): Promise<readonly string[]> => {
    const argv = [...words, "--cacheonly", "repoquery", "--queryformat=%{name}\\n", ...asked];
    return (await session.host.exec(argv)).stdout.split("\n").filter((line) => line !== "");
  };
  testCatalog(session, tree, {
    names: async () => [...new Set([...(await query("--available")), ...(await query("--installed"))])].sort(),
    words: ["fancy"],
    async find(word) {
      const { stdout } = await session.host.exec([...words, "--cacheonly", "search", "--all", word]);
      return [...new Set([...stdout.matchAll(/^ ?([\w-]+)\.noarch\b/gm)].map(([, name = ""]) => name))].sort();
    },
    installWanting: () => tree.install("wanting=1.0"),
    foundSummary: "Draws | €\tpictures",
    books: [
      ...tree.booksOfChanges,
      /^\/(?:var\/)?tmp\//,
      /^\/srv\/rpmhost\/var\/(?:log|cache\/dnf|tmp)(?:\/|$)/,
      /\/\.keyring\.lock$/,
    ],
    protectSteady: () =>
      session.shell(
        `printf '[main]\\nexcludepkgs=steady-2.0*\\n' >${tree.root}/etc/dnf/dnf.conf && mkdir -p ${tree.root}/etc/dnf/protected.d && echo steady >${tree.root}/etc/dnf/protected.d/own.conf`,
      ),
  });

  it("reports dnf's history, newest first", async () => {
    const { history, asNobody } = catalogOf(session, tree.verbs, tree.command);
    await session.shell(`mkdir -p -m 1777 ${tree.root}/var/tmp`);
    await tree.install("app=1.0", "library=1.0", "fancy=1.0", "replaced=1.0", "dated=1:1.0");
    await session.host.exec([...words, "upgrade", "dated", "replaced", "app"]);
    await session.host.exec([...words, "reinstall", "dated"]);
    await tree.remove("fancy");
    const logged = await history();
    const reported = reportedOf(logged);
    expect(reported[0]).toContain("remove fancy 1.0-1 undefined");
    expect(reported[1]).toEqual(["reinstall dated 2:0.9-1 2:0.9-1"]);
    expect(reported[2]).toEqual(
      expect.arrayContaining([
        "install successor undefined 2.0-1",
        "remove replaced 1.0-1 undefined too",
        "upgrade app 1.0-1 2.0-1",
        "upgrade dated 1:1.0-1 2:0.9-1",
        "upgrade library 1.0-1 2.0-1",
      ]),
    );
    expect(reported[3]).toContain("install extra undefined 1.0-1 too");
    expect(reported[3]).toContain("install fancy undefined 1.0-1");
    expectJustMade(logged);
    expect(logged.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(logged[0]?.commandLine).toMatch(/remove fancy$/);
    expect(await asNobody({ verb: "history" })).toEqual(JSON.parse(JSON.stringify(logged)));
    const list = (await session.host.exec([...words, "history", "list"])).stdout;
    expect(list.match(/^ *\d+ /gm)).toHaveLength(logged.length);
  });
}
