import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lookHere } from "#adapters/exec/look.ts";
import { createPluginDirectories, inspectPlugin } from "#adapters/plugins/index.ts";
import type { Random } from "../../support/random.ts";
import { expectThat, type FuzzTarget } from "../target.ts";

/*
 * An input is a directory of plugins as lines: `file PATH MODE CONTENT`, `folder PATH MODE`, `link PATH TARGET`, parted by tabs. What
 * leads out of the directory is not made; links may lead anywhere.
 */

const mostEntries = 40;

/** What is put outside of the plugins, and has to stay unread. */
const secret = "name: outside\nversion: '1'\ntype: command\nexec: run\n";

type Line = readonly [kind: string, path: string, detail: string, content: string];
const linesOf = (input: Buffer): readonly Line[] =>
  input
    .toString("latin1")
    .split("\n")
    .slice(0, mostEntries)
    .map((line): Line => {
      const [kind = "", path = "", detail = "", content = ""] = line.split("\t");
      return [kind, path, detail, content.replaceAll("\\n", "\n")];
    });

/** Where a line puts something: below `root`, and nowhere else. */
function placeOf(root: string, path: string): string | undefined {
  const names = path.split("/");
  const isPath = names.every(
    (name) => name !== "" && name !== "." && name !== ".." && !name.includes("\0") && name.length < 200,
  );
  return isPath && names.length <= 8 ? join(root, ...names) : undefined;
}

/** A step that the file system refuses, such as a file in the place of a directory, is left out. */
function attempt(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

function build(root: string, input: Buffer): void {
  for (const [kind, path, detail, content] of linesOf(input)) {
    const place = placeOf(root, path);
    if (place === undefined) continue;
    const parent = join(place, "..");
    const mode = Number.parseInt(detail, 8) & 0o7777;
    attempt(() => {
      mkdirSync(parent, { recursive: true, mode: 0o755 });
      // Over a link this would write elsewhere itself.
      if (realpathSync(parent) !== parent) return;
      if (kind === "folder") {
        mkdirSync(place, { recursive: true });
        chmodSync(place, mode | 0o700);
      } else if (kind === "file") {
        writeFileSync(place, Buffer.from(content, "latin1"), { flag: "wx" });
        chmodSync(place, mode);
      } else if (kind === "link") symlinkSync(detail, place);
    });
  }
}

/** Everything below a directory, without following links. */
function below(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? [path, ...below(path)] : [path];
  });
}

const program = "#!/bin/sh\\necho hello";
const manifest = (name: string, exec = "run"): string => `name: ${name}\\nversion: "1"\\ntype: command\\nexec: ${exec}`;
const plugin = (name: string): string[] => [
  `file\t${name}/plugin.yaml\t644\t${manifest(name)}`,
  `file\t${name}/run\t755\t${program}`,
];
const seeds: readonly (readonly string[])[] = [
  plugin("one"),
  [...plugin("one"), ...plugin("two"), "folder\tempty\t755"],
  [
    ...plugin("one"),
    "folder\tone/lib\t755",
    "file\tone/lib/a\t644\ta",
    "link\tone/b\tlib/a",
    "link\tone/c\t../../outside/plugin.yaml",
  ],
  ["link\tone/plugin.yaml\t../../outside/plugin.yaml", `file\tone/run\t755\t${program}`],
  ["link\tone\t../outside", ...plugin("two")],
  [`file\tone/plugin.yaml\t644\t${manifest("one", "lib/run")}`, "link\tone/lib\t../two", ...plugin("two")],
  [`file\tone/plugin.yaml\t666\t${manifest("one")}`, `file\tone/run\t4777\t${program}`, "folder\ttwo\t777"],
  [
    "file\t.hidden/plugin.yaml\t644\tx",
    "file\tone\t644\tx",
    "link\ttwo\tthree",
    "link\tthree\ttwo",
    "link\tone/self\t.",
  ],
  [
    ...plugin("one"),
    "file\tone/run2\t755\t#!/usr/bin/env -S node --x",
    "file\ttwo/plugin.yaml\t644\tname: one\\nexec: ../one/run",
  ],
];

