import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import {
  chmod,
  copyFile,
  lchown,
  link,
  lstat,
  lutimes,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageVersion, PresentPackage } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";

const dpkgDirectory = "/var/lib/dpkg";

/** Fields that dpkg adds to what the package said of itself. */
const addedFields = /^(Status|Conffiles|Config-Version|Triggers-Pending|Triggers-Awaited):/i;

/** Fields that would ask for something when only configuration is to be left. */
const relations =
  /^(Depends|Pre-Depends|Recommends|Suggests|Enhances|Breaks|Conflicts|Replaces|Provides|Essential|Protected|Important):/i;

const fieldsOf = (stanza: string): readonly string[] => stanza.trimEnd().split(/\n(?=\S)/);

export function controlOf(stanza: string, { isBare = false } = {}): string {
  const kept = fieldsOf(stanza).filter((field) => !addedFields.test(field) && !(isBare && relations.test(field)));
  return `${kept.join("\n")}\n`;
}

export interface ConfigurationFile {
  readonly path: string;
  readonly md5: string;
}

export function configurationFilesOf(stanza: string): readonly ConfigurationFile[] {
  const field = fieldsOf(stanza).find((each) => /^Conffiles:/i.test(each)) ?? "";
  return field.split("\n").flatMap((line) => {
    const [, path, md5, more] =
      /^ (\/.*) ([0-9a-f]{32}|newconffile)((?: obsolete| remove-on-upgrade)*)$/.exec(line) ?? [];
    return path === undefined || md5 === undefined || more !== "" ? [] : [{ path, md5 }];
  });
}

/** Where the files of a package really are: dpkg's `diversions` has three lines for each (path, where it went, by whom). */
export function parseDiversions(text: string, owner: string): ReadonlyMap<string, string> {
  const lines = text.split("\n");
  const diverted = new Map<string, string>();
  for (let at = 0; at + 2 < lines.length; at += 3) {
    const [path = "", to = "", by = ""] = lines.slice(at, at + 3);
    // The package that diverts has its own file at the path itself.
    if (by !== owner) diverted.set(path, to);
  }
  return diverted;
}

const scripts = ["preinst", "postinst", "prerm", "postrm", "config"] as const;
const controlFiles = ["templates", "md5sums", "shlibs", "symbols", "triggers"] as const;
const bareScripts = ["postrm", "config"] as const;

interface Tree {
  readonly root: string;
  readonly links: Map<string, string>;
}

async function keepMeta(path: string, found: BigIntStats): Promise<void> {
  await lchown(path, Number(found.uid), Number(found.gid));
  if (!found.isSymbolicLink()) await chmod(path, Number(found.mode & 0o7777n));
  const seconds = Number(found.mtimeMs) / 1000;
  await lutimes(path, seconds, seconds);
}

async function addDirectory({ root }: Tree, path: string, real: string): Promise<void> {
  const found = await orUndefined(stat(real, { bigint: true }));
  if (found?.isDirectory() !== true) return;
  await mkdir(join(root, path), { recursive: true });
  await keepMeta(join(root, path), found);
}

async function addFile(tree: Tree, path: string, real: string): Promise<boolean> {
  const found = await orUndefined(lstat(real, { bigint: true }));
  if (found === undefined) return false;
  const target = join(tree.root, path);
  if (found.isDirectory()) {
    await addDirectory(tree, path, real);
    return true;
  }
  if (found.isSymbolicLink()) {
    await symlink(await readlink(real), target);
    await keepMeta(target, found);
    return true;
  }
  if (!found.isFile()) return false;
  const identity = `${found.dev}:${found.ino}`;
  const same = tree.links.get(identity);
  if (same !== undefined) {
    await link(same, target);
    return true;
  }
  await copyFile(real, target, constants.COPYFILE_FICLONE);
  await keepMeta(target, found);
  tree.links.set(identity, target);
  return true;
}

