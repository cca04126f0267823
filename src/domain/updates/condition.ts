import type { CheckStatus } from "#contract/checks.ts";
import { statusRank } from "#contract/checks.ts";
import type { GuardedBy } from "#domain/common/guarded-by.ts";
import type { ListeningSockets } from "#domain/ports/network.ts";
import { type UnitState, type Units, UnitsUnavailable } from "#domain/ports/units.ts";

/** A TCP port, or a UDP port that somebody chose, at which programs wait. */
export interface Listener {
  readonly protocol: "tcp" | "udp";
  readonly port: number;
  readonly isLoopback: boolean;
  readonly program: string;
}

/** What an update may break, as it is at one moment. */
export interface Condition {
  /** Checks that judge updates. */
  readonly checks: Readonly<
    Record<string, { readonly status: CheckStatus; readonly message: string; readonly guardedBy: GuardedBy }>
  >;
  /** By name; undefined without an answer of systemd. */
  readonly units:
    | Readonly<
        Record<string, { readonly state: string } & Pick<UnitState, "activeState" | "staysActive" | "isOnDemand">>
      >
    | undefined;
  readonly failedUnits: Readonly<Record<string, { readonly result: string }>>;
  readonly listeners: readonly Listener[];
}

export interface HostCondition {
  /** @param units to report also when systemd has unloaded them. */
  readonly look: (units: readonly string[], signal: AbortSignal) => Promise<Condition>;
  /** Starts a unit again. @throws when it does not run then. */
  readonly restart: (unit: string, signal: AbortSignal) => Promise<void>;
}

const labelOf = ({ protocol, port, isLoopback }: Listener): string =>
  `${port}/${protocol}${isLoopback ? " on loopback" : ""}`;

async function readListeners(sockets: ListeningSockets): Promise<readonly Listener[]> {
  const listening = await sockets.listening();
  const owners = await sockets.owners(listening.map(({ inode }) => inode));
  // Those of other containers and of the kernel do not change with the packages of this host.
  const own = listening.flatMap(({ protocol, port, isLoopback, inode }): readonly Listener[] => {
    const program = owners.get(inode);
    return program === undefined ? [] : [{ protocol, port, isLoopback, program }];
  });
  return [...new Map(own.map((each) => [`${labelOf(each)} ${each.program}`, each])).values()];
}

async function readUnits(units: Pick<Units, "states" | "failed">, also: readonly string[]) {
  try {
    const [states, failed = []] = await Promise.all([units.states(also), units.failed()]);
    const entries = states?.map(({ name, loadState, activeState, subState, staysActive, isOnDemand }) => {
      const state = loadState === "not-found" ? "not found" : `${activeState} (${subState})`;
      return [name, { state, activeState, staysActive, ...(isOnDemand && { isOnDemand }) }] as const;
    });
    return {
      units: entries && Object.fromEntries(entries),
      failedUnits: Object.fromEntries(failed.map(({ name, result }) => [name, { result }])),
    };
  } catch (error) {
    if (error instanceof UnitsUnavailable) return { units: undefined, failedUnits: {} };
    throw error;
  }
}

/** @param ports.report runs the checks that judge updates. */
export function createHostCondition(ports: {
  readonly units: Pick<Units, "states" | "failed" | "read" | "resetFailed" | "restart">;
  readonly sockets: ListeningSockets;
  readonly report: (signal: AbortSignal) => Promise<Condition["checks"]>;
}): HostCondition {
  const { units, sockets, report } = ports;
  return {
    async look(also, signal) {
      const [checks, ofUnits, listeners] = await Promise.all([
        report(signal),
        readUnits(units, also),
        readListeners(sockets),
      ]);
      return { checks, ...ofUnits, listeners };
    },
    async restart(unit, signal) {
      if ((await units.read(unit)).activeState === "failed") await units.resetFailed(unit);
      const result = await units.restart(unit, signal);
      if (result !== "done" && result !== "running") throw new Error(`its start ended with ${result}`);
    },
  };
}

/** A difference for the worse, with its evidence. */
export interface Worsening {
  /** The same for the same problem, however the evidence changes. */
  readonly key: string;
  /** For people: what it was, and what it is. */
  readonly text: string;
  /** Whether it counts only when it lasts: units that are starting, resources that are short. */
  readonly mustLast: boolean;
  readonly unit?: string;
  /** Whether the unit has only ended, and something starts it when it is needed: it counts where it does not start again. */
  readonly mayHaveEnded?: true;
}

