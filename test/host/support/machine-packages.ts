import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { plainEnvironment, runCommand } from "../commands.ts";
import type { Host } from "../host.ts";
import { defaultSuite } from "../recipe.ts";

const osRelease = "/etc/os-release";

/** Programs, and what they are made of in Python. Settings and units would make an installation of it. */
const carried = /^\/usr\/(s?bin|lib\/python3)\/./;

const isInstalled = (name: string): boolean =>
  spawnSync("dpkg", ["--status", name], { env: plainEnvironment, encoding: "utf8" }).stdout.includes(
    "\nStatus: install ok installed\n",
  );

/**
 * Why programs of these packages of this machine cannot run on a host; undefined where they can: both are the same Debian, so a copy
 * is what an installation would bring.
 * @throws Error in CI where a package is missing.
 */
export function whyNoCopy(packages: readonly string[]): string | undefined {
  const suite = defaultSuite();
  const words = existsSync(osRelease) ? readFileSync(osRelease, "utf8").split("\n") : [];
  if (!words.includes("ID=debian") || !words.includes(`VERSION_CODENAME=${suite}`))
    return `programs of this machine are not those of Debian ${suite}`;
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0) return undefined;
  const reason = `missing: ${missing.join(", ")} (apt-get install ${missing.join(" ")})`;
  if (process.env["CI"] === "true") throw new Error(`cannot copy programs to a host: ${reason}`);
  return reason;
}

/** Copies the programs of these packages to a host, see {@link whyNoCopy}. */
export async function copyPrograms({ root }: Pick<Host, "root">, packages: readonly string[]): Promise<void> {
  const { stdout } = await runCommand(["dpkg-query", "--listfiles", ...packages]);
  const paths = stdout.split("\n").filter((path) => carried.test(path));
  const archive = join(root, "root/programs.tar");
  // Of folders only themselves: what others have put into them is not of these packages.
  const pack = ["tar", "--create", `--file=${archive}`, "--no-recursion", "--null", "--files-from=-"];
  await runCommand(pack, { input: `${paths.join("\0")}\0` });
  await runCommand(["tar", "--extract", `--file=${archive}`, `--directory=${root}`]);
  await rm(archive);
}
