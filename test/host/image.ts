import { mkdir, readdir, rename, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { type Log, runCommand } from "./commands.ts";
import { mountDisk, unmountDisk } from "./disk.ts";
import { moveToExt4 } from "./ext4.ts";
import { withLock } from "./lock.ts";
import { downloadEnvironment, findMirror } from "./mirror.ts";
import { type Kind, type Recipe, recipeKey, recipeOf, type Suite } from "./recipe.ts";
import { createRunDirectory, removeRunDirectory, sweepRuns } from "./runs.ts";

/** The directory outside the repository that keeps the image and the copies that are running. */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  if (env.STEWARD_HOST_CACHE) return env.STEWARD_HOST_CACHE;
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "steward", "testhost");
}

/** Images of other recipes are removed when nothing has used them for this long: another checkout may be at work with them. */
const unusedMs = 24 * 60 * 60 * 1000;

/**
 * Builds the image of the test host unless the cache has it, and removes those of other recipes that are no longer used.
 * @returns the path of the image file, which must never be mounted itself: boot copies of it.
 */
export async function ensureImage(suite: Suite, log: Log, kind: Kind = "container"): Promise<string> {
  const recipe = recipeOf(suite, kind);
  const cache = cacheDirectory();
  // Nobody else may put anything in the way of what root mounts here.
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const image = join(cache, `host-${suite}-${recipeKey(recipe)}.img`);
  if (await markUsed(image)) return image;
  await withLock(join(cache, "build.lock"), log, async () => {
    if (await exists(image)) return;
    sweepRuns(cache, log);
    await buildImage({ recipe, kind, cache, image, log });
    await removeOldImages(cache, image);
  });
  return image;
}

interface Build {
  readonly recipe: Recipe;
  readonly kind: Kind;
  readonly cache: string;
  readonly image: string;
  readonly log: Log;
}

async function buildImage({ recipe, kind, cache, image, log }: Build): Promise<void> {
  const startedAt = performance.now();
  const run = createRunDirectory(cache);
  try {
    log(`building the test host (${kind} of Debian ${recipe.suite}, about a minute, once)`);
    await writeFile(run.image, "");
    await truncate(run.image, recipe.sizeBytes);
    await runCommand(["mkfs.btrfs", "--quiet", "--label", "steward-host", run.image]);
    await createSubvolumes(run.image, run.root);
    await mountDisk(run.image, run.root, ["compress=zstd", "nodiscard"]);
    await installSystem(recipe, run.root);
    await configureSystem(recipe, run.root);
    await unmountDisk(run.root);
    if (kind === "machine") await moveToExt4(run, recipe.sizeBytes);
    else await makeHoles(run.image, run.root);
    // Only what is on the disk for good may get the name of a finished image.
    await runCommand(["sync", run.image]);
    await rename(run.image, image);
    log(`built the test host in ${Math.round((performance.now() - startedAt) / 1000)} s`);
  } finally {
    await removeRunDirectory(run);
  }
}

/** The snapshots live beside the system, not below it: nested, they would be gone after a rollback. */
async function createSubvolumes(image: string, mountPoint: string): Promise<void> {
  await mountDisk(image, mountPoint);
  try {
    for (const name of ["@", "@snapshots"]) await runCommand(["btrfs", "subvolume", "create", join(mountPoint, name)]);
    await runCommand(["btrfs", "subvolume", "set-default", join(mountPoint, "@")]);
  } finally {
    await unmountDisk(mountPoint);
  }
}

/**
 * Makes what was deleted holes of the image file, which copies then need not read. It takes a mount of its own that has discarded
 * nothing yet: what btrfs thinks it has discarded before, or is about to, it leaves out.
 */
async function makeHoles(image: string, mountPoint: string): Promise<void> {
  await mountDisk(image, mountPoint, ["nodiscard"]);
  try {
    await runCommand(["fstrim", mountPoint]);
  } finally {
    await unmountDisk(mountPoint);
  }
}

