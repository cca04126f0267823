import { expect, it } from "vitest";
import { catalogOf, expectJustMade, sortedNames, toldOf } from "./catalog.ts";
import { changesSince, fileTree } from "./file-tree.ts";
import type { Described } from "./package-work.ts";
import type { RpmRecipe } from "./rpm-host.ts";
import type { RpmTree } from "./rpm-tree.ts";
import type { Session } from "./session.ts";

export const catalogRecipes: readonly RpmRecipe[] = [
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
];

/** What dnf writes down of itself when it is asked, and what SQLite needs to share a file. */
const books = [
  /^\/var\/log\/journal\//,
  /^\/var\/log\/snapper\.log$/,
  /^\/(?:var\/)?tmp\//,
  /^\/srv\/rpmhost\/var\/(?:log|cache\/dnf|tmp)(?:\/|$)/,
  /\.sqlite(?:-shm|-wal)?$/,
  /\/\.keyring\.lock$/,
];

/** Tests of what is known of packages, with dnf itself and rpm as the judges. @param words that run dnf on the tree. */
export function testCatalog(session: Session, tree: RpmTree, words: readonly string[]): void {
  const { root, verbs, command, install, remove } = tree;

  const { search, describe, history, asNobody } = catalogOf(session, verbs, command);
  const itsNames = async (...asked: readonly string[]): Promise<readonly string[]> => {
    const argv = [...words, "--cacheonly", "repoquery", "--queryformat=%{name}\\n", ...asked];
    const { stdout } = await session.host.exec(argv);
    return [...new Set(stdout.split("\n").filter((line) => line !== ""))].sort();
  };

  it("finds what dnf has and finds, whoever asks, and changes nothing by it", async () => {
    await session.shell(`mkdir -p -m 1777 ${root}/var/tmp`);
    await install("app=1.0", "library=1.0", "fancy=1.0", "steady=1.0");
    const all = [...new Set([...(await itsNames("--available")), ...(await itsNames("--installed"))])].sort();
    expect(sortedNames(await search())).toEqual(all);
    const before = await fileTree(session);
    const found = await search("PICTURES", "draws");
    expect(found).toEqual([
      {
        name: "fancy",
        architecture: "noarch",
        version: "1.0-1",
        section: "",
        summary: "Draws | €\tpictures",
        installedBytes: expect.any(Number),
        downloadBytes: expect.any(Number),
      },
    ]);
    expect(changesSince(before, await fileTree(session), { ignore: books })).toEqual({
      added: [],
      removed: [],
      changed: [],
    });
    expect(await asNobody({ verb: "search", words: ["pictures"] })).toEqual(found);
    const { stdout } = await session.host.exec([...words, "--cacheonly", "search", "--all", "fancy"]);
    const its = [...stdout.matchAll(/^ ?([\w-]+)\.noarch\b/gm)].map(([, name = ""]) => name);
    expect(sortedNames(await search("fancy"))).toEqual([...new Set(its)].sort());
    expect(sortedNames(await search("painter"))).toEqual(["fancy"]);
    expect(await search("libfancy.so.1")).toEqual([]);
    // The newest version, of what is installed as of what is not.
    const versions = (await search("made for a test")).map(({ name, version }) => `${name} ${version}`);
    expect(versions).toEqual(expect.arrayContaining(["steady 2.0-1", "hole 1.2-1", "dated 2:0.9-1"]));
  });

  it("shows a package, what needs it and its files", async () => {
    await session.shell(`mkdir -p -m 1777 ${root}/var/tmp`);
    await install("app=1.0", "library=1.0", "wanting=1.0");
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
    expect(requiring).toEqual([{ name: "wanting", relation: "depends", isAlternative: false }]);
    const listed = await session.host.exec(["rpm", "--root", root, "--query", "--list", "fancy"]);
    expect(files).toEqual(listed.stdout.trim().split("\n"));
    expect((await describe("extra")).requiring).toEqual([
      { name: "fancy", relation: "recommends", isAlternative: false },
    ]);
    expect((await describe("app")).requiring).toEqual([{ name: "fancy", relation: "depends", isAlternative: true }]);
    const { requiring: needed } = await describe("library");
    expect(needed).toContainEqual({ name: "fancy", relation: "pre_depends", isAlternative: false });
    expect(sortedNames(needed)).toEqual(await itsNames("--installed", "--whatrequires", "library"));
    const other = await asNobody<Described>({ verb: "describe", name: "library" });
    expect([other.requiring, other.details]).toEqual([needed, (await describe("library")).details]);
    const { details: along } = await asNobody<Described>({ verb: "describe", name: "extra" });
    expect(along?.installed).toMatchObject({ isManual: false });
    const { details: dated } = await describe("dated");
    expect(dated?.installed).toBeUndefined();
    expect(dated).toMatchObject({
      candidate: "2:0.9-1",
      versions: [{ version: "2:0.9-1" }, { version: "1:1.0-1" }],
      depends: [],
    });
    for (const name of ["nowhere", "*", "--help", "fancy-1.0", "painter", "fancy:i686", ""])
      expect([name, await describe(name)]).toEqual([name, { details: null, requiring: [], files: null }]);
  });

  it("does not take what is held for a candidate, and shows what is installed without any list", async () => {
    await install("steady=1.0");
    await session.shell(`printf '[main]\\nexcludepkgs=steady-2.0*\\n' >${root}/etc/dnf/dnf.conf`);
    await session.shell(`mkdir -p ${root}/etc/dnf/protected.d && echo steady >${root}/etc/dnf/protected.d/own.conf`);
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

  it("tells what dnf has logged, newest first", async () => {
    await install("app=1.0", "library=1.0", "fancy=1.0", "replaced=1.0", "dated=1:1.0");
    await session.host.exec([...words, "upgrade", "dated", "replaced", "app"]);
    await session.host.exec([...words, "reinstall", "dated"]);
    await remove("fancy");
    const logged = await history();
    const told = toldOf(logged);
    expect(told[0]).toContain("remove fancy 1.0-1 undefined");
    expect(told[1]).toEqual(["reinstall dated 2:0.9-1 2:0.9-1"]);
    expect(told[2]).toEqual(
      expect.arrayContaining([
        "install successor undefined 2.0-1",
        "remove replaced 1.0-1 undefined too",
        "upgrade app 1.0-1 2.0-1",
        "upgrade dated 1:1.0-1 2:0.9-1",
        "upgrade library 1.0-1 2.0-1",
      ]),
    );
    expect(told[3]).toContain("install extra undefined 1.0-1 too");
    expect(told[3]).toContain("install fancy undefined 1.0-1");
    expectJustMade(logged);
    expect(logged.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(logged[0]?.commandLine).toMatch(/remove fancy$/);
    expect(await asNobody({ verb: "history" })).toEqual(JSON.parse(JSON.stringify(logged)));
    const list = (await session.host.exec([...words, "history", "list"])).stdout;
    expect(list.match(/^ *\d+ /gm)).toHaveLength(logged.length);
  });
}
