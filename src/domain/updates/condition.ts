import { type CheckStatus, statusRank } from "#contract/checks.ts";
import type { ListeningSockets, SocketOwner } from "#domain/ports/network.ts";
import { type UnitState, type Units, UnitsUnavailable } from "#domain/ports/units.ts";
import type { GuardedBy } from "#domain/ports/updates.ts";
import { defined } from "#kernel/values.ts";

/** A TCP port, or a UDP port that somebody chose, at which programs wait. */
export interface Listener {
  readonly protocol: "tcp" | "udp";
  readonly port: number;
  readonly isLoopback: boolean;
  readonly program: string;
  /** The unit with which it goes: of ports at which systemd itself waits, the socket unit. Absent for programs outside of units, and where the unit is not known. */
  readonly unit?: string;
  /** Whose it is, of a port that the kernel may have given out. */
  readonly holder?: Omit<SocketOwner, "program">;
}

/** What an update may break, as it is at one time. */
export interface Condition {
  /** Checks that judge updates. */
  readonly checks: Readonly<
    Record<string, { readonly status: CheckStatus; readonly message: string; readonly guardedBy: GuardedBy }>
  >;
  /** By name; undefined without an answer of systemd. */
  readonly units:
    | Readonly<
        Record<
          string,
          {
            readonly state: string;
            /** Whether systemd has no file for it, or one that says that it is not to be started. */
            readonly isAbsent?: true;
          } & Pick<UnitState, "activeState" | "staysActive" | "isOnDemand" | "hasFile">
        >
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

/** The unit of systemd itself, which listens only where it is configured to. */
const managerUnit = "init.scope";

/** Where systemd waits, by socket units. */
type Waiting = readonly Required<Pick<UnitState, "name" | "waitsAt">>[];

async function readSockets(sockets: ListeningSockets) {
  const listening = await sockets.listening();
  return { listening, owners: await sockets.owners(listening.map(({ inode }) => inode)) };
}

function listenersOf(
  { listening, owners }: Awaited<ReturnType<typeof readSockets>>,
  waiting: Waiting,
): readonly Listener[] {
  const socketUnitAt = (at: Pick<Listener, "protocol" | "port">): string | null =>
    waiting.find(({ waitsAt }) => waitsAt.some((each) => each.protocol === at.protocol && each.port === at.port))
      ?.name ?? null;
  // Those of other containers and of the kernel do not change with the packages of this host.
  const own = listening.flatMap(({ protocol, port, isLoopback, mayBeGivenOut, inode }): readonly Listener[] => {
    const owner = owners.get(inode);
    if (owner === undefined) return [];
    const { program, ...holder } = owner;
    const unit = holder.unit === managerUnit ? socketUnitAt({ protocol, port }) : holder.unit;
    return [{ protocol, port, isLoopback, program, ...(unit !== null && { unit }), ...(mayBeGivenOut && { holder }) }];
  });
  return [...new Map(own.map((each) => [JSON.stringify(each), each])).values()];
}

async function readUnits(units: Pick<Units, "states" | "failed">, also: readonly string[]) {
  try {
    const [states, failed = []] = await Promise.all([units.states(also), units.failed()]);
    const entries = states?.map(({ name, loadState, activeState, subState, staysActive, isOnDemand, hasFile }) => {
      const state = loadState === "not-found" ? "not found" : `${activeState} (${subState})`;
      // Packages of an older make mask their units when they are removed.
      const isAbsent = loadState === "not-found" || loadState === "masked";
      return [
        name,
        { state, activeState, staysActive, ...defined({ isOnDemand, hasFile }), ...(isAbsent && { isAbsent }) },
      ] as const;
    });
    const waiting: Waiting = (states ?? []).flatMap(({ name, waitsAt }) =>
      waitsAt === undefined ? [] : [{ name, waitsAt }],
    );
    return {
      waiting,
      units: entries && Object.fromEntries(entries),
      failedUnits: Object.fromEntries(failed.map(({ name, result }) => [name, { result }])),
    };
  } catch (error) {
    if (error instanceof UnitsUnavailable) return { waiting: [], units: undefined, failedUnits: {} };
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
      const [checks, { waiting, ...ofUnits }, found] = await Promise.all([
        report(signal),
        readUnits(units, also),
        readSockets(sockets),
      ]);
      return { checks, ...ofUnits, listeners: listenersOf(found, waiting) };
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

/**
 * Whether a change removes packages: `asked` where somebody has asked for these packages to come or go, `along` where an update does
 * it, after which something else is to serve in their place.
 */
export type Removal = "none" | "along" | "asked";

/** Units that were active and are to be active again. */
export const activeUnitsOf = ({ units = {} }: Condition): readonly string[] =>
  Object.keys(units).filter((name) => units[name]?.staysActive === true);

/** Units that each inspection has to report, also when systemd has unloaded them. */
export const watchedUnitsOf = (condition: Condition): readonly string[] => [
  ...new Set([...activeUnitsOf(condition), ...condition.listeners.flatMap(({ unit = [] }) => unit)]),
];

const isActive = (state: string): boolean => ["active", "reloading", "refreshing"].includes(state);

/** Whether systemd says of a unit that it can be started no more, as of those of packages that were removed. */
const isGone = (unit: string, before: Condition, now: Condition): boolean =>
  before.units?.[unit]?.isAbsent !== true && now.units?.[unit]?.isAbsent === true;

function worseUnits(before: Condition, now: Condition, removal: Removal): readonly Worsening[] {
  if (now.units === undefined)
    return before.units === undefined ? [] : [{ key: "systemd", text: "systemd does not answer", mustLast: false }];
  const known = activeUnitsOf(before);
  const isRemoved = (unit: string): boolean => removal !== "none" && isGone(unit, before, now);
  const stopped = known.flatMap((unit): readonly Worsening[] => {
    const { state, activeState } = now.units?.[unit] ?? { state: "not found", activeState: "inactive" };
    if (isActive(activeState) || (removal !== "none" && state === "not found") || isRemoved(unit)) return [];
    const result = now.failedUnits[unit]?.result;
    const text = `unit ${unit}: was ${before.units?.[unit]?.state}, now ${state}${result ? `, result ${result}` : ""}`;
    // `auto-restart` comes between two runs of a service that ends again and again.
    const mustLast = ["activating", "deactivating"].includes(activeState) && !state.includes("auto-restart");
    const mayHaveEnded =
      before.units?.[unit]?.isOnDemand === true && activeState === "inactive" && state !== "not found";
    return [{ key: `unit ${unit}`, text, mustLast, unit, ...(mayHaveEnded && { mayHaveEnded }) }];
  });
  const failed = Object.entries(now.failedUnits)
    .filter(([unit]) => before.failedUnits[unit] === undefined && !known.includes(unit) && !isRemoved(unit))
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

const reachesAsFar = (was: Listener, is: Listener): boolean => was.isLoopback || !is.isLoopback;

/**
 * Whether the loss of a port is a sign of a broken service. Of those that the kernel gives out a service gets another one at each start, and what
 * other programs are at comes and goes: there it is a sign only where the main process of a service that stays has none of them left.
 */
function isMissed(was: Listener, staying: ReadonlySet<string>, now: Condition): boolean {
  const { unit, isMain } = was.holder ?? { unit: managerUnit, isMain: true };
  if (unit === managerUnit) return true;
  if (unit === null || !isMain || !staying.has(unit)) return false;
  return !now.listeners.some((is) => is.holder?.unit === unit && reachesAsFar(was, is));
}

/** A unit without a file was not a package's: anyone who made it may end it at any time. */
const wentAlong = ({ unit }: Listener, before: Condition, now: Condition): boolean =>
  unit !== undefined && before.units?.[unit]?.hasFile === true && isGone(unit, before, now);

function worseListeners(before: Condition, now: Condition, removal: Removal): readonly Worsening[] {
  const staying = new Set(activeUnitsOf(before));
  const found = before.listeners.flatMap((was): readonly Worsening[] => {
    if (!isMissed(was, staying, now)) return [];
    if (removal === "asked" && wentAlong(was, before, now)) return [];
    const there = now.listeners.filter(
      (is) => is.protocol === was.protocol && is.port === was.port && reachesAsFar(was, is),
    );
    const label = labelOf(was);
    const finding = (text: string): readonly Worsening[] => [{ key: `port ${label}`, text, mustLast: false }];
    if (there.length === 0) return finding(`port ${label}: ${was.program} listened, now nothing does`);
    if (there.some(({ program }) => isSameProgram(program, was.program))) return [];
    const programs = new Set(there.map(({ program }) => program));
    return finding(`port ${label}: ${was.program} listened, now ${[...programs].join(" and ")}`);
  });
  // At one port several units may have listened, each at an address of its own.
  return [...new Map(found.map((each) => [each.text, each])).values()];
}

/** A check that can no longer look is worse too, unless its subject may have been removed. */
function worseChecks(before: Condition, now: Condition, removal: Removal): readonly Worsening[] {
  return Object.entries(now.checks).flatMap(([id, { status, message, guardedBy }]): readonly Worsening[] => {
    const was = before.checks[id]?.status ?? "skip";
    const isGone = status === "skip" && (was === "pass" || was === "warn") && removal === "none";
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
export const worseThan = (before: Condition, now: Condition, removal: Removal): readonly Worsening[] => [
  ...worseUnits(before, now, removal),
  ...worseListeners(before, now, removal),
  ...worseChecks(before, now, removal),
];
