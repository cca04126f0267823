import type { FoundUnit, Unit, UnitFileChange, UnitState, UnitVerb } from "#domain/ports/units.ts";

export interface UnitFileText {
  readonly description: string;
  /** What `systemctl enable` would find to do: something, only other units (`Also=`), or nothing. */
  readonly install: "links" | "also" | "none";
}

/** systemd.syntax(7): sections, `key=value`, comments, a backslash at the end continues the line. */
export function parseUnitFile(text: string): UnitFileText {
  let section = "";
  let description = "";
  let install: UnitFileText["install"] = "none";
  for (const line of text.replaceAll(/\\\r?\n(?:[#;].*\n)*/g, " ").split("\n")) {
    const header = /^\s*\[([^\]]+)\]\s*$/.exec(line);
    if (header !== null) {
      section = header[1] ?? "";
      continue;
    }
    const setting = section === "Unit" ? /^\s*Description\s*=\s*(.*?)\s*$/.exec(line) : null;
    if (setting !== null) description = setting[1] ?? "";
    if (section !== "Install") continue;
    if (/^\s*(WantedBy|RequiredBy|UpheldBy|Alias)\s*=\s*\S/.test(line)) install = "links";
    else if (install === "none" && /^\s*Also\s*=\s*\S/.test(line)) install = "also";
  }
  return { description, install };
}

export const text = (value: unknown): string => (typeof value === "string" ? value : "");

const member = (properties: unknown, name: string): unknown =>
  typeof properties === "object" && properties !== null ? Reflect.get(properties, name) : undefined;

export const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(text) : []);

/** 64-bit numbers come as bigint, smaller ones as number. */
export const integer = (value: unknown): number | undefined => {
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
};

/** systemd keeps time in microseconds since the epoch, 0 for never. */
export const epochMs = (value: unknown): number | null => {
  const micros = integer(value) ?? 0;
  return micros === 0 ? null : Math.floor(micros / 1000);
};

/** systemd's word for never. */
const infinity = 2n ** 64n - 1n;

/**
 * When a timer is due: the earlier of what is due by the calendar and what is due by the time since boot, which is on the monotonic
 * clock. @param now epoch milliseconds.
 */
export function nextStart(timer: Readonly<Record<string, unknown>>, now: number): number | null {
  const monotonicMicros = process.hrtime.bigint() / 1000n;
  const byBoot = timer["NextElapseUSecMonotonic"];
  const sinceBoot =
    typeof byBoot === "bigint" && byBoot !== 0n && byBoot !== infinity
      ? now + Number(byBoot - monotonicMicros) / 1000
      : Number.POSITIVE_INFINITY;
  const next = Math.min(epochMs(timer["NextElapseUSecRealtime"]) ?? Number.POSITIVE_INFINITY, sinceBoot);
  return Number.isFinite(next) ? Math.floor(next) : null;
}

export interface MirroredUnit extends Unit {
  readonly path: string;
  readonly controlGroup: string;
}

export const blankUnit = (name: string): MirroredUnit => ({
  name,
  description: "",
  loadState: "",
  activeState: "inactive",
  subState: "dead",
  unitFileState: "",
  mainPid: null,
  memoryBytes: null,
  restarts: 0,
  since: null,
  result: "success",
  path: "",
  controlGroup: "",
});

export function parseListedUnit(row: unknown): MirroredUnit | undefined {
  if (!Array.isArray(row)) return undefined;
  const [name, description, loadState, activeState, subState, , path] = row;
  return {
    ...blankUnit(text(name)),
    description: text(description),
    loadState: text(loadState),
    activeState: text(activeState),
    subState: text(subState),
    path: text(path),
  };
}

export function parseUnitFileRow(row: unknown): { readonly path: string; readonly state: string } | undefined {
  if (!Array.isArray(row)) return undefined;
  const [path, state] = row;
  return { path: text(path), state: text(state) };
}

/** The changes of unit files that a call answers: the last value of its reply. */
export function parseFileChanges(rows: unknown): readonly UnitFileChange[] {
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: unknown) => {
    if (!Array.isArray(row)) return [];
    const [type, path, target] = row;
    return { type: text(type), path: text(path), target: text(target) };
  });
}

