import { beforeAll, describe, expect, it } from "vitest";
import { catalogOf, expectJustMade, reportedOf, sortedNames } from "./catalog.ts";
import { changesSince, fileTree } from "./file-tree.ts";
import type { Described, packageVerbs } from "./package-work.ts";
import {
  hold,
  makePackages,
  offer,
  type PacmanRecipe,
  pacmanCommand,
  pacmanFile,
  pacmanRoot,
  pacmanWords,
} from "./pacman-host.ts";
import type { Session } from "./session.ts";

const fancy: PacmanRecipe = {
  name: "fancy",
  version: "1.0",
  summary: "Draws | €  pictures",
  depend: ["base>=1"],
  optdepend: ["colours: for more of them"],
  provides: ["painter=3", "libfancy.so=1-64"],
};
const wanting: PacmanRecipe = { name: "wanting", version: "1.0", depend: ["painter>=2", "libfancy.so=1-64"] };
const base: PacmanRecipe = { name: "base", version: "1.0" };
const newer: PacmanRecipe = { name: "base", version: "2.0" };
const colours: PacmanRecipe = { name: "colours", version: "1.0" };
const faulty: PacmanRecipe = {
  name: "faulty",
  version: "1.0",
  install: "post_install() { echo '[2020-01-01T00:00:00+0000] [ALPM] removed fancy (1.0-1)'; return 3; }\n",
};
const all = [fancy, wanting, base, colours, faulty];

