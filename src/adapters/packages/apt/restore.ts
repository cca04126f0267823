import { lstat } from "node:fs/promises";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { type PackageFiles, type PackageVersion, type PresentPackage, qualifiedName } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { Argv } from "../common/ports.ts";
import { asResult, type Transact, unitFor } from "../common/transactions.ts";
import { aptPaths, withoutCaches, withoutSources } from "./arguments.ts";
import { markCommands } from "./database.ts";
import { failureReason } from "./output.ts";

const aptGet = "/usr/bin/apt-get";
const dpkg = "/usr/bin/dpkg";
const locks = [aptPaths.frontendLock, aptPaths.databaseLock] as const;

/** Configuration files stay. A file that has moved between packages belongs to both in older versions. */
const dpkgOptions = ["--force-confold", "--force-confdef", "--force-overwrite", "--force-downgrade"] as const;

/** Without sources apt knows only what is installed and the files given: it takes no other file of the same version, and downloads nothing. */
const aptOptions = [
  "--yes",
  ...withoutCaches,
  "--quiet",
  "--no-install-recommends",
  "--allow-downgrades",
  "--allow-change-held-packages",
  "--purge",
  ...withoutSources,
  "--option=Dpkg::Use-Pty=0",
  "--option=DPkg::Lock::Timeout=60",
  ...dpkgOptions.map((option) => `--option=DPkg::Options::=${option}`),
] as const;

/** All at once and in no order: what is broken on the way is whole at the end. */
const dpkgAlone = [
  ...dpkgOptions,
  "--force-depends",
  "--force-breaks",
  "--force-conflicts",
  "--auto-deconfigure",
] as const;

type Target = Parameters<PackageFiles["restore"]>[0];
type Removal = Target["remove"][number];

interface Found extends PackageVersion {
  readonly path: string;
}

interface Missing {
  readonly install: readonly Found[];
  readonly configuration: readonly Found[];
  readonly remove: readonly Removal[];
}

const missingCount = ({ install, configuration, remove }: Missing): number =>
  install.length + configuration.length + remove.length;

export function missingOf(
  target: {
    readonly files: readonly Found[];
    readonly configuration: readonly Found[];
    readonly remove: readonly Removal[];
  },
  present: readonly PresentPackage[],
): Missing {
  const now = new Map(present.map((each) => [qualifiedName(each), each]));
  const isNow = (wanted: Found, state: PresentPackage["state"]): boolean => {
    const found = now.get(qualifiedName(wanted));
    return found?.version === wanted.version && found.state === state;
  };
  return {
    install: target.files.filter((file) => !isNow(file, "installed")),
    configuration: target.configuration.filter((file) => !isNow(file, "configuration")),
    remove: target.remove.filter((each) => now.has(qualifiedName(each))),
  };
}

const describeMissing = ({ install, configuration, remove }: Missing): string =>
  [...install.map((each) => `${each.name} ${each.version}`), ...configuration.map((each) => each.name)]
    .concat(remove.map((each) => `${each.name} (to be removed)`))
    .slice(0, 10)
    .join(", ");

export const simulatedRemovals = (text: string): readonly string[] =>
  [...text.matchAll(/^(?:Remv|Purg) ([^\s:]+)/gm)].map(([, name = ""]) => name);

export function parseContents(text: string): readonly string[] {
  const pattern = /^[-lh]\S+ \S+ +\d+ \S+ \S+ \.(\/.*?)(?: -> .*| link to .*)?$/gm;
  return [...text.matchAll(pattern)].map(([, path = ""]) => {
    const bytes = path.replace(/\\(?:([0-7]{3})|(.))/g, (_, octal: string | undefined, plain: string | undefined) =>
      octal === undefined ? (plain ?? "") : String.fromCharCode(parseInt(octal, 8)),
    );
    return bytes === path ? path : Buffer.from(bytes, "latin1").toString("utf8");
  });
}

