import { isAbsolute } from "node:path";
import type { Severity } from "#contract/checks.ts";
import { defined } from "#kernel/values.ts";
import { type Fault, type FaultAt, faultIf, type SettingFaults } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toBytes, toMs } from "./text.ts";

type CheckEntry = NonNullable<NonNullable<Settings["health"]>["checks"]>[string];

const amount = (left: string | number): number => (typeof left === "string" ? toBytes(left) : left);

function freeBelow({ warn, fail }: NonNullable<CheckEntry["free_below"]>) {
  return { ...(warn !== undefined && { warn: amount(warn) }), ...(fail !== undefined && { fail: amount(fail) }) };
}

function mountPlan({ free_below: below, mounts }: Pick<CheckEntry, "free_below" | "mounts">) {
  const ofMount = ([path, { warn, fail, free_below: own }]: [string, NonNullable<typeof mounts>[string]]) =>
    [path, { ...defined({ warn, fail }), ...(own && { freeBelow: freeBelow(own) }) }] as const;
  return {
    ...(below && { freeBelow: freeBelow(below) }),
    ...(mounts && { mounts: Object.fromEntries(Object.entries(mounts).map(ofMount)) }),
  };
}

export function checkPlan({ health = {} }: Pick<Settings, "health">) {
  const { interval, attempts: usual, isolated: isIsolated, checks = {} } = health;
  return {
    ...(interval !== undefined && { intervalMs: toMs(interval) }),
    ...defined({ attempts: usual, isIsolated }),
    checks: Object.fromEntries(
      Object.entries(checks).map(
        ([
          id,
          { enabled, interval: own, timeout, attempts, warn, fail, ignore, margin, over, learning, isolated, ...rest },
        ]) => [
          id,
          {
            ...defined({ warn, fail, ignore, margin, attempts, isEnabled: enabled, isIsolated: isolated }),
            ...(over !== undefined && { overMs: toMs(over) }),
            ...(learning !== undefined && { learningMs: toMs(learning) }),
            ...mountPlan(rest),
            ...(own !== undefined && { intervalMs: toMs(own) }),
            ...(timeout !== undefined && { timeoutMs: toMs(timeout) }),
          },
        ],
      ),
    ),
  };
}

export function pluginSettings({ health = {} }: Pick<Settings, "health">): readonly {
  readonly id: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly name?: string;
  readonly severity?: Severity;
  readonly guardedBy?: "change";
  /** Whether root runs it, where the service has no rights. */
  readonly isRoots: boolean;
}[] {
  return Object.entries(health.checks ?? {}).flatMap(([id, { command = [], name, severity, user, guards_updates }]) => {
    const [program, ...args] = command;
    if (program === undefined) return [];
    const guardedBy = guards_updates === true ? ("change" as const) : undefined;
    return [{ id, command: [program, ...args], isRoots: user === "root", ...defined({ name, severity, guardedBy }) }];
  });
}

const hourMs = 3_600_000;
const backupCheckId = "backup_age";
const hours = (time: string | undefined): number | undefined => (time === undefined ? undefined : toMs(time) / hourMs);

/** Ages are hours. */
type BackupTarget = { readonly name: string; readonly warn?: number; readonly fail?: number } & (
  | { readonly kind: "folder"; readonly folder: string; readonly pattern: string }
  | { readonly kind: "unit"; readonly unit: string }
  | { readonly kind: "snapper"; readonly config: string }
);

/** The backups whose age the settings want checked. */
export function backupTargets({ health = {} }: Pick<Settings, "health">): readonly BackupTarget[] {
  return (health.checks?.[backupCheckId]?.targets ?? []).flatMap(
    ({ name, folder, pattern = "*", unit, snapper, warn, fail }): readonly BackupTarget[] => {
      const shared = { name, ...defined({ warn: hours(warn), fail: hours(fail) }) };
      if (folder !== undefined) return [{ ...shared, kind: "folder", folder, pattern }];
      if (snapper !== undefined) return [{ ...shared, kind: "snapper", config: snapper }];
      return unit === undefined ? [] : [{ ...shared, kind: "unit", unit }];
    },
  );
}

