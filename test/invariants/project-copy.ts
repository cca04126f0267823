import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { filesBelow, read, root } from "./project.ts";

/** A copy of the project to change: what the gates say of it shows what they catch and what they accept. */
export interface ProjectCopy {
  readonly read: (path: string) => string;
  /** Writes a file, in a new directory where there is none. */
  readonly write: (path: string, text: string) => void;
  /** Runs a program in the copy; `output` is all that it printed. */
  readonly run: (argv: readonly [string, ...string[]]) => { readonly status: number | null; readonly output: string };
  readonly remove: () => void;
}

/** Copies the project without its history and shares its `node_modules`. */
export function copyProject(): ProjectCopy {
  const copy = mkdtempSync(join(tmpdir(), "steward-copy-"));
  for (const name of readdirSync(root).filter((each) => each !== "node_modules" && each !== ".git")) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  // The compiler writes below node_modules, which is shared, so the copy gets a directory of its own for that.
  for (const path of ["src", "test"].flatMap(filesBelow).filter((each) => each.endsWith("tsconfig.json"))) {
    writeFileSync(join(copy, path), read(path).replaceAll("node_modules/.cache/tsc", ".tsc"));
  }
  appendFileSync(join(copy, ".gitignore"), "/.tsc/\n");
  return {
    read: (path) => readFileSync(join(copy, path), "utf8"),
    write(path, text) {
      mkdirSync(dirname(join(copy, path)), { recursive: true });
      writeFileSync(join(copy, path), text);
    },
    run([program, ...args]) {
      const { status, stdout, stderr } = spawnSync(program, args, { cwd: copy, encoding: "utf8" });
      return { status, output: `${stdout}${stderr}` };
    },
    remove: () => rmSync(copy, { recursive: true, force: true }),
  };
}