export function createRestore(ports: {
  readonly exec: Exec;
  readonly transact: Transact;
  readonly settled: (unit: string, signal: AbortSignal) => Promise<void>;
  readonly identify: PackageFiles["identify"];
  readonly present: PackageFiles["present"];
}): PackageFiles["restore"] {
  const { exec, transact, settled, identify, present } = ports;

  const identifyAll = async (paths: readonly string[], signal: AbortSignal): Promise<readonly Found[]> => {
    const found: Found[] = [];
    for (const path of paths) found.push({ ...(await identify(path, signal)), path });
    return found;
  };

  return async (target, { id, progress }, signal) => {
    const unit = unitFor(id);
    await settled(unit, signal);
    const files = await identifyAll(target.files, signal);
    const configuration = await identifyAll(target.configuration, signal);
    const missing = async (): Promise<Missing> =>
      missingOf({ files, configuration, remove: target.remove }, await present(signal));

    const step = async (argv: Argv): Promise<string | undefined> => {
      const description = "Steward returns to a snapshot of packages";
      const onLine = (line: string): void => {
        if (line.trim() !== "") progress.line(line);
      };
      const result = await asResult(() => transact({ unit, description, argv, locks, onLine }, signal));
      return result.isDone ? undefined : result.reason;
    };

    const reasons: string[] = [];
    const tryStep = async (argv: Argv): Promise<void> => {
      const reason = await step(argv);
      if (reason !== undefined) reasons.push(reason);
    };

    let left = await missing();
    if (missingCount(left) > 0) {
      await step([dpkg, ...dpkgOptions, "--configure", "--pending"]);
      left = await missing();
    }
    progress.step(10, "installing the packages of the snapshot");
    if (left.install.length + left.remove.length > 0) {
      if (await isSolvable(exec, left, signal)) {
        await tryStep([aptGet, ...aptOptions, "install", "--", ...operands(left)]);
      }
      left = await missing();
    }
    if (left.install.length > 0) await tryStep([dpkg, ...dpkgAlone, "--unpack", "--", ...paths(left.install)]);
    if (left.remove.length > 0)
      await tryStep([dpkg, "--force-depends", "--purge", "--", ...left.remove.map(qualifiedName)]);
    if (left.install.length > 0) await tryStep([dpkg, ...dpkgOptions, "--configure", "--pending"]);

    progress.step(70, "leaving the configuration of removed packages");
    left = await missing();
    if (left.configuration.length > 0) {
      await tryStep([dpkg, ...dpkgAlone, "--install", "--", ...paths(left.configuration)]);
      await tryStep([dpkg, "--force-depends", "--remove", "--", ...left.configuration.map(qualifiedName)]);
    }

    progress.step(80, "looking for files that were lost");
    const lossy = await packagesWithLosses(exec, files, signal);
    if (lossy.length > 0) await tryStep([dpkg, ...dpkgAlone, "--install", "--", ...paths(lossy)]);
    await setMarks({ exec, present, wanted: target.marks }, signal);

    // Whether it fits together is reported, not judged: a host that did not when the snapshot was taken does not now.
    const whole = await exec([aptGet, "--quiet=2", ...withoutSources, "check"], { signal, timeoutMs: 120_000 });
    if (whole.exitCode !== 0) progress.line(`apt-get check: ${failureReason(whole.stderr, whole.exitCode)}`);
    left = await missing();
    if (missingCount(left) === 0) return { isDone: true, reason: "" };
    const why = [`not as in the snapshot: ${describeMissing(left)}`, ...reasons];
    return { isDone: false, reason: [...new Set(why)].join("; ") };
  };
}

const paths = (files: readonly Found[]): readonly string[] => files.map(({ path }) => path);
const operands = ({ install, remove }: Missing): readonly string[] => [
  ...paths(install),
  ...remove.map((each) => `${qualifiedName(each)}-`),
];

async function isSolvable(exec: Exec, left: Missing, signal: AbortSignal): Promise<boolean> {
  const { exitCode, stdout } = await exec([aptGet, "--simulate", ...aptOptions, "install", "--", ...operands(left)], {
    signal,
    timeoutMs: 120_000,
  });
  const allowed = new Set(left.remove.map(({ name }) => name));
  return exitCode === 0 && simulatedRemovals(stdout).every((name) => allowed.has(name));
}

/** Restores files that dpkg lost when they moved back between packages. Files in /etc come back with the snapshot. */
async function packagesWithLosses(exec: Exec, files: readonly Found[], signal: AbortSignal): Promise<readonly Found[]> {
  const lossy: Found[] = [];
  for (const file of files) {
    const { exitCode, stdout, stderr } = await exec(["/usr/bin/dpkg-deb", "--contents", file.path], {
      signal,
      timeoutMs: 10 * 60_000,
      maxOutputBytes: 256 * 1024 * 1024,
    });
    if (exitCode !== 0) throw new CommandFailed(`cannot read the file of ${file.name}: ${stderr.trim()}`);
    const inside = parseContents(stdout).filter((path) => !path.startsWith("/etc/"));
    const found = await Promise.all(inside.map((path) => orUndefined(lstat(path))));
    if (found.includes(undefined)) lossy.push(file);
  }
  return lossy;
}

async function setMarks(
  { exec, present, wanted }: Pick<PackageFiles, "present"> & { readonly exec: Exec; readonly wanted: Target["marks"] },
  signal: AbortSignal,
): Promise<void> {
  for (const { verb, names } of markCommands(wanted, await present(signal))) {
    const { exitCode, stderr } = await exec(["/usr/bin/apt-mark", ...withoutSources, verb, "--", ...names], { signal });
    if (exitCode !== 0) throw new CommandFailed(`cannot mark packages (${verb}): ${failureReason(stderr, exitCode)}`);
  }
}
