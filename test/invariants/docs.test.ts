import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";
import { filesBelow, read, root } from "./project.ts";

const pages = [
  ...filesBelow("docs").filter((path) => path.endsWith(".md")),
  ...["src", "test"].flatMap(filesBelow).filter((path) => /\/README\.md$/.test(path)),
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

it.each(pages)("links of %s lead to files and headings that exist", (page) => {
  const broken = targets(page).filter((target) => {
    const [file = "", anchor] = target.split("#");
    const path = file === "" ? page : normalize(join(dirname(page), file));
    if (!existsSync(join(root, path))) return true;
    if (anchor === undefined || !path.endsWith(".md") || statSync(join(root, path)).isDirectory()) return false;
    return !headings(path).some((heading) => anchorOf(heading) === anchor);
  });
  expect(broken).toEqual([]);
});

it("docs/threat-model.md names a test for each sentence about a compromised service, and what stops each other attack", () => {
  const sections = read("docs/threat-model.md").split(/^(?=##)/m);
  const rowsOf = (heading: string): readonly string[] =>
    (sections.find((text) => text.startsWith(`### ${heading}`)) ?? "")
      .split("\n")
      .filter((line) => /^\| (?!-)/.test(line) && !/\| shown by +\|$/.test(line))
      .map((line) => line.split(" | ").at(-1) ?? "");
  const compromised = rowsOf("A compromised service");
  expect(compromised.length).toBeGreaterThan(20);
  for (const shown of compromised) {
    const tests = [...shown.matchAll(/\[([^\]]+)\]\(\.\.\/([^)]*test[^)]*)\)/g)];
    expect([shown, tests.length > 0]).toEqual([shown, true]);
    for (const [, name = "", path = ""] of tests)
      expect([path, read(path)]).toEqual([path, expect.stringContaining(`"${name}`)]);
  }
  const others = [...rowsOf("A peer on the network"), ...rowsOf("The holder of a narrow key")];
  expect(others.filter((shown) => !/\]\([^)]+\)/.test(shown))).toEqual([]);
});

it("docs/privileges.md says what each option of the unit that hides or forbids something takes away", () => {
  const restricting =
    /^((?:Protect|Private|Restrict|ReadOnly|Inaccessible|TemporaryFile|SystemCall(?!Error)|Lock)\w*)=/gm;
  const options = [...read("deploy/systemd/steward.service").matchAll(restricting)].map(([, option]) => `\`${option}=`);
  expect(options).toContain("`ProtectKernelLogs=");
  const [, table = ""] = read("docs/privileges.md").split("## What the sandbox hides");
  expect(options.filter((option) => !table.includes(option))).toEqual([]);
});
