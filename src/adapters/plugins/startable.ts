import { basename, join } from "node:path";
import { isExecutable } from "#adapters/files/index.ts";
import { beginningOf } from "./content.ts";
import { Distrusted, type Owner, requireTrustedFile } from "./trust.ts";
import { programFolders } from "./words.ts";

const maxFirstLine = 256;

/** Whoever may change what reads a script decides what it does. */
function requireInterpreter(interpreter: string, program: string, owner: Owner): void {
  if (!isExecutable(interpreter))
    throw new Distrusted(`${program} is run by ${interpreter}, which is not there (install it)`);
  try {
    requireTrustedFile(interpreter, owner);
  } catch (error) {
    if (!(error instanceof Distrusted)) throw error;
    throw new Distrusted(`${program} is run by ${interpreter}: ${error.message}`, { cause: error });
  }
}

const soughtBy = (words: readonly string[]): string | undefined =>
  words.find((word) => !word.startsWith("-") && !word.includes("="));

/** A script has to name its interpreter: the system would guess. @throws Distrusted */
export function requireStartable(program: string, owner: Owner): void {
  const beginning = beginningOf(program, maxFirstLine);
  if (beginning.subarray(0, 4).equals(Buffer.from("\x7fELF", "latin1"))) return;
  const [firstLine = ""] = beginning.toString("latin1").split("\n");
  const [, interpreter, rest = ""] = /^#![ \t]*(\/[^ \t\r]+)([^\r]*)/.exec(firstLine) ?? [];
  if (interpreter === undefined) {
    throw new Distrusted(
      `${program} is neither a program nor a script whose first line says what runs it (#!/usr/bin/python3)`,
    );
  }
  if (firstLine.endsWith("\r"))
    throw new Distrusted(`${program} has the line ends of another system (dos2unix ${program})`);
  requireInterpreter(interpreter, program, owner);
  const sought = basename(interpreter) === "env" ? soughtBy(rest.split(/[ \t]+/).filter(Boolean)) : undefined;
  if (sought === undefined) return;
  const found = sought.includes("/") ? sought : programFolders.map((folder) => join(folder, sought)).find(isExecutable);
  if (found === undefined) throw new Distrusted(`${program} is run by ${sought}, which is not there (install it)`);
  requireInterpreter(found, program, owner);
}