export function unitNames(properties: unknown): readonly string[] {
  const names = member(properties, "Names");
  return Array.isArray(names) ? names.map(String) : [];
}

/** Bytes as hexadecimal digits. */
export function hexOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString("hex");
  return Array.isArray(value) ? Buffer.from(value.map((byte) => integer(byte) ?? 0)).toString("hex") : "";
}

/** Whether the conditions of a unit held when systemd last looked; undefined when it has not since it loaded the unit. */
export function conditionIn(properties: unknown): boolean | undefined {
  const isLookedAt = epochMs(member(properties, "ConditionTimestamp")) !== null;
  return isLookedAt ? member(properties, "ConditionResult") !== false : undefined;
}

export function startingOf(properties: unknown): Pick<FoundUnit, "invocation" | "can"> & { readonly hasJob: boolean } {
  const of = (name: string): unknown => member(properties, name);
  const job = of("Job");
  return {
    invocation: hexOf(of("InvocationID")),
    hasJob: Array.isArray(job) && integer(job[0]) !== 0,
    can: {
      start: of("CanStart") !== false,
      stop: of("CanStop") !== false,
      restart: of("CanStart") !== false && of("CanStop") !== false,
      reload: of("CanReload") === true,
    },
  };
}

/** Properties of a unit that name those which change with it (systemd.unit(5)), and what they then do. */
const along: Readonly<Record<UnitVerb, readonly string[]>> = {
  start: ["Requires", "Requisite", "BindsTo", "Wants"],
  stop: ["RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo"],
  restart: ["RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo"],
  reload: ["PropagatesReloadTo"],
};

const namesIn = (properties: unknown, list: readonly string[]): readonly string[] =>
  list.flatMap((name) => {
    const value = member(properties, name);
    return Array.isArray(value) ? value.map(text) : [];
  });

/** The units that change with one, by its properties. */
export const changedAlong = (verb: UnitVerb, properties: unknown) => ({
  same: namesIn(properties, along[verb]),
  stopped: verb === "start" ? namesIn(properties, ["Conflicts", "ConflictedBy"]) : [],
  triggers: verb === "stop" ? namesIn(properties, ["TriggeredBy"]) : [],
});

export const activeStateIn = (properties: unknown): string => text(member(properties, "ActiveState"));

/** When systemd starts a service again by itself (systemd.service(5)). @param ofKind the properties of a service. */
export const fragmentIn = (properties: unknown): string => text(member(properties, "FragmentPath"));

export const restartIn = (ofKind: unknown): string => text(member(ofKind, "Restart"));

const isEmpty = (value: unknown): boolean => !Array.isArray(value) || value.length === 0;

/** Kinds of units that are active because something runs, is mounted or waits. */
const kindsThatStay = /\.(?:service|socket|mount|automount|swap|timer|path)$/;

/** Whether a call of its bus name or a connection starts a unit, so that it may end while nobody needs it. */
export function isOnDemand(properties: unknown, ofKind: unknown): boolean {
  const triggers = member(properties, "TriggeredBy");
  const bySocket = Array.isArray(triggers) && triggers.some((name) => text(name).endsWith(".socket"));
  return bySocket || text(member(ofKind, "BusName")) !== "";
}

/** Whether a unit is there by a file that somebody has put there: not a transient one, nor a mirror of what the kernel knows. */
export const hasOwnFile = (properties: unknown): boolean =>
  fragmentIn(properties) !== "" && member(properties, "Transient") !== true;

const socketKinds = new Map([
  ["Stream", "tcp"],
  ["Datagram", "udp"],
] as const);
const atPort = /^(?:\[.+\]|[\d.]+)(?:%[^:]+)?:(\d+)$/;

