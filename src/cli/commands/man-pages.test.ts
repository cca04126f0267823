import { expect, it } from "vitest";
import { allCommands } from "../core/command-tree.ts";
import { documentedProgram } from "../program.ts";
import { manPages } from "./man-pages.ts";

const root = documentedProgram("1.2.3");
const pages = manPages(root, { version: "1.2.3", date: "2026-01-31" });
/** Text as a reader of the page sees it, as far as our own escapes go. */
const read = (text: string): string =>
  text
    .replaceAll("\\-", "-")
    .replaceAll("\\(ga", "`")
    .replaceAll(/\\f[BR]/g, "")
    .replaceAll("\\&", "")
    .replaceAll("\\(dq", '"')
    .replaceAll("\\e", "\\");

it("the program and each of its commands have a man page", () => {
  expect(pages.map(({ file }) => file)).toEqual(["steward.1", ...root.commands.map(({ name }) => `steward-${name}.1`)]);
  expect(pages[0]?.text).toMatch(/^\.TH "STEWARD" 1 "2026-01-31" "Steward 1\.2\.3" "User Commands"\n/);
});

it.each(allCommands(root).map((node) => [node.path.join(" ") || "steward", node] as const))(
  "the man page of %s has all of its help",
  (_, node) => {
    const page = read(
      pages.find(({ file }) => file === `${["steward", ...node.path.slice(0, 1)].join("-")}.1`)?.text ?? "",
    );
    expect(page).toContain(node.usage);
    for (const { flags, description } of node.options) {
      expect(page).toContain(flags);
      expect(page).toContain(description.replaceAll("`", ""));
    }
    for (const { term, description } of node.arguments) {
      expect(page).toContain(term);
      expect(page).toContain(description.replaceAll("`", ""));
    }
    for (const line of node.notes.split("\n")) expect(page).toContain(line.replaceAll("`", ""));
  },
);

it("a man page escapes the text of commands", () => {
  const hostile = { ...root, notes: ".de x\n'ab \\fB\\n `c`", commands: [], path: [] };
  const [page] = manPages(hostile, { version: "1", date: "2026-01-31" });
  expect(page?.text).toContain("\\&.de x");
  expect(page?.text).toContain("\\&'ab \\efB\\en \\fBc\\fR");
});
