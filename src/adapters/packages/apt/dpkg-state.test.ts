import { describe, expect, it } from "vitest";
import type { PresentPackage } from "#domain/ports/packages.ts";
import { markCommands, parseExtendedStates, parseStatusFile, presentPackages } from "./database.ts";

const states = `Package: libfoo
Architecture: amd64
Auto-Installed: 1

Package: data
Architecture: amd64
Auto-Installed: 1

Package: asked
Architecture: amd64
Auto-Installed: 0
`;

const stanza = (name: string, status: string, rest = "Architecture: amd64"): string =>
  `Package: ${name}\nStatus: ${status}\n${rest}\nVersion: 1:2-3\n`;

describe("packages that are present", () => {
  it("are automatic as apt says, whichever architecture they are for", () => {
    expect(parseExtendedStates(states)).toEqual(new Set(["libfoo:amd64", "data:amd64"]));
    expect(parseExtendedStates("")).toEqual(new Set());
  });

  it("are distinguished from those of which only something is left", () => {
    const text = [
      stanza("libfoo", "install ok installed"),
      stanza("data", "install ok installed", "Architecture: all"),
      stanza("asked", "hold ok installed"),
      stanza("left", "deinstall ok config-files"),
      stanza("torn", "install reinstreq half-installed"),
      stanza("damaged", "install reinstreq installed"),
      stanza("waiting", "install ok triggers-pending"),
      "Package: never\nStatus: unknown ok not-installed\nArchitecture: amd64\n",
    ].join("\n");
    const found = presentPackages(parseStatusFile(text), parseExtendedStates(states));
    expect(found.map((each) => [each.name, each.state, each.isManual, each.isHeld])).toEqual([
      ["libfoo", "installed", false, false],
      ["data", "installed", false, false],
      ["asked", "installed", true, true],
      ["left", "configuration", false, false],
      ["torn", "unfinished", true, false],
      ["damaged", "unfinished", true, false],
      ["waiting", "unfinished", true, false],
    ]);
    expect(found.every(({ version }) => version === "1:2-3")).toBe(true);
  });

  it("get only the marks that differ", () => {
    const is = (name: string, isManual: boolean, isHeld: boolean): PresentPackage => {
      return { name, architecture: "amd64", version: "1", state: "installed", isManual, isHeld };
    };
    const present = [is("a", true, true), is("b", false, false), is("c", true, false)];
    const wanted = [is("a", false, false), is("b", true, true), is("c", true, false), is("gone", false, true)];
    expect(markCommands(wanted, present)).toEqual([
      { verb: "auto", names: ["a:amd64"] },
      { verb: "manual", names: ["b:amd64"] },
      { verb: "hold", names: ["b:amd64"] },
      { verb: "unhold", names: ["a:amd64"] },
    ]);
    expect(markCommands(present, present)).toEqual([]);
  });
});