/** The ports of a socket unit, by the properties of its kind; `Listen` has paths and others among them. */
export function portsIn(ofKind: unknown): NonNullable<UnitState["waitsAt"]> {
  const listens = member(ofKind, "Listen");
  return (Array.isArray(listens) ? listens : []).flatMap((each: unknown) => {
    const [kind, address] = Array.isArray(each) ? each.map(text) : [];
    const protocol = [...socketKinds].find(([name]) => name === kind)?.[1];
    const port = atPort.exec(address ?? "")?.[1];
    return protocol === undefined || port === undefined ? [] : [{ protocol, port: Number(port) }];
  });
}

/** Conditions that hold at some boots and not at the next one, though nothing has changed for the worse. */
const passingConditions: readonly unknown[] = ["ConditionNeedsUpdate", "ConditionFirstBoot"];

const isOfSomeBoots = (properties: unknown): boolean => {
  const conditions = member(properties, "Conditions");
  return (
    Array.isArray(conditions) && conditions.some((each) => Array.isArray(each) && passingConditions.includes(each[0]))
  );
};

/** Whether a unit is active, has no reason to end by itself, and is to be active after a reboot. @param ofKind the properties of its own kind. */
export function staysActive(name: string, properties: unknown, ofKind: unknown): boolean {
  const of = (property: string): unknown => member(properties, property);
  if (!kindsThatStay.test(name)) return false;
  // One that has ended since it was listed is loaded again to be asked, and is of no socket then that had started it.
  if (text(of("ActiveState")) !== "active") return false;
  // Without a file it mirrors a mount that others make and remove.
  if (!hasOwnFile(properties) || of("StopWhenUnneeded") === true || isOfSomeBoots(properties)) return false;
  if (/^user-\d+\.slice$/.test(text(member(ofKind, "Slice")))) return false;
  const isStarted = !isEmpty(of("TriggeredBy")) || isOnDemand(properties, ofKind);
  return !isStarted || ["WantedBy", "RequiredBy", "UpheldBy"].some((property) => !isEmpty(of(property)));
}

const readers: Readonly<Record<string, (value: unknown) => Partial<MirroredUnit>>> = {
  // The unit's own name, whichever of its names was asked for.
  Id: (value) => ({ name: text(value) }),
  Description: (value) => ({ description: text(value) }),
  LoadState: (value) => ({ loadState: text(value) }),
  ActiveState: (value) => ({ activeState: text(value) }),
  SubState: (value) => ({ subState: text(value) }),
  UnitFileState: (value) => ({ unitFileState: text(value) }),
  MainPID: (value) => ({ mainPid: integer(value) || null }),
  NRestarts: (value) => ({ restarts: integer(value) ?? 0 }),
  Result: (value) => ({ result: text(value) }),
  ControlGroup: (value) => ({ controlGroup: text(value) }),
  // The largest 64-bit number stands for "not accounted".
  MemoryCurrent: (value) => ({ memoryBytes: integer(value) ?? null }),
};

/** As `systemctl status`. A daemon-reload sets StateChangeTimestamp of units that have never run. */
export function sinceProperty(activeState: string): string {
  switch (activeState) {
    case "inactive":
    case "failed":
      return "InactiveEnterTimestamp";
    case "activating":
      return "InactiveExitTimestamp";
    case "deactivating":
      return "ActiveExitTimestamp";
    default:
      return "ActiveEnterTimestamp";
  }
}

export function withProperties(unit: MirroredUnit, properties: unknown): MirroredUnit {
  if (typeof properties !== "object" || properties === null) return unit;
  const changes: Partial<MirroredUnit>[] = [];
  for (const [name, value] of Object.entries(properties)) {
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (read !== undefined) changes.push(read(value));
  }
  const changed: MirroredUnit = changes.length === 0 ? unit : Object.assign({ ...unit }, ...changes);
  const since: unknown = Reflect.get(properties, sinceProperty(changed.activeState));
  return since === undefined ? changed : { ...changed, since: epochMs(since) };
}
