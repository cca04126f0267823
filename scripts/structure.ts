import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Longer functions and shorter files are counted as too long and too short. */
const longestFunction = 80;
const shortestFile = 40;

/** A figure of the sources, and where it comes from where that is worth a line each. */
interface Figure {
  readonly name: string;
  readonly value: number;
  readonly places?: readonly string[];
}

const trackedFiles = (root: string): readonly string[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((path) => path !== "");

const linesOf = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

/** Biome reports each function that has too many lines, with its number of lines. */
function longFunctions(root: string): readonly string[] {
  const config = mkdtempSync(join(tmpdir(), "steward-structure-"));
  const rule = { level: "error", options: { maxLines: longestFunction } };
  const linter = { rules: { preset: "none", complexity: { noExcessiveLinesPerFunction: rule } } };
  try {
    writeFileSync(join(config, "biome.json"), JSON.stringify({ root: true, linter }));
    const biome = fileURLToPath(new URL("../node_modules/.bin/biome", import.meta.url));
    const args = ["lint", `--config-path=${config}`, "--reporter=json", "--max-diagnostics=none", "src"];
    const { stdout } = spawnSync(biome, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
    const report = JSON.parse(stdout) as {
      diagnostics: readonly {
        category: string;
        message: string;
        location: { path: string; start: { line: number } };
      }[];
    };
    return report.diagnostics
      .filter(
        ({ category, location }) =>
          category.endsWith("noExcessiveLinesPerFunction") && !/\.test\.ts$/.test(location.path),
      )
      .map(
        ({ message, location }) =>
          `${/\((\d+)\)/.exec(message)?.[1] ?? "?"} lines: ${location.path}:${location.start.line}`,
      )
      .sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10));
  } finally {
    rmSync(config, { recursive: true, force: true });
  }
}

/** Names that more than one file defines at its top without exporting them: candidates for the kernel. */
function repeatedHelpers(sources: ReadonlyMap<string, string>): readonly string[] {
  const places = new Map<string, string[]>();
  for (const [path, text] of sources) {
    const names = [...text.matchAll(/^(?:async )?function (\w+)|^const (\w+) = (?:async )?(?:<[^>]*>)?\(/gm)];
    for (const name of new Set(names.map(([, one, other]) => one ?? other ?? ""))) {
      places.set(name, [...(places.get(name) ?? []), path]);
    }
  }
  return [...places]
    .filter(([, paths]) => paths.length > 2)
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([name, paths]) => `${name} in ${paths.length} files`);
}

/** The figures of the sources below a root, without their tests. */
function measure(root: string): readonly Figure[] {
  const tracked = trackedFiles(root);
  const sources = new Map(
    tracked
      .filter((path) => /^src\/.*(?<!\.test)\.ts$/.test(path))
      .map((path) => [path, readFileSync(join(root, path), "utf8")] as const),
  );
  const texts = [...sources.values()];
  const lines = texts.map(linesOf);
  const total = lines.reduce((sum, each) => sum + each, 0);
  const comments = texts.reduce((sum, text) => sum + [...text.matchAll(/^\s*(?:\/\/|\/\*\*|\*(?!\/))/gm)].length, 0);
  const code = texts.reduce((sum, text) => sum + [...text.matchAll(/^\s*(?!\/\/|\/\*|\*|$)\S/gm)].length, 0);
  const long = longFunctions(root);
  const repeated = repeatedHelpers(sources);
  const count = (pattern: RegExp): number => texts.reduce((sum, text) => sum + [...text.matchAll(pattern)].length, 0);
  return [
    { name: "files", value: sources.size },
    { name: "lines", value: total },
    { name: "lines of code", value: code },
    { name: "lines of comments", value: comments },
    { name: "directories", value: new Set([...sources.keys()].map((path) => dirname(path))).size },
    { name: "compiler projects", value: tracked.filter((path) => /(^|\/)tsconfig\.json$/.test(path)).length },
    { name: `files under ${shortestFile} lines`, value: lines.filter((each) => each < shortestFile).length },
    { name: "files over 300 lines", value: lines.filter((each) => each > 300).length },
    { name: `functions over ${longestFunction} lines`, value: long.length, places: long },
    { name: "dynamic imports", value: count(/\bimport\(/g) },
    { name: "helpers that more than two files define", value: repeated.length, places: repeated },
  ];
}

const [given = "."] = process.argv.slice(2);
if (given.startsWith("-")) {
  console.log(
    "usage: npm run structure [-- CHECKOUT]\n\nFigures of the sources without tests, of this checkout or another.",
  );
} else {
  for (const { name, value, places = [] } of measure(resolve(given))) {
    console.log(`${String(value).padStart(7)}  ${name}`);
    for (const place of places) console.log(`         - ${place}`);
  }
}
