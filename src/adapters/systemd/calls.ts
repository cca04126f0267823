import type { Call } from "./connection.ts";

const managerPath = "/org/freedesktop/systemd1";
const manager = "org.freedesktop.systemd1.Manager";
const properties = "org.freedesktop.DBus.Properties";

export const unitInterface = "org.freedesktop.systemd1.Unit";
export const serviceInterface = "org.freedesktop.systemd1.Service";
/** The interface that tells of the result of a unit, by its suffix; the other kinds give none. */
const resultKinds = ["Service", "Mount", "Automount", "Socket", "Timer", "Path", "Swap", "Scope"];

/** The interface of a unit's own kind; undefined for kinds that have no result (targets, devices, slices). */
export function kindInterface(name: string): string | undefined {
  const suffix = name.slice(name.lastIndexOf(".") + 1);
  const kind = resultKinds.find((each) => each.toLowerCase() === suffix);
  return kind && `org.freedesktop.systemd1.${kind}`;
}
export const managerInterface = manager;
export const propertiesInterface = properties;

/** PID 1 looks at every installed unit file for it. */
const listFilesTimeoutMs = 30_000;

export const calls = {
  subscribe: (): Call => ({ path: managerPath, interface: manager, member: "Subscribe" }),
  /** Unit names are patterns here, so what a pattern gives a meaning to is put in brackets. */
  listLoaded: (names: readonly string[]): Call => ({
    path: managerPath,
    interface: manager,
    member: "ListUnitsByPatterns",
    signature: "asas",
    body: [
      [],
      names.map((name) => name.replaceAll(/[\\*?[]/g, (special) => (special === "\\" ? "\\\\" : `[${special}]`))),
    ],
  }),
  listAllLoaded: (): Call => ({
    path: managerPath,
    interface: manager,
    member: "ListUnitsByPatterns",
    signature: "asas",
    body: [[], ["*.service"]],
  }),
  listFailed: (): Call => ({
    path: managerPath,
    interface: manager,
    member: "ListUnitsFiltered",
    signature: "as",
    body: [["failed"]],
  }),
  listFiles: (): Call => ({
    path: managerPath,
    interface: manager,
    member: "ListUnitFilesByPatterns",
    signature: "asas",
    body: [[], ["*.service"]],
    timeoutMs: listFilesTimeoutMs,
  }),
  /** Unlike the property of a unit, it can be had without systemd loading the unit. */
  unitFileState: (name: string): Call => ({
    path: managerPath,
    interface: manager,
    member: "GetUnitFileState",
    signature: "s",
    body: [name],
  }),
  loadUnit: (name: string): Call => ({
    path: managerPath,
    interface: manager,
    member: "LoadUnit",
    signature: "s",
    body: [name],
  }),
  restartUnit: (name: string): Call => ({
    path: managerPath,
    interface: manager,
    member: "RestartUnit",
    signature: "ss",
    body: [name, "replace"],
  }),
  startUnit: (name: string): Call => ({
    path: managerPath,
    interface: manager,
    member: "StartUnit",
    signature: "ss",
    body: [name, "replace"],
  }),
  resetFailedUnit: (name: string): Call => ({
    path: managerPath,
    interface: manager,
    member: "ResetFailedUnit",
    signature: "s",
    body: [name],
  }),
  getManager: (property: string): Call => ({
    path: managerPath,
    interface: properties,
    member: "Get",
    signature: "ss",
    body: [manager, property],
  }),
  getAll: (path: string, ofInterface: string): Call => ({
    path,
    interface: properties,
    member: "GetAll",
    signature: "s",
    body: [ofInterface],
  }),
  get: (path: string, ofInterface: string, property: string): Call => ({
    path,
    interface: properties,
    member: "Get",
    signature: "ss",
    body: [ofInterface, property],
  }),
} as const;

/** What the bus must deliver for the mirror to stay true. */
export const matchRules = [
  `type='signal',sender='org.freedesktop.systemd1',path='${managerPath}',interface='${manager}'`,
  `type='signal',sender='org.freedesktop.systemd1',path_namespace='${managerPath}/unit',interface='${properties}',member='PropertiesChanged'`,
  "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.systemd1'",
] as const;