async function installSystem(recipe: Recipe, root: string): Promise<void> {
  const mirror = (await findMirror(recipe.suite)) ?? "http://deb.debian.org/debian";
  // A mirror may be some weeks old, which for a release in the making counts as expired.
  const options = recipe.suite === "sid" ? "[check-valid-until=no] " : "";
  // Namespaces that end with this process: a killed build leaves neither running installers nor mounts of theirs.
  const isolated = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"];
  const env = await downloadEnvironment();
  await runCommand(
    [
      ...isolated,
      "mmdebstrap",
      "--mode=root",
      "--variant=minbase",
      `--include=${recipe.packages.join(",")}`,
      "--keyring=/usr/share/keyrings/debian-archive-keyring.gpg",
      // An image that was not finished is thrown away.
      "--dpkgopt=force-unsafe-io",
      "--skip=cleanup/apt/lists",
      recipe.suite,
      root,
      `deb ${options}${mirror} ${recipe.suite} main`,
    ],
    { env, timeoutMs: 15 * 60_000 },
  );
  await rm(join(root, "etc/dpkg/dpkg.cfg.d/99mmdebstrap"));
  // All are wanted for their own sake: what comes along by a dependency is not to be offered for removal.
  await rm(join(root, "var/lib/apt/extended_states"));
  await unpackPrograms(recipe, root, { inside: [...isolated, "chroot", root], env });
}

/** Takes single files out of packages that cannot be installed beside the others. What they need is among the others. */
async function unpackPrograms(
  recipe: Recipe,
  root: string,
  { inside, env }: { readonly inside: readonly string[]; readonly env: Record<string, string> },
): Promise<void> {
  const directory = "/root/unpacked";
  await mkdir(join(root, directory));
  for (const [name, files] of Object.entries(recipe.unpacked)) {
    const download = ["apt-get", "--quiet", "--option=APT::Sandbox::User=root", "download", name];
    await runCommand([...inside, "env", `--chdir=${directory}`, ...download], { env, timeoutMs: 5 * 60_000 });
    const [file] = await readdir(join(root, directory));
    if (file === undefined) throw new Error(`cannot find the package ${name} after its download`);
    const content = `${directory}/content`;
    await runCommand([...inside, "dpkg-deb", "--extract", `${directory}/${file}`, content], { env });
    for (const path of files) await runCommand([...inside, "cp", "--archive", `${content}${path}`, path], { env });
    await runCommand([...inside, "rm", "-r", content, `${directory}/${file}`], { env });
  }
  await rm(join(root, directory), { recursive: true });
}

async function configureSystem(recipe: Recipe, root: string): Promise<void> {
  // A container and not a chroot, because snapper looks its file system up in /proc.
  const container = [
    "systemd-nspawn",
    "--quiet",
    `--directory=${root}`,
    "--register=no",
    "--keep-unit",
    "--resolv-conf=off",
    "--pipe",
  ];
  const inside = (argv: readonly string[]) => runCommand([...container, ...argv]);
  // snapper insists on making its own subvolume: it is replaced by the directory on which the guest mounts @snapshots.
  await inside(["snapper", "--no-dbus", "create-config", "/"]);
  await inside(["snapper", "--no-dbus", "set-config", "TIMELINE_CREATE=no"]);
  await inside(["btrfs", "subvolume", "delete", "/.snapshots"]);
  await mkdir(join(root, ".snapshots"), { mode: 0o750 });
  for (const directory of recipe.directories) await mkdir(join(root, directory), { recursive: true });
  for (const [path, content] of Object.entries(recipe.files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await rm(join(root, path), { force: true });
    await writeFile(join(root, path), content);
  }
  for (const [path, target] of Object.entries(recipe.links)) {
    await rm(join(root, path), { force: true });
    await symlink(target, join(root, path));
  }
  await inside(["systemctl", "mask", ...recipe.maskedUnits]);
  await inside(["systemctl", "disable", ...recipe.disabledUnits]);
  if (recipe.enabledUnits !== undefined) await inside(["systemctl", "enable", ...recipe.enabledUnits]);
  await inside(["apt-get", "clean"]);
  await rm(join(root, "var/lib/apt/lists"), { recursive: true, force: true });
}

async function removeOldImages(cache: string, image: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    if (!/^host-([a-z]+-)?[0-9a-f]+\.img$/.test(name) || path === image) continue;
    const usedAt = (await stat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (usedAt < Date.now() - unusedMs) await rm(path, { force: true });
  }
}

/** @returns whether the image is there. */
async function markUsed(image: string): Promise<boolean> {
  const now = new Date();
  return utimes(image, now, now).then(
    () => true,
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
