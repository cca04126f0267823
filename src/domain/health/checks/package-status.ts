import { statusCheckId } from "#contract/check-meanings.ts";
import type { PackageFaults, PackageManager } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore, type Outcome, skip } from "../check.ts";

/** After this time a process that changes packages is assumed to hang. */
const longWorkMs = 60 * 60_000;
/** Items in the details; the counts are of all. */
const mostListed = 100;

const isOne = (count: number): boolean => count === 1;

function faultDetails(manager: string, faults: PackageFaults): Outcome["details"] {
  const { unfinished, unmet, held, writer } = faults;
  return {
    manager,
    installed_packages: faults.installed,
    interrupted: faults.isInterrupted,
    unfinished_packages: unfinished.length,
    unfinished: unfinished.slice(0, mostListed).map(({ name, version, state }) => ({ name, version, state })),
    reinstall: unfinished.filter((each) => each.mustBeReinstalled).map(({ name }) => name),
    unmet_dependencies: unmet.slice(0, mostListed),
    held_packages: held.length,
    held: held.slice(0, mostListed),
    changed_by: writer ?? null,
  };
}

function interruption({ unfinished }: PackageFaults): string {
  const stopped = "The package manager was stopped in the middle of its work";
  const names = unfinished.map(({ name, state }) => `${name} (${state})`);
  const left =
    names.length === 0 ? "" : `: ${listNames(names)} ${isOne(names.length) ? "is" : "are"} not fully installed`;
  return `${stopped}${left}; nothing can be installed, updated or removed until that is finished`;
}

function unmetMessage({ unmet }: PackageFaults): string {
  const needs = unmet.map(({ name, needs: what }) => `${name} (${what})`);
  return `${counted(unmet.length, "dependency", "dependencies")} of installed packages ${isOne(unmet.length) ? "is" : "are"} missing: ${listNames(needs)}; they may not work, and nothing else can be installed until that is repaired`;
}

function faultOf(faults: PackageFaults): Pick<Outcome, "status" | "message" | "fixId"> | undefined {
  const { unfinished, unmet, isInterrupted } = faults;
  if (isInterrupted) return { status: "fail", message: interruption(faults), fixId: "apt_fix_dpkg" };
  const broken = unfinished.filter(({ mustBeReinstalled }) => mustBeReinstalled).map(({ name }) => name);
  if (broken.length > 0) {
    const message = `${listNames(broken)} ${isOne(broken.length) ? "was" : "were"} only partly unpacked and must be installed again: until then nothing else can be installed`;
    return { status: "fail", message, fixId: "apt_fix_dependencies" };
  }
  if (unmet.length > 0) return { status: "fail", message: unmetMessage(faults), fixId: "apt_fix_dependencies" };
  if (unfinished.length === 0) return undefined;
  const names = unfinished.map(({ name, state }) => `${name} (${state})`);
  const message = `${counted(names.length, "package")} ${isOne(names.length) ? "is" : "are"} not fully installed and may not work: ${listNames(names)}`;
  return { status: "fail", message, fixId: "apt_fix_dpkg" };
}

export function packageStatusCheck(ports: {
  readonly packages: Pick<PackageManager, "name" | "commands" | "faults"> | undefined;
  readonly clock: Pick<Clock, "monotonicMs">;
}): BuiltInCheck {
  const { packages, clock } = ports;
  let writing: { readonly pid: number; readonly sinceMs: number } | undefined;

  /** How long the same process has been changing packages. */
  const workedMs = (pid: number): number => {
    const nowMs = clock.monotonicMs();
    if (writing?.pid !== pid) writing = { pid, sinceMs: nowMs };
    return nowMs - writing.sinceMs;
  };

  type Writer = NonNullable<PackageFaults["writer"]>;
  const whileWritten = ({ pid, program }: Writer): Pick<Outcome, "status" | "message" | "fixId"> => {
    const who = `${program} (process ${pid})`;
    if (workedMs(pid) < longWorkMs) return { status: "pass", message: `${who} is changing packages right now` };
    const message = `${who} has been changing packages for more than an hour: it may wait for an answer, and nothing else can be installed meanwhile`;
    return { status: "warn", message, fixId: null };
  };

  const check = {
    id: "package_status",
    name: "Package manager",
    category: "updates",
    severity: "high",
    about:
      "The state of the packages, by package manager (`apt_status`): fails when it was interrupted, packages are " +
      "not fully installed or dependencies are broken; warns when packages are held, since they get no updates. " +
      "While a process changes packages nothing is reported, unless it takes longer than an hour. `ignore` takes " +
      "names and patterns of held packages.",
    meaning: "The package database is in a state that prevents updates, or packages are held and get none.",
    remedy: "Finish what was interrupted (dpkg --configure -a, apt-get -f install); release holds that are not needed.",
    guardedBy: "change",
  } as const;
  if (packages === undefined)
    return { ...check, run: () => Promise.resolve(skip("This host has no supported package manager")) };
  const manager = packages.name;
  return {
    ...check,
    id: statusCheckId(manager),
    name: `Packages (${manager})`,
    fixes: ["apt_fix_dpkg", "apt_fix_dependencies"],
    async run({ ignore }, signal) {
      const faults = await packages.faults(signal);
      const details = faultDetails(manager, faults);
      if (faults.writer !== undefined) return { ...whileWritten(faults.writer), details };
      writing = undefined;
      const fault = faultOf(faults);
      if (fault !== undefined) return { ...fault, details };
      const isIgnored = createIgnore(ignore);
      const held = faults.held.map(({ name }) => name).filter((name) => !isIgnored(name));
      if (held.length === 0)
        return { status: "pass", message: `${counted(faults.installed, "package")} installed, all in order`, details };
      const message = `${counted(held.length, "package")} held at ${isOne(held.length) ? "its" : "their"} version and not updated: ${listNames(held)} (${packages.commands.unhold} ends that)`;
      return { status: "warn", message, details, fixId: null };
    },
  };
}
