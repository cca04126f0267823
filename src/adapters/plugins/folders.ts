import { accessSync, constants, lstatSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { FoundPlugin, PluginFolders, PluginManifest } from "#domain/plugins/ports.ts";
import { beginningOf, digestOf, listContent, newestChange, signatureOf } from "./content.ts";
import { manifestName, maxManifestBytes, printable, readManifest } from "./manifest.ts";
import { isInside, isPlain } from "./paths.ts";
import { Distrusted, type Owner, requireReachable, requireTrustedWay } from "./trust.ts";

/** A change may come in the same moment of the file system's clock as the one before it, and is then not seen by its time. */
const settledMs = 2_000;
const maxFirstLine = 256;

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);
const isMissing = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(String(codeOf(error)));

/** One sentence why a folder is not used. What the system says of a file names it. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A script has to say what reads it: the system would guess, and some programs would take a shell. */
function requireStartable(program: string): void {
  const beginning = beginningOf(program, maxFirstLine);
  if (beginning.subarray(0, 4).equals(Buffer.from("\x7fELF", "latin1"))) return;
  const [firstLine = ""] = beginning.toString("latin1").split("\n");
  const interpreter = /^#![ \t]*(\/[^ \t\r]+)/.exec(firstLine)?.[1];
  if (interpreter === undefined) {
    throw new Distrusted(
      `${program} is no program, and no script whose first line says what runs it (#!/usr/bin/python3)`,
    );
  }
  if (firstLine.endsWith("\r"))
    throw new Distrusted(`${program} has the line ends of another system (dos2unix ${program})`);
  try {
    accessSync(interpreter, constants.X_OK);
  } catch (error) {
    throw new Distrusted(`${program} is run by ${interpreter}, which is not there (install it)`, { cause: error });
  }
}

function requireProgram({ command: [program], permissions }: PluginManifest, folder: string, owner: Owner): void {
  let stat: ReturnType<typeof lstatSync>;
  try {
    stat = lstatSync(program);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Distrusted(`${program}, its exec, is not there`, { cause: error });
  }
  if (!stat.isFile()) throw new Distrusted(`${program}, its exec, is not a file itself`);
  if ((stat.mode & 0o100) === 0)
    throw new Distrusted(`${program}, its exec, may not be executed (chmod a+rx ${program})`);
  requireStartable(program);
  // Only root can take on another user.
  if (owner.uid !== 0 || permissions.user === "root") return;
  requireReachable(folder);
  if ((stat.mode & 0o005) !== 0o005) {
    throw new Distrusted(`${program} is closed to the user that the plugin runs as (chmod o+rx ${program})`);
  }
}

interface Kept {
  readonly signature: string;
  readonly found: FoundPlugin;
}

/** The plugins below these folders, whose owners and modes decide whether they are used. */
export function createPluginFolders(ports: {
  readonly dirs: readonly string[];
  readonly now: () => number;
  /** Who the service is; this process unless given. */
  readonly owner?: Owner;
}): PluginFolders {
  const { now, owner = { uid: process.getuid?.() ?? 0 } } = ports;
  const dirs = ports.dirs.map((dir) => resolve(dir));
  const kept = new Map<string, Kept>();

  const load = (path: string): FoundPlugin => {
    requireTrustedWay(path, owner);
    const entries = listContent(path, owner);
    const signature = signatureOf(entries);
    const before = kept.get(path);
    if (before?.signature === signature) return before.found;
    const manifestPath = join(path, manifestName);
    const bytes = beginningOf(manifestPath, maxManifestBytes + 1);
    if (bytes.length > maxManifestBytes) throw new Distrusted(`${manifestPath} is longer than 64 KiB`);
    const reading = readManifest(bytes.toString("utf8"), path);
    if ("fault" in reading) {
      const { fault, type, name = basename(path) } = reading;
      return { path, name, loaded: { fault, type } };
    }
    const { manifest } = reading;
    try {
      requireProgram(manifest, path, owner);
    } catch (error) {
      return { path, name: manifest.name, loaded: { fault: reasonOf(error), type: manifest.role.type } };
    }
    const found = { path, name: manifest.name, loaded: { manifest, digest: digestOf(path, entries) } };
    if (signatureOf(listContent(path, owner)) !== signature) {
      throw new Distrusted(`${path} changed while it was read (try again)`);
    }
    if (now() - newestChange(entries) > settledMs) kept.set(path, { signature, found });
    return found;
  };

  const faulty = (path: string, fault: string): FoundPlugin => ({
    path,
    name: basename(path),
    loaded: { fault, type: undefined },
  });

  const look = (path: string): FoundPlugin | undefined => {
    try {
      if (!isPlain(path)) {
        const shown = path.split("/").map(printable).join("/");
        return faulty(shown, "the path of its folder has other characters than A-Z a-z 0-9 . _ @ + , ~ - (rename it)");
      }
      const stat = lstatSync(path);
      if (stat.isSymbolicLink()) {
        const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? true;
        return isFolder ? faulty(path, `${path} is a link (put the folder itself there)`) : undefined;
      }
      if (!stat.isDirectory()) return undefined;
      return load(path);
    } catch (error) {
      kept.delete(path);
      if (isMissing(error) && !isThere(path)) return undefined;
      if (isMissing(error) && !isThere(join(path, manifestName))) return faulty(path, `${path} has no ${manifestName}`);
      return faulty(path, reasonOf(error));
    }
  };

  const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

  /** What is in one of the folders, by name; a folder that is not there holds nothing. One that cannot be read is a fault itself. */
  const below = (dir: string): readonly (() => FoundPlugin | undefined)[] => {
    try {
      const names = readdirSync(dir).filter((name) => !name.startsWith("."));
      return names.sort().map((name) => () => look(join(dir, name)));
    } catch (error) {
      return isMissing(error) ? [] : [() => faulty(dir, reasonOf(error))];
    }
  };

  return {
    async find() {
      const firsts = new Map<string, string>();
      const found: FoundPlugin[] = [];
      for (const lookNext of dirs.flatMap(below)) {
        const plugin = lookNext();
        // Others have their turn between two folders.
        await new Promise<void>((done) => setImmediate(done));
        if (plugin === undefined) continue;
        if (!("manifest" in plugin.loaded)) {
          found.push(plugin);
          continue;
        }
        const first = firsts.get(plugin.name);
        if (first === undefined) {
          firsts.set(plugin.name, plugin.path);
          found.push(plugin);
          continue;
        }
        const { type } = plugin.loaded.manifest.role;
        const fault = `${first} has this name too, and comes first (change name in ${plugin.path}/${manifestName})`;
        found.push({ ...plugin, loaded: { fault, type } });
      }
      return found;
    },
    read(path) {
      const isOurs = dirs.some((dir) => path !== dir && isInside(path, dir));
      return Promise.resolve(isOurs ? look(path) : undefined);
    },
  };
}
