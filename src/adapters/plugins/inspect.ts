import { lstatSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Look } from "#adapters/exec/look.ts";
import { isExecutable } from "#adapters/files/index.ts";
import type { FoundPlugin, PluginManifest } from "#domain/ports/plugins.ts";
import { errorMessage, isNotFound } from "#kernel/errors.ts";
import { beginningOf, digestOf, listContent, newestChange, signatureOf } from "./content.ts";
import {
  faultText,
  type ManifestReading,
  manifestName,
  maxManifestBytes,
  oneLine,
  printable,
  readManifest,
} from "./manifest.ts";
import { programDirectories } from "./plugin-process.ts";
import { Distrusted, isPlain, type Owner, requireReachable, requireTrustedFile, requireTrustedWay } from "./trust.ts";

const describeFault = (error: unknown): string => oneLine(errorMessage(error));

const maxFirstLine = 256;

/** Anyone who may change what reads a script decides what it does. */
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
function requireStartable(program: string, owner: Owner): void {
  const head = beginningOf(program, maxFirstLine);
  if (head.subarray(0, 4).equals(Buffer.from("\x7fELF", "latin1"))) return;
  const [firstLine = ""] = head.toString("latin1").split("\n");
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
  const found = sought.includes("/")
    ? sought
    : programDirectories.map((directory) => join(directory, sought)).find(isExecutable);
  if (found === undefined) throw new Distrusted(`${program} is run by ${sought}, which is not there (install it)`);
  requireInterpreter(found, program, owner);
}

function requireProgram({ command: [program], permissions }: PluginManifest, directory: string, owner: Owner): void {
  let stat: ReturnType<typeof lstatSync>;
  try {
    stat = lstatSync(program);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new Distrusted(`${program}, its exec, is not there`, { cause: error });
  }
  if (!stat.isFile()) throw new Distrusted(`${program}, its exec, is not a file itself`);
  if ((stat.mode & 0o100) === 0)
    throw new Distrusted(`${program}, its exec, may not be executed (chmod a+rx ${program})`);
  requireStartable(program, owner);
  // Only root can take on another user.
  if (owner.uid !== 0 || permissions.user === "root") return;
  requireReachable(directory);
  if ((stat.mode & 0o005) !== 0o005) {
    throw new Distrusted(`${program} is closed to the user that the plugin runs as (chmod o+rx ${program})`);
  }
}

function readingOf(directory: string): ManifestReading {
  const path = join(directory, manifestName);
  const bytes = beginningOf(path, maxManifestBytes + 1);
  if (bytes.length > maxManifestBytes) throw new Distrusted(`${path} is longer than 64 KiB`);
  return readManifest(bytes.toString("utf8"), directory);
}

export const isShown = (name: string): boolean => !name.startsWith(".");
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
export const self = (): Owner => ({ uid: process.getuid?.() ?? 0 });

const oddPath = "the path of its directory has other characters than A-Z a-z 0-9 . _ @ + , ~ - (rename it)";
const isLink = (path: string): string => `${path} is a link (put the directory itself there)`;

export function inspectPlugin(path: string, owner: Owner = self()): readonly string[] {
  const faults: string[] = [];
  const look = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      faults.push(describeFault(error));
    }
  };
  if (!isPlain(path)) faults.push(oddPath);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) faults.push(isLink(path));
  look(() => requireTrustedWay(path, owner));
  look(() => void listContent(path, owner, (fault) => faults.push(describeFault(fault))));
  look(() => {
    if (!isThere(join(path, manifestName))) throw new Distrusted(`${path} has no ${manifestName}`);
    const reading = readingOf(path);
    if ("faults" in reading) faults.push(...reading.faults);
    else requireProgram(reading.manifest, path, owner);
  });
  return faults;
}

/** What is at a path; null for what is no plugin. Without what was found where that has not changed. */
export type PluginAnswer = {
  readonly signature?: string;
  /** Epoch milliseconds. */
  readonly newestMs?: number;
  readonly found?: FoundPlugin;
} | null;

interface PluginsWanted {
  readonly dirs: readonly string[];
  readonly paths: readonly string[];
  readonly owner: Owner;
  /** Signatures of plugins that are known. */
  readonly known: Readonly<Record<string, string>>;
}

const faulty = (path: string, fault: string): FoundPlugin => {
  return { path, name: basename(path), loaded: { fault, type: undefined } };
};

function load(path: string, owner: Owner, known: string | undefined): PluginAnswer {
  requireTrustedWay(path, owner);
  const entries = listContent(path, owner);
  const signature = signatureOf(entries);
  const reading = readingOf(path);
  if ("faults" in reading) {
    const { faults, type, name = basename(path) } = reading;
    return { found: { path, name, loaded: { fault: faultText(faults), type } } };
  }
  const { manifest } = reading;
  try {
    // What runs it is outside of the directory, and may have changed by itself.
    requireProgram(manifest, path, owner);
  } catch (error) {
    return { found: { path, name: manifest.name, loaded: { fault: describeFault(error), type: manifest.role.type } } };
  }
  if (signature === known) return {};
  const found = { path, name: manifest.name, loaded: { manifest, digest: digestOf(path, entries) } };
  if (signatureOf(listContent(path, owner)) !== signature)
    throw new Distrusted(`${path} changed while it was read (try again)`);
  return { signature, newestMs: newestChange(entries), found };
}

function pluginAt(path: string, owner: Owner, known: string | undefined): PluginAnswer {
  try {
    if (!isPlain(path)) return { found: faulty(path.split("/").map(printable).join("/"), oddPath) };
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) {
      const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? true;
      return isDirectory ? { found: faulty(path, isLink(path)) } : null;
    }
    if (!stat.isDirectory()) return null;
    return load(path, owner, known);
  } catch (error) {
    if (isNotFound(error) && !isThere(path)) return null;
    if (isNotFound(error) && !isThere(join(path, manifestName)))
      return { found: faulty(path, `${path} has no ${manifestName}`) };
    return { found: faulty(path, describeFault(error)) };
  }
}

/** The plugins of directories, each before its directory, whose answer says whether it can be read. */
export const pluginsOfDirectories: Look<PluginsWanted, PluginAnswer> = {
  name: "plugins",
  look({ dirs, paths, owner, known }, { begin, answer }) {
    const lookAt = (path: string): void => {
      if (begin(path)) answer(path, pluginAt(path, owner, known[path]));
    };
    for (const dir of dirs) {
      if (!begin(dir)) continue;
      try {
        for (const name of readdirSync(dir).filter(isShown).sort()) lookAt(join(dir, name));
        answer(dir, null);
      } catch (error) {
        answer(dir, isNotFound(error) ? null : { found: faulty(dir, describeFault(error)) });
      }
    }
    for (const path of paths) lookAt(path);
  },
};