function targetFaults(targets: NonNullable<CheckEntry["targets"]>): SettingFaults {
  const names = targets.map(({ name }) => name);
  return targets.flatMap(({ name, folder, pattern, unit, snapper }, at) => {
    const key = (setting: string): string => `${at}.${setting}`;
    return [
      ...faultIf(
        [folder, unit, snapper].filter((each) => each !== undefined).length !== 1,
        key("name"),
        "needs exactly one of folder, unit and snapper",
      ),
      ...faultIf(folder !== undefined && !isAbsolute(folder), key("folder"), "must be an absolute path"),
      ...faultIf(pattern !== undefined && folder === undefined, key("pattern"), "can be given only with folder"),
      ...faultIf(names.indexOf(name) !== at, key("name"), `${name} is given twice`),
    ];
  });
}

/** In which form each check of file systems takes what is left. */
const leftForms = {
  disk_space: { type: "string", name: "a size, such as 10GB" },
  inode_usage: { type: "number", name: "a number" },
} as const;
const isOfMounts = (id: string): id is keyof typeof leftForms => Object.hasOwn(leftForms, id);

function leftFaults(
  id: string,
  below: CheckEntry["free_below"],
  at: (key: string, message: string) => Fault,
): readonly Fault[] {
  if (below === undefined || !isOfMounts(id)) return [];
  const { type, name } = leftForms[id];
  const wrong = (["warn", "fail"] as const).filter((key) => below[key] !== undefined && typeof below[key] !== type);
  return wrong.map((key) => at(key, `must be ${name}`));
}

/** Settings that some checks alone have. */
const ownSettings = ["free_below", "mounts", "targets", "over", "learning", "isolated"] as const;
const idsOfSetting: Readonly<Record<(typeof ownSettings)[number], readonly string[]>> = {
  free_below: Object.keys(leftForms),
  mounts: Object.keys(leftForms),
  targets: [backupCheckId],
  over: ["cpu_load"],
  learning: ["new_errors"],
  isolated: ["network_connectivity", "dns_resolution", "time_sync", "security_updates"],
};

function ownFaults(id: string, settings: CheckEntry, faultAt: FaultAt): readonly Fault[] {
  const at = (keys: readonly string[], message: string): Fault => faultAt(["health", "checks", id, ...keys], message);
  const misplaced = ownSettings
    .filter((key) => settings[key] !== undefined && !idsOfSetting[key].includes(id))
    .map((key) => at([key], `can be given only for ${idsOfSetting[key].join(" and ")}`));
  if (misplaced.length > 0) return misplaced;
  const { targets = [], free_below: below, mounts = {} } = settings;
  return [
    ...leftFaults(id, below, (key, message) => at(["free_below", key], message)),
    ...Object.entries(mounts).flatMap(([path, { free_below: own }]) =>
      leftFaults(id, own, (key, message) => at(["mounts", path, "free_below", key], message)),
    ),
    ...targetFaults(targets).map(([key, message]) => at(["targets", ...key.split(".")], message)),
  ];
}

/** Settings of checks that are well-formed but contradictory. @param builtInCheckIds ids that plugins cannot have. */
export function checkFaults(
  { health = {} }: Pick<Settings, "health">,
  builtInCheckIds: readonly string[],
  faultAt: FaultAt,
): readonly Fault[] {
  return Object.entries(health.checks ?? {}).flatMap(([id, settings]) => {
    const at = (key: string, message: string): Fault => faultAt(["health", "checks", id, key], message);
    const given = (keys: readonly (keyof typeof settings)[], message: string): readonly Fault[] =>
      keys.filter((key) => settings[key] !== undefined).map((key) => at(key, message));
    const [program] = settings.command ?? [];
    if (program === undefined)
      return [
        ...given(["name", "severity", "guards_updates", "user"], "needs command: it can be given only for a plugin"),
        ...ownFaults(id, settings, faultAt),
      ];
    return [
      ...(builtInCheckIds.includes(id) ? [at("command", `cannot be given: ${id} is a built-in check`)] : []),
      ...(isAbsolute(program) ? [] : [at("command", `must start with an absolute path, not ${program}`)]),
      ...given(
        ["warn", "fail", "ignore", "margin", "free_below", "mounts", "targets"],
        "cannot be given for a plugin: put it into its command",
      ),
    ];
  });
}
