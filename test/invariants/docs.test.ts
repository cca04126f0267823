import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { filesBelow, read, root } from "./project.ts";

const recordName = /^docs\/adr\/(\d{4})-[a-z0-9-]+\.md$/;
const index = "docs/adr/README.md";
const records = filesBelow("docs/adr").filter((path) => path !== index);
const pages = [
  ...filesBelow("docs").filter((path) => path.endsWith(".md")),
  ...["src", "test"].flatMap(filesBelow).filter((path) => /^(?!.*plugin-templates).*\/README\.md$/.test(path)),
  ...filesBelow("bench").filter((path) => path.endsWith(".md")),
  "README.md",
  "SECURITY.md",
];

/** A page without fenced code blocks, where `#` and `](` mean something else. */
const prose = (path: string): string => read(path).replaceAll(/^ *```.*?^ *```/gms, "");
const headings = (path: string): readonly string[] =>
  [...prose(path).matchAll(/^#{1,6} +(.+)$/gm)].map(([, text = ""]) => text);
/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
/** Relative targets of links and images, without titles. */
const targets = (path: string): readonly string[] =>
  [...prose(path).matchAll(/\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)"/g)]
    .map(([, link, attribute]) => link ?? attribute ?? "")
    .filter((target) => !/^[a-z]+:/.test(target));

describe("the architecture decision records", () => {
  it.each(records)("have one form: %s", (path) => {
    const [, digits = ""] = recordName.exec(path) ?? [];
    const text = read(path);
    expect(text).toMatch(new RegExp(`^# ADR ${String(Number(digits))}: .+\n\nStatus: (accepted|superseded by )`));
    expect([...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual([
      "Context",
      "Decision",
      "Consequences",
      "Alternatives",
    ]);
  });

  it("are listed in the index with their titles and status", () => {
    const rows = [...read(index).matchAll(/^\| \[(\d+)\]\(([^)]+)\) +\| (.+?) +\| (.+?) +\|$/gm)];
    const expected = records.map((path) => {
      const [, number, title] = /^# ADR (\d+): (.+)$/m.exec(read(path)) ?? [];
      const [, status] = /^Status: ([^;\n]+)/m.exec(read(path)) ?? [];
      return [number, path.replace("docs/adr/", ""), title, status];
    });
    expect(rows.map((row) => row.slice(1))).toEqual(expected);
  });
});

describe("the links of the documentation", () => {
  it.each(pages)("lead to files and headings that exist: %s", (page) => {
    const broken = targets(page).filter((target) => {
      const [file = "", anchor] = target.split("#");
      const path = file === "" ? page : normalize(join(dirname(page), file));
      if (!existsSync(join(root, path))) return true;
      if (anchor === undefined || !path.endsWith(".md") || statSync(join(root, path)).isDirectory()) return false;
      return !headings(path).some((heading) => anchorOf(heading) === anchor);
    });
    expect(broken).toEqual([]);
  });
});
