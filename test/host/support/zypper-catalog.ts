import { expect, it } from "vitest";
import { catalogOf, expectJustMade, sortedNames, toldOf } from "./catalog.ts";
import { changesSince, fileTree } from "./file-tree.ts";
import type { Described } from "./package-work.ts";
import type { RpmTree } from "./rpm-tree.ts";
import type { Session } from "./session.ts";
import { zypperWords } from "./zypper-host.ts";

/** Tests of what is known of packages, with zypper itself and rpm as the judges. @param books what zypper writes when it is asked. */
export function testZypperCatalog(session: Session, tree: RpmTree, books: readonly RegExp[]): void {
  const { root, verbs, command, install, remove } = tree;
  const asking = [...zypperWords, "--no-refresh"] as const;

  const { search, describe, history, asNobody } = catalogOf(session, verbs, command);
  const itsNames = async (...asked: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await session.host.exec([...asking, "search", "--type", "package", ...asked]);
    const names = stdout.split("\n").flatMap((line) => /^[^|]{1,4}\| (\S+) +\|/.exec(line)?.[1] ?? []);
    return [...new Set(names)].filter((name) => name !== "Name").sort();
  };

  it("finds what zypper has and finds, whoever asks, and changes nothing by it", async () => {
    await install("app=1.0", "library=1.0", "fancy=1.0", "steady=1.0");
    await session.host.exec([...asking, "addlock", "steady"]);
    expect(sortedNames(await search())).toEqual(await itsNames());
    const before = await fileTree(session);
    const found = await search("PICTURES", "draws");
    expect(found).toEqual([
      {
        name: "fancy",
        architecture: "noarch",
        version: "1.0-1",
        section: "",
        // Zypper has no tabs in its tables.
        summary: "Draws | € pictures",
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
    for (const word of ["fancy", "painter", "MADE for"])
      expect([word, sortedNames(await search(word))]).toEqual([
        word,
        await itsNames("--search-descriptions", "--provides", "--", word),
      ]);
    expect(await search("libfancy.so.1")).toEqual([]);
    // The newest version, of what is not held.
    const versions = (await search("made for a test")).map(({ name, version }) => `${name} ${version}`);
    expect(versions).toEqual(expect.arrayContaining(["steady 1.0-1", "hole 1.2-1", "dated 2:0.9-1"]));
  });

  it("shows a package, what needs it and its files", async () => {
    await install("app=1.0", "library=1.0");
    await session.host.exec([...asking, "install", "--recommends", "wanting"]);
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
    const { details: extra, requiring: wanted } = await describe("extra");
    expect(wanted).toEqual([{ name: "fancy", relation: "recommends", isAlternative: false }]);
    expect(extra?.installed).toMatchObject({ isManual: false });
    expect(await asNobody<Described>({ verb: "describe", name: "library" })).toEqual(await describe("library"));
    const { details: dated } = await describe("dated");
    expect(dated?.installed).toBeUndefined();
    expect(dated).toMatchObject({
      candidate: "2:0.9-1",
      versions: [{ version: "2:0.9-1" }, { version: "1:1.0-1" }],
      depends: [],
      summary: "made for a test",
      description: "Made for a test.",
    });
    for (const name of ["nowhere", "*", "--help", "fancy-1.0", "painter", "fancy:i686", "FANCY", ""])
      expect([name, await describe(name)]).toEqual([name, { details: null, requiring: [], files: null }]);
  });

  it("does not take what is held for a candidate, and shows what is installed without any list", async () => {
    await install("steady=1.0");
    expect((await describe("steady")).details).toMatchObject({ candidate: "2.0-1", isEssential: false });
    await session.host.exec([...asking, "addlock", "stea*"]);
    await session.host.writeFile(`${root}/etc/zypp/systemCheck`, "## a comment\nrequires:steady\n");
    expect((await describe("steady")).details).toMatchObject({
      installed: { isHeld: true },
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
    expect((await verbs.work({ verb: "search", words: [] })).error).toBe(
      "HostUnavailable: the lists of packages cannot be read: cannot ask zypper: there are no package lists",
    );
  });

  it("tells what zypper has logged, newest first, of rotated files as well", async () => {
    const log = `${root}/var/log/zypp/history`;
    await install("app=1.0", "library=1.0", "replaced=1.0", "dated=1:1.0", "kernel=1.0");
    await session.shell(`mv ${log} ${log}-20260101 && gzip ${log}-20260101`);
    await session.host.exec([...asking, "install", "--recommends", "fancy"]);
    await session.shell(`mv ${log} ${log}-20260201`);
    await session.host.exec([...asking, "update", "dated", "app"]);
    await session.host.exec([...asking, "install", "--force", "dated"]);
    await session.host.exec([...asking, "install", "--oldpackage", "kernel=2.0", "dated=1:1.0"]);
    await session.host.exec([...asking, "install", "early=2.0"]).catch(() => undefined);
    await remove("fancy");
    const logged = await history();
    const told = toldOf(logged);
    expect(told.slice(0, 6)).toEqual([
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
    await session.shell(`chmod 600 ${log}`);
    await expect(asNobody({ verb: "history" })).rejects.toThrow(
      `HostUnavailable: cannot read the history of packages: ${log}: EACCES`,
    );
  });
}