/** Tests of what is known of packages, with pacman itself as the judge. @param books what changes when it is asked. */
export function testPacmanCatalog(
  session: Session,
  { result, work }: Pick<ReturnType<typeof packageVerbs>, "result" | "work">,
  books: readonly RegExp[],
): void {
  const run = async (...words: readonly string[]) => (await session.host.exec([...pacmanWords, ...words])).stdout;
  const { search, describe: about, history, asNobody } = catalogOf(session, { result }, pacmanCommand);
  const itsNames = async (...sought: readonly string[]): Promise<readonly string[]> => {
    const text = await run("--sync", "--search", ...sought);
    return [...text.matchAll(/^core\/(\S+) /gm)].map(([, name = ""]) => name).sort();
  };
  const field = async (name: string, label: string): Promise<readonly string[]> => {
    const value = new RegExp(`^${label} *: (.*)$`, "m").exec(await run("--query", "--info", name))?.[1] ?? "";
    return value === "None" ? [] : value.split(/ +/).sort();
  };

  describe("that is asked for packages", () => {
    beforeAll(() => makePackages(session, [...all, newer]));

    it("finds what pacman has and finds, no matter who asks, and changes nothing by it", async () => {
      expect((await work({ verb: "search", words: [] })).error).toBe(
        "HostUnavailable: the lists of packages cannot be read: there are no package lists",
      );
      await offer(session, all);
      await run("--sync", "--refresh", "--", "wanting");
      expect(sortedNames(await search())).toEqual(await itsNames());
      const before = await fileTree(session);
      const found = await search("PICTURES", "draws");
      expect(found).toEqual([
        {
          name: "fancy",
          architecture: "any",
          version: "1.0-1",
          section: "",
          summary: "Draws | €  pictures",
          installedBytes: 4096,
          downloadBytes: expect.any(Number),
        },
      ]);
      expect(changesSince(before, await fileTree(session), { ignore: books })).toEqual({
        added: [],
        removed: [],
        changed: [],
      });
      expect(await asNobody({ verb: "search", words: ["pictures"] })).toEqual(found);
      for (const word of ["fancy", "painter", "MADE", "col"])
        expect([word, sortedNames(await search(word))]).toEqual([word, await itsNames(word)]);
    });

    it("shows a package, what needs it and its files, also without any list", async () => {
      await offer(session, all);
      await run("--sync", "--refresh", "--", "wanting", "colours");
      const { details, requiring, files } = await about("fancy");
      expect(details).toMatchObject({
        name: "fancy",
        installed: { version: "1.0-1", isManual: false, isHeld: false, state: "installed" },
        candidate: "1.0-1",
        versions: [{ version: "1.0-1", origins: [{ location: "core" }] }],
        maintainer: "nobody",
        homepage: "https://fancy.example/",
        summary: "Draws | €  pictures",
        description: "Draws | €  pictures",
        depends: ["base>=1"],
        provides: ["painter=3", "libfancy.so=1-64"],
        isEssential: false,
      });
      expect(requiring).toEqual([{ name: "wanting", relation: "depends", isAlternative: false }]);
      for (const name of ["fancy", "base", "colours", "wanting"]) {
        const related = (await about(name)).requiring;
        const of = (relation: string) => sortedNames(related.filter((each) => each.relation === relation));
        expect([name, of("depends"), of("recommends")]).toEqual([
          name,
          await field(name, "Required By"),
          await field(name, "Optional For"),
        ]);
      }
      const listed = await run("--query", "--list", "--quiet", "fancy");
      expect(files).toEqual(
        listed
          .trim()
          .split("\n")
          .map((path) => path.replace(pacmanRoot, "").replace(/\/$/, "")),
      );
      expect(await asNobody<Described>({ verb: "describe", name: "fancy" })).toEqual(await about("fancy"));
      expect((await about("fancy:x86_64")).details).toEqual(details);
      for (const name of ["nowhere", "*", "--help", "fancy-1.0", "core/fancy", "painter", "fancy:i686", ""])
        expect([name, await about(name)]).toEqual([name, { details: null, requiring: [], files: null }]);
      await session.shell(`rm ${pacmanRoot}/var/lib/pacman/sync/*`);
      expect((await about("fancy")).details).toEqual({
        ...details,
        versions: [{ version: "1.0-1", origins: [] }],
        downloadBytes: undefined,
      });
      expect((await about("faulty")).details).toBeNull();
    });

    it("takes the newer version for the candidate, unless it is held", async () => {
      await offer(session, all);
      await run("--sync", "--refresh", "--", "base");
      await offer(session, [newer]);
      await result({ verb: "refresh" });
      const versions = [
        { version: "2.0-1", origins: [{ location: "core" }] },
        { version: "1.0-1", origins: [] },
      ];
      expect((await about("base")).details).toMatchObject({ candidate: "2.0-1", versions, isEssential: false });
      expect(await search("base")).toMatchObject([{ version: "2.0-1" }]);
      await hold(session, "IgnorePkg = ba*\nHoldPkg = base");
      expect((await about("base")).details).toMatchObject({
        installed: { version: "1.0-1", isHeld: true, isManual: true },
        candidate: "1.0-1",
        versions,
        isEssential: true,
      });
      expect(await search("base")).toMatchObject([{ version: "1.0-1" }]);
    });

    it("reports pacman's log, newest first, with rotated files", async () => {
      const log = `${pacmanRoot}/var/log/pacman.log`;
      await offer(session, all);
      await run("--sync", "--refresh", "--", "wanting");
      await session.shell(`mv ${log} ${log}.1 && gzip ${log}.1`);
      await offer(session, [...all.filter(({ name }) => name !== "base"), newer]);
      await run("--sync", "--refresh", "--sysupgrade");
      await run("--sync", "--", "fancy");
      await run("--upgrade", pacmanFile(base));
      await run("--sync", "--", "faulty");
      await session.host.exec([...pacmanWords, "--sync", "--", "nowhere"]).catch(() => undefined);
      await run("--remove", "--", "wanting", "fancy");
      const logged = await history();
      const reported = reportedOf(logged);
      expect(reported).toEqual([
        ["remove fancy 1.0-1 undefined", "remove wanting 1.0-1 undefined"],
        ["install faulty undefined 1.0-1"],
        ["downgrade base 2.0-1 1.0-1"],
        ["reinstall fancy 1.0-1 1.0-1"],
        ["upgrade base 1.0-1 2.0-1"],
        ["install base undefined 1.0-1", "install fancy undefined 1.0-1", "install wanting undefined 1.0-1"],
      ]);
      expectJustMade(logged);
      expect(logged[0]?.commandLine).toMatch(/^pacman --root .* --remove -- wanting fancy$/);
      expect(await asNobody({ verb: "history" })).toEqual(logged);
      await session.shell(`chmod 600 ${log}`);
      await expect(asNobody({ verb: "history" })).rejects.toThrow(
        `HostUnavailable: cannot read the history of packages: ${log}: EACCES`,
      );
    });
  });
}
