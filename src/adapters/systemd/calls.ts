import type { UnitFileVerb, UnitVerb } from "#domain/ports/units.ts";
import type { Call } from "./connection.ts";

const managerPath = "/org/freedesktop/systemd1";

export const managerInterface = "org.freedesktop.systemd1.Manager";
export const propertiesInterface = "org.freedesktop.DBus.Properties";
export const unitInterface = "org.freedesktop.systemd1.Unit";
export const serviceInterface = "org.freedesktop.systemd1.Service";
/** The interface that has the result of a unit, by its suffix; the other kinds give none. */
const resultKinds = ["Service", "Mount", "Automount", "Socket", "Timer", "Path", "Swap", "Scope"];

export function kindInterface(name: string): string | undefined {
  const suffix = name.slice(name.lastIndexOf(".") + 1);
  const kind = resultKinds.find((each) => each.toLowerCase() === suffix);
  return kind && `org.freedesktop.systemd1.${kind}`;
}

/** PID 1 looks at every installed unit file for it. */
const listFilesTimeoutMs = 30_000;

const toManager = (member: string, signature: string, ...body: unknown[]): Call => ({
  path: managerPath,
  interface: managerInterface,
  member,
  signature,
  body,
});

const toProperties = (path: string, member: string, ...body: readonly string[]): Call => ({
  path,
  interface: propertiesInterface,
  member,
  signature: "s".repeat(body.length),
  body: [...body],
});

/** Unit names are patterns in a listing, so what a pattern gives a meaning to is put in brackets. */
const literally = (name: string): string =>
  name.replaceAll(/[\\*?[]/g, (special) => (special === "\\" ? "\\\\" : `[${special}]`));

const jobMembers = {
  start: "StartUnit",
  stop: "StopUnit",
  restart: "RestartUnit",
  reload: "ReloadUnit",
} as const satisfies Record<UnitVerb, string>;

const fileMembers = {
  enable: "EnableUnitFiles",
  disable: "DisableUnitFiles",
  mask: "MaskUnitFiles",
  unmask: "UnmaskUnitFiles",
} as const satisfies Record<UnitFileVerb, string>;

const reloadTimeoutMs = 60_000;

export const calls = {
  subscribe: (): Call => ({ path: managerPath, interface: managerInterface, member: "Subscribe" }),
  listLoaded: (names: readonly string[]): Call => toManager("ListUnitsByPatterns", "asas", [], names.map(literally)),
  listAllLoaded: (): Call => calls.listOfKinds(["*.service"]),
  listOfEveryKind: (): Call => toManager("ListUnitsByPatterns", "asas", [], []),
  /** @param patterns such as `*.timer`. */
  listOfKinds: (patterns: readonly string[]): Call => toManager("ListUnitsByPatterns", "asas", [], [...patterns]),
  listFilesOfKinds: (patterns: readonly string[]): Call => ({
    ...toManager("ListUnitFilesByPatterns", "asas", [], [...patterns]),
    timeoutMs: listFilesTimeoutMs,
  }),
  processes: (name: string): Call => toManager("GetUnitProcesses", "s", name),
  listTimers: (): Call => toManager("ListUnitsByPatterns", "asas", ["active"], ["*.timer"]),
  listFailed: (): Call => toManager("ListUnitsFiltered", "as", ["failed"]),
  /** Unlike the property of a unit, it can be had without systemd loading the unit. */
  unitFileState: (name: string): Call => toManager("GetUnitFileState", "s", name),
  loadUnit: (name: string): Call => toManager("LoadUnit", "s", name),
  changeUnit: (verb: UnitVerb, name: string): Call => toManager(jobMembers[verb], "ss", name, "replace"),
  changeUnitFile: (verb: UnitFileVerb, name: string, untilReboot: boolean): Call =>
    verb === "enable" || verb === "mask"
      ? toManager(fileMembers[verb], "asbb", [name], untilReboot, false)
      : toManager(fileMembers[verb], "asb", [name], untilReboot),
  /** systemd answers when it has read all units again. */
  reload: (): Call => ({ ...toManager("Reload", ""), timeoutMs: reloadTimeoutMs }),
  resetFailedUnit: (name: string): Call => toManager("ResetFailedUnit", "s", name),
  getManager: (property: string): Call => toProperties(managerPath, "Get", managerInterface, property),
  getAll: (path: string, ofInterface: string): Call => toProperties(path, "GetAll", ofInterface),
  get: (path: string, ofInterface: string, property: string): Call => toProperties(path, "Get", ofInterface, property),
} as const;

export const matchRules = [
  `type='signal',sender='org.freedesktop.systemd1',path='${managerPath}',interface='${managerInterface}'`,
  `type='signal',sender='org.freedesktop.systemd1',path_namespace='${managerPath}/unit',interface='${propertiesInterface}',member='PropertiesChanged'`,
  "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.systemd1'",
] as const;