/** A changed configuration file gets other content in the package, so that dpkg still knows that it was changed. */
async function addConfigurationFile(tree: Tree, { path, md5 }: ConfigurationFile, real: string): Promise<void> {
  const target = join(tree.root, path);
  const found = await orUndefined(lstat(real));
  const text = found?.isFile() === true ? await readFile(real) : Buffer.alloc(0);
  const isOriginal = found !== undefined && createHash("md5").update(text).digest("hex") === md5;
  await mkdir(join(target, ".."), { recursive: true });
  await rm(target, { force: true });
  await writeFile(target, isOriginal ? text : Buffer.concat([text, Buffer.from("\n")]), { mode: 0o600, flag: "wx" });
  await chmod(target, found?.isFile() === true ? found.mode & 0o7777 : 0o644);
  await lchown(target, found?.uid ?? 0, found?.gid ?? 0);
}

/** Rebuilds a package file from what is installed; undefined when another version is installed. */
export async function repack(
  wanted: PackageVersion & Pick<PresentPackage, "state">,
  {
    exec,
    directory,
    database = dpkgDirectory,
  }: { readonly exec: Exec; readonly directory: string; readonly database?: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name, architecture, version } = wanted;
  const isBare = wanted.state === "configuration";
  const shown = await exec(
    ["/usr/bin/dpkg-query", `--admindir=${database}`, "--status", "--", `${name}:${architecture}`],
    { signal },
  );
  const fields = `\n${shown.stdout}`;
  if (shown.exitCode !== 0 || !fields.includes(`\nVersion: ${version}\n`)) return undefined;
  if (/\nStatus: \S+ \S+ config-files\n/.test(fields) !== isBare) return undefined;

  const info = (kind: string): Promise<Buffer | undefined> => readInfo(database, wanted, kind);
  const diverted = parseDiversions(await readTextOrEmpty(join(database, "diversions")), name);
  const real = (path: string): string => diverted.get(path) ?? path;
  const work = await mkdtemp(join(directory, "repack-"));
  try {
    const tree: Tree = { root: join(work, "tree"), links: new Map() };
    await mkdir(tree.root, { mode: 0o755 });
    const configuration = configurationFilesOf(shown.stdout);
    const special = new Set(configuration.map(({ path }) => path));
    const listed = ((await info("list")) ?? Buffer.alloc(0)).toString("utf8").split("\n");
    const paths = listed.filter((path) => path.startsWith("/") && path !== "/." && !special.has(path));
    const directories = new Set([...paths, ...special].flatMap(ancestorsOf));
    for (const path of paths) {
      signal.throwIfAborted();
      if (directories.has(path)) await addDirectory(tree, path, real(path));
      else if (!isBare) await addFile(tree, path, real(path));
    }
    for (const file of configuration) await addConfigurationFile(tree, file, real(file.path));

    const control = join(tree.root, "DEBIAN");
    await mkdir(control, { mode: 0o755 });
    await writeFile(join(control, "control"), controlOf(shown.stdout, { isBare }), { mode: 0o644 });
    if (special.size > 0) await writeFile(join(control, "conffiles"), `${[...special].join("\n")}\n`, { mode: 0o644 });
    for (const kind of [...(isBare ? bareScripts : [...scripts, ...controlFiles])]) {
      const text = await info(kind);
      const mode = (controlFiles as readonly string[]).includes(kind) ? 0o644 : 0o755;
      if (text !== undefined) await writeFile(join(control, kind), text, { mode });
    }
    const file = join(directory, `${name}_${architecture}.deb`);
    const options = ["-Zgzip", "-z1", "--nocheck"];
    const { exitCode, stderr } = await exec(["/usr/bin/dpkg-deb", ...options, "--build", "--", tree.root, file], {
      signal,
      timeoutMs: 10 * 60_000,
    });
    if (exitCode !== 0) throw new Error(`cannot put ${name} ${version} together: ${stderr.trim()}`);
    return file;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function ancestorsOf(path: string): readonly string[] {
  const parts = path.split("/").slice(1, -1);
  return parts.map((_, at) => `/${parts.slice(0, at + 1).join("/")}`);
}

async function readInfo(
  database: string,
  { name, architecture }: Pick<PackageVersion, "name" | "architecture">,
  kind: string,
): Promise<Buffer | undefined> {
  const own = await orUndefined(readFile(join(database, "info", `${name}:${architecture}.${kind}`)));
  return own ?? (await orUndefined(readFile(join(database, "info", `${name}.${kind}`))));
}
