import { randomUUID } from "node:crypto";
import { closeSync, lstatSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type StartDetached, startDetached } from "#adapters/exec/detached.ts";
import { isExecutable, isOpenToEverybody } from "#adapters/files/index.ts";
import type { Environment } from "#config/defaults.ts";

const opener = "xdg-open";
const pageName = /^steward-console-[\da-f-]{36}\.html$/;
const groupBits = 0o070;
/** The code in an address is good for a minute. */
const pageLifetimeMs = 60_000;

const cannot = (why: string): Error => new Error(`cannot open a browser: ${why} (open the address above yourself)`);

function findOpener({ PATH = "" }: Environment): string {
  // What a directory of another user, relative to wherever this runs, calls by this name is not run.
  const found = PATH.split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, opener))
    .find(isExecutable);
  if (found === undefined) throw cannot(`there is no ${opener} in PATH`);
  return found;
}

/** The directory of the user that nobody else can look into, in memory, removed at the logout (XDG Base Directory Specification). */
function runtimeDirectory({ XDG_RUNTIME_DIR: directory }: Environment): string {
  if (directory === undefined || !isAbsolute(directory))
    throw cannot("XDG_RUNTIME_DIR names no directory for private files");
  const status = lstatSync(directory, { throwIfNoEntry: false });
  const isPrivate =
    status?.isDirectory() === true &&
    status.uid === process.getuid?.() &&
    !isOpenToEverybody(status) &&
    (status.mode & groupBits) === 0;
  if (!isPrivate) throw cannot(`${directory}, of XDG_RUNTIME_DIR, is not a directory that only this user can open`);
  return directory;
}

function removeOld(directory: string, now: number): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const age = now - (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now);
    if (pageName.test(name) && age > pageLifetimeMs) rmSync(path, { force: true });
  }
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function redirectTo(url: string): string {
  const address = url.replaceAll(/[&<>"]/g, (each) => entities[each] ?? "");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${address}">
<title>Steward</title>
<a href="${address}">Sign in</a>
</html>
`;
}

/** What a desktop needs, without keys of the service. */
const withoutOurs = (environment: Environment): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || name.startsWith("STEWARD_") ? [] : [[name, value]],
    ),
  );

/**
 * Opens an address that holds a one-time code in the browser of the desktop.
 *
 * Arguments of processes can be read by every user of the host, those of the browser too, so anyone who looks there first would sign in. A
 * private file that leads to the address is the simplest thing that a browser opens and nobody else can read. Nobody knows when the
 * browser has read it: it is worth nothing after a minute, and the next call removes it.
 * @throws Error where there is no desktop, with what to do.
 */
export async function openBrowser(
  url: string,
  ports: { readonly environment: Environment; readonly now: () => number; readonly start?: StartDetached },
): Promise<void> {
  const { environment, now, start = startDetached } = ports;
  if (!environment["DISPLAY"] && !environment["WAYLAND_DISPLAY"])
    throw cannot("there is no desktop here, neither DISPLAY nor WAYLAND_DISPLAY is set");
  const program = findOpener(environment);
  const directory = runtimeDirectory(environment);
  removeOld(directory, now());
  const page = join(directory, `steward-console-${randomUUID()}.html`);
  writeFileSync(page, redirectTo(new URL(url).href), { mode: 0o600, flag: "wx" });
  const output = openSync("/dev/null", "w");
  try {
    await start([program, pathToFileURL(page).href], { environment: withoutOurs(environment), output });
  } catch (error) {
    rmSync(page, { force: true });
    throw cannot(error instanceof Error ? error.message : `${opener} does not start`);
  } finally {
    closeSync(output);
  }
}