/** Changes one member of a line, or moves a line to another path. */
function mutate(input: Buffer, random: Random): Buffer {
  const lines = input.toString("latin1").split("\n");
  const at = random.integer(lines.length);
  const members = (lines[at] ?? "").split("\t");
  const paths = lines.map((line) => line.split("\t")[1] ?? "");
  const oddPaths = [...paths, "plugin.yaml", "run", "lib/run", "a b", "a\u001b", "..", `${"x/".repeat(7)}x`];
  const targets = [
    ...paths,
    ..."../../outside/plugin.yaml /etc/passwd /dev/zero . .. /proc/self/root nowhere".split(" "),
    "",
  ];
  const modes = "644 755 777 666 4755 000 111 600 700".split(" ");
  switch (random.integer(4)) {
    case 0:
      members[0] = random.pick(["file", "folder", "link"]);
      break;
    case 1:
      members[1] = random.pick(oddPaths);
      break;
    case 2:
      members[2] = members[0] === "link" ? random.pick(targets) : random.pick(modes);
      break;
    default:
      lines.splice(
        random.integer(lines.length + 1),
        0,
        `link\t${random.pick(oddPaths)}/${random.pick(["a", "run", "plugin.yaml"])}\t${random.pick(targets)}`,
      );
  }
  if (lines[at] !== undefined && members.length > 1) lines[at] = members.join("\t");
  return Buffer.from(lines.join("\n"), "latin1");
}

export const target: FuzzTarget = {
  maxBytes: 4 * 1024,
  maxSteps: 2_000_000,
  dictionary: () => [
    ...["file\t", "folder\t", "link\t", "\t644\t", "\t755\t", "\t777\t", "\n", "\\n", "exec: "],
    ...["plugin.yaml", "/run", "../", "#!/bin/sh"],
  ],
  seeds: () => seeds.map((lines) => Buffer.from(lines.join("\n"), "latin1")),
  mutate,
  open() {
    const root = mkdtempSync(join(tmpdir(), "plugins-"));
    for (const directory of [root, tmpdir()]) chmodSync(directory, 0o755);
    mkdirSync(join(root, "outside"));
    writeFileSync(join(root, "outside/plugin.yaml"), secret);
    writeFileSync(join(root, "outside/run"), "#!/bin/sh\n", { mode: 0o755 });
    const dir = join(root, "plugins");
    let now = 0;
    return Promise.resolve({
      async run(input) {
        rmSync(dir, { recursive: true, force: true });
        mkdirSync(dir, { mode: 0o755 });
        build(dir, input);
        now += 1;
        const found = await createPluginDirectories({ dirs: [dir], now: () => now, look: lookHere }).find();
        for (const { path, name, loaded } of found) {
          if ("fault" in loaded) {
            expectThat(
              loaded.fault !== "" && !/[\p{Cc}\u2028\u2029]/u.test(loaded.fault),
              `a fault of ${JSON.stringify(loaded.fault)}`,
            );
            expectThat(!/[\p{Cc}]/u.test(path), `a path of ${JSON.stringify(path)}`);
            continue;
          }
          expectThat(name !== "outside", "what lies outside was read as a plugin");
          const inside = realpathSync(path);
          expectThat(inside === path, `${path} is reached over a link`);
          for (const each of [path, ...below(path)]) {
            const stat = lstatSync(each);
            if (stat.isSymbolicLink())
              expectThat(`${realpathSync(each)}/`.startsWith(`${inside}/`), `${each} leads out`);
            else expectThat((stat.mode & 0o022) === 0, `others may change ${each}`);
          }
          const [exec] = loaded.manifest.command;
          expectThat(
            lstatSync(exec).isFile() && realpathSync(exec).startsWith(`${inside}/`),
            `${exec} is not a file of the plugin`,
          );
          expectThat(readFileSync(exec).length > 0, `${exec} is empty`);
          expectThat(inspectPlugin(path).length === 0, `it is used, and has faults: ${inspectPlugin(path).join("; ")}`);
        }
        const again = await createPluginDirectories({ dirs: [dir], now: () => now, look: lookHere }).find();
        expectThat(JSON.stringify(again) === JSON.stringify(found), "it is read otherwise a second time");
        for (const { path, loaded } of found) {
          if (!("digest" in loaded)) continue;
          // A new file has to show, whatever else there is.
          writeFileSync(join(path, `new-${createHash("sha256").update(path).digest("hex").slice(0, 8)}`), "", {
            mode: 0o644,
          });
          const after = await createPluginDirectories({ dirs: [dir], now: () => now, look: lookHere }).read(path);
          const digest = after !== undefined && "digest" in after.loaded ? after.loaded.digest : undefined;
          expectThat(digest !== undefined && digest !== loaded.digest, `a new file in ${path} does not show`);
        }
      },
      close: () => rmSync(root, { recursive: true, force: true }),
    });
  },
};
