import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesBelow, read, root } from "../invariants/project.ts";
import { incidents } from "./incidents.ts";

/** Titles of a file, as they are written in it: what a call begins with, and goes on behind. */
const titlesOf = (file: string): ReadonlySet<string> =>
  new Set(
    [...read(file).matchAll(/\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1,/gs)].map(([, , title = ""]) =>
      title.replaceAll(/\\(.)/g, "$1"),
    ),
  );

/** The classes that were written down before any of this was built; a list that loses one is not complete. */
const classes = [
  "shell-injection",
  "option-injection",
  "malformed-requests",
  "foreign-pids",
  "hostile-file-names",
  "request-forgery",
  "package-names",
  "forgotten-authorisation",
  "forged-host",
  "cross-site-scripting",
  "temporary-files",
  "path-of-the-caller",
  "alert-text",
  "unsafe-archives",
  "secrets-in-answers",
  "processes-of-attackers",
  "missing-allow-list",
  "cross-site-websocket",
  "upgrade-of-the-upgrader",
  "key-in-a-query",
  "constant-401",
  "size-and-time-limits",
  "caps",
  "bounded-commands",
  "state-survives",
];

describe("incidents elsewhere", () => {
  it("are all in the list, each once", () => {
    const ids = incidents.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(classes.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it.each(incidents.map((incident) => [incident.id, incident] as const))(
    "%s has tests, and they exist",
    (_, { tests }) => {
      expect(tests.length).toBeGreaterThan(0);
      for (const [file, title] of tests) {
        expect([file, existsSync(join(root, file))]).toEqual([file, true]);
        expect([file, title, titlesOf(file).has(title)]).toEqual([file, title, true]);
      }
    },
  );

  it("have every file of this folder behind them", () => {
    const named = new Set(incidents.flatMap(({ tests }) => tests.map(([file]) => file)));
    const here = filesBelow("test/security").filter((path) => path.endsWith(".test.ts"));
    expect(here.filter((path) => !named.has(path))).toEqual(["test/security/incidents.test.ts"]);
  });

  it("are in the docs, and the threat model leads to them", () => {
    const page = read("docs/reference/security-tests.md");
    for (const { name } of incidents) expect(page).toContain(name);
    expect(read("docs/threat-model.md")).toContain("security-tests.md");
    expect(read("SECURITY.md")).toContain("docs/threat-model.md");
  });
});
