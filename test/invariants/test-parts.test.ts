import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { filesOfParts, partRow, parts } from "../../scripts/testing/parts.ts";
import { filesBelow, read, root } from "./project.ts";

describe("the parts of npm run test:all", () => {
  it("run each long test once", () => {
    const files = filesBelow("test").filter((path) => /\.long\.test\.ts$/.test(path));
    const run = filesOfParts.filter((path) => path.endsWith(".long.test.ts"));
    expect([...run].sort()).toEqual(files);
  });

  it("name files and directories that exist", () => {
    const paths = [...filesOfParts, ...parts.flatMap(({ directories }) => directories)];
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("are the table of docs/CONTRIBUTING.md", () => {
    const rows = read("docs/CONTRIBUTING.md")
      .split("\n")
      .filter((line) => /^\| `.* (?:min|not measured) +\|$/.test(line))
      .map((line) => line.replaceAll(/ +/g, " "));
    expect(rows).toEqual(parts.map(partRow));
  });

  it("are the jobs of the nightly workflow", () => {
    const workflow: unknown = parse(read(".github/workflows/nightly.yml"));
    const names = parts.map(({ name }) => name);
    expect(workflow).toMatchObject({ jobs: { part: { strategy: { "fail-fast": false, matrix: { part: names } } } } });
  });
});
