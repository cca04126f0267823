import type { StaleReport, StaleRestart, UnitRestart } from "#contract/updates.ts";
import { newerKernel } from "#domain/common/newer-kernel.ts";
import { requireAsPlanned } from "#domain/common/plan.ts";
import type { RebootNeed } from "#domain/ports/host.ts";
import { changeUnit, type FoundUnit, hasCrashed, isRunning, type Units, unitObstacle } from "#domain/ports/units.ts";
import type { StaleCode } from "#domain/ports/updates.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import type { Work } from "./rollback.ts";

export interface StaleHost {
  readonly code: StaleCode;
  readonly units: Pick<Units, "read" | "restart" | "settled">;
  readonly reboot: RebootNeed;
}

/** Services whose restart interrupts people or connections: somebody has to choose the time. */
const leftAlone: readonly { readonly reason: string; readonly names: RegExp }[] = [
  { reason: "it is Steward itself", names: /^steward\.service$/ },
  {
    reason: "it ends graphical sessions",
    names: /^(display-manager|gdm3?|sddm|lightdm|lxdm|slim|xdm|wdm|nodm|greetd|ly|plasmalogin)(@.*)?\.service$/,
  },
  {
    reason: "it ends logins at a console",
    names: /^((serial-|container-)?getty|autovt|console-getty)(@.*)?\.service$/,
  },
  {
    reason: "it may interrupt connections of this host",
    names:
      /^(NetworkManager|ModemManager|networking|ifup|wpa_supplicant|iwd|dhcpcd|openvpn|openvpn-client|openvpn-server|wg-quick|strongswan|strongswan-starter|ipsec|frr|bird6?|tailscaled)(@.*)?\.service$/,
  },
  {
    reason: "it may end what runs inside of it",
    names: /^(docker|containerd|podman|crio|k3s|kubelet|lxc|lxcfs|lxd|incus|xendomains|systemd-nspawn)(@.*)?\.service$/,
  },
];

function reasonToLeave(unit: FoundUnit): string | undefined {
  const { name, activeState } = unit;
  const row = leftAlone.find(({ names }) => names.test(name));
  if (row !== undefined) return `${row.reason} (restart it by name when that suits)`;
  const obstacle = unitObstacle("restart", unit);
  if (obstacle !== undefined)
    return `${obstacle.reason}${obstacle.remedy === undefined ? "" : ` (${obstacle.remedy})`}`;
  if (isRunning(unit)) return undefined;
  return activeState === "activating"
    ? "it is starting, or a job that ends by itself"
    : `it is ${activeState}, and processes that it left behind still run`;
}

export async function findStale(host: StaleHost, signal: AbortSignal): Promise<StaleReport> {
  const { code, units, reboot } = host;
  const [{ processes, hidden }, { runningKernel, installedKernels, isRequested }] = await Promise.all([
    code.find(signal),
    reboot.reasons(),
  ]);
  const names = [...new Set(processes.flatMap(({ unit }) => unit ?? []))].sort();
  const found = await Promise.all(names.map(async (unit) => ({ unit, reason: reasonToLeave(await units.read(unit)) })));
  const newest = newerKernel(runningKernel, installedKernels) ?? null;
  return {
    restartable: found.flatMap(({ unit, reason }) => (reason === undefined ? [unit] : [])),
    left: found.flatMap(({ unit, reason }) => (reason === undefined ? [] : [{ unit, reason }])),
    processes: processes.map((each) => ({ ...each, files: [...each.files] })),
    hidden_processes: hidden,
    service_manager: processes.some(({ pid }) => pid === 1),
    kernel: { running: runningKernel, newest },
    requires_reboot: isRequested || newest !== null,
  };
}

async function restartOne(units: StaleHost["units"], unit: string, signal: AbortSignal): Promise<UnitRestart> {
  const failed = (message: string): UnitRestart => ({ unit, success: false, message });
  try {
    const { jobResult, after } = await changeUnit(units, "restart", unit, signal);
    if (jobResult === "running") return failed("its job is still running (look again later)");
    if (jobResult !== "done") return failed(`its job ended with: ${jobResult}; it is ${after.activeState}`);
    if (hasCrashed(after)) return failed(`it stopped at once (${after.result}); see its log`);
    return { unit, success: true, message: `${unit} restarted` };
  } catch (error) {
    signal.throwIfAborted();
    return failed(errorMessage(error));
  }
}

/** Restarts one by one what may be restarted. @param done was restarted by an earlier process. */
export async function restartUnits(
  host: Pick<StaleHost, "units">,
  wanted: readonly string[],
  { progress, signal }: Pick<Work<never>, "progress" | "signal">,
  onRestart: (restarted: readonly UnitRestart[]) => void = () => undefined,
  done: readonly UnitRestart[] = [],
): Promise<UnitRestart[]> {
  const restarted = [...done];
  const left = wanted.filter((name) => !done.some(({ unit }) => unit === name));
  for (const [at, unit] of left.entries()) {
    signal.throwIfAborted();
    progress.step((at / left.length) * 100, `restart ${unit}`);
    const result = await restartOne(host.units, unit, signal);
    progress.line(result.success ? result.message : `cannot restart ${unit}: ${result.message}`);
    restarted.push(result);
    onRestart(restarted);
  }
  return restarted;
}

/** The progress of a restart, for a process that resumes it. */
export interface RestartPhase {
  readonly restarted: readonly UnitRestart[];
}

export const restartText = (unit: string): string => `restart ${unit}`;

export async function restartStale(host: StaleHost, work: Work<RestartPhase>): Promise<StaleRestart> {
  const { id, phase, planned, savePhase, signal } = work;
  const { restartable } = await findStale(host, signal);
  if (phase === undefined) requireAsPlanned(planned, restartable.map(restartText), "restart services");
  work.pointOfNoReturn?.();
  const save = (all: readonly UnitRestart[]): void => savePhase({ restarted: all });
  const restarted = await restartUnits(host, restartable, work, save, phase?.restarted);
  const { left, requires_reboot: requiresReboot, processes } = await findStale(host, signal);
  const isStale = (name: string): boolean => processes.some(({ unit }) => unit === name);
  const failed = restarted.filter(({ success }) => !success);
  const parts = [
    `${counted(restarted.length - failed.length, "service")} restarted`,
    ...(failed.length > 0 ? [`${failed.length} could not be: ${failed.map(({ unit }) => unit).join(", ")}`] : []),
    ...(left.length > 0 ? [`${left.length} left alone`] : []),
  ];
  return {
    success: failed.length === 0,
    message: parts.join("; "),
    operation_id: id,
    restarted,
    left,
    still_stale: restarted.flatMap(({ unit, success }) => (success && isStale(unit) ? [unit] : [])),
    requires_reboot: requiresReboot,
  };
}