/** Units that were active and are to be active again. */
export const activeUnitsOf = ({ units = {} }: Condition): readonly string[] =>
  Object.keys(units).filter((name) => units[name]?.staysActive === true);

const isActive = (state: string): boolean => ["active", "reloading", "refreshing"].includes(state);

function worseUnits(before: Condition, now: Condition, removesPackages: boolean): readonly Worsening[] {
  if (now.units === undefined)
    return before.units === undefined ? [] : [{ key: "systemd", text: "systemd does not answer", mustLast: false }];
  const known = activeUnitsOf(before);
  const stopped = known.flatMap((unit): readonly Worsening[] => {
    const { state, activeState } = now.units?.[unit] ?? { state: "not found", activeState: "inactive" };
    if (isActive(activeState) || (removesPackages && state === "not found")) return [];
    const result = now.failedUnits[unit]?.result;
    const text = `unit ${unit}: was ${before.units?.[unit]?.state}, now ${state}${result ? `, result ${result}` : ""}`;
    // `auto-restart` comes between two runs of a service that ends again and again.
    const mustLast = ["activating", "deactivating"].includes(activeState) && !state.includes("auto-restart");
    const mayHaveEnded =
      before.units?.[unit]?.isOnDemand === true && activeState === "inactive" && state !== "not found";
    return [{ key: `unit ${unit}`, text, mustLast, unit, ...(mayHaveEnded && { mayHaveEnded }) }];
  });
  const failed = Object.entries(now.failedUnits)
    .filter(([unit]) => before.failedUnits[unit] === undefined && !known.includes(unit))
    .map(([unit, { result }]) => ({
      key: `unit ${unit}`,
      text: `unit ${unit}: had not failed, now failed${result ? `, result ${result}` : ""}`,
      mustLast: false,
    }));
  return [...stopped, ...failed];
}

/** Without version numbers: `php-fpm8.2` and `php-fpm8.3` are the same program. */
const isSameProgram = (one: string, other: string): boolean => {
  const [first, second] = [one, other].map((name) => name.replaceAll(/[\d.]+/g, ""));
  // systemd holds the sockets of units that it starts on demand.
  return first === second || first === "systemd" || second === "systemd";
};

function worseListeners(before: Condition, now: Condition): readonly Worsening[] {
  return before.listeners.flatMap((was): readonly Worsening[] => {
    const there = now.listeners.filter(
      ({ protocol, port, isLoopback }) =>
        protocol === was.protocol && port === was.port && (was.isLoopback || !isLoopback),
    );
    const label = labelOf(was);
    const finding = (text: string): readonly Worsening[] => [{ key: `port ${label}`, text, mustLast: false }];
    if (there.length === 0) return finding(`port ${label}: ${was.program} listened, now nothing does`);
    if (there.some(({ program }) => isSameProgram(program, was.program))) return [];
    return finding(`port ${label}: ${was.program} listened, now ${there.map(({ program }) => program).join(" and ")}`);
  });
}

/** A check that cannot look any more is worse too, unless its subject may have been removed. */
function worseChecks(before: Condition, now: Condition, removesPackages: boolean): readonly Worsening[] {
  return Object.entries(now.checks).flatMap(([id, { status, message, guardedBy }]): readonly Worsening[] => {
    const was = before.checks[id]?.status ?? "skip";
    const isGone = status === "skip" && (was === "pass" || was === "warn") && !removesPackages;
    const isWorse = statusRank[status] > statusRank[was] && status !== "skip";
    const counts = guardedBy === "failure" ? isWorse && status === "fail" : isWorse || isGone;
    if (!counts) return [];
    return [
      {
        key: `check ${id}`,
        text: `check ${id}: was ${was}, now ${status} (${message})`,
        mustLast: guardedBy === "failure",
      },
    ];
  });
}

/** What is worse than before: a closed list of what an update may cause. */
export const worseThan = (before: Condition, now: Condition, removesPackages: boolean): readonly Worsening[] => [
  ...worseUnits(before, now, removesPackages),
  ...worseListeners(before, now),
  ...worseChecks(before, now, removesPackages),
];
