import { join } from "node:path";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import { type PluginType, pluginNamePattern, pluginTypes } from "#contract/plugins.ts";
import { ownSchemas } from "#contract/schema.ts";
import { describeSchemaFault } from "#contract/schema-fault.ts";
import type { PluginManifest } from "#domain/ports/plugins.ts";
import { didYouMean } from "#kernel/closest.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isRecord, isString } from "#kernel/values.ts";
import { ManifestFile } from "./schema.ts";
import { isInside } from "./trust.ts";

export const manifestName = "plugin.yaml";
export const maxManifestBytes = 64 * 1024;

let compiled: ValidateFunction<ManifestFile> | undefined;
/** Made when the first manifest is read: many hosts have none. */
const validator = (): ValidateFunction<ManifestFile> => {
  compiled ??= new Ajv({ ...ownSchemas, allErrors: true, verbose: true }).compile<ManifestFile>(ManifestFile);
  return compiled;
};

interface Flaw {
  readonly path: readonly string[];
  readonly message: string;
  readonly isKey?: boolean;
}

export type ManifestReading =
  | { readonly manifest: PluginManifest }
  | (ReturnType<typeof known> & { readonly faults: readonly string[] });

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const unitBytes: Readonly<Record<string, number>> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3 };
const scaled = (text: string, units: Readonly<Record<string, number>>): number =>
  Number(text.slice(0, -1)) * (units[text.slice(-1)] ?? Number.NaN);

const defaults = { timeout: "30s", memory: "256M", tasks: 64 } as const;
const longest = { timeoutMs: 3_600_000, intervalMs: 7 * 86_400_000 } as const;
const memoryRange = [16 * 1024 ** 2, 64 * 1024 ** 3] as const;

const inVarLib = (name: string): string => `/var/lib/${name}`;

/** Where anyone who may write has the host; and what is no place for files. */
const systemDirectories = [
  ...["/etc", "/usr", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64"],
  ...["/root", "/opt", "/nix", "/gnu", "/snap", "/var/spool/cron", "/var/spool/at"],
  // What programs of root run, load or believe.
  ...["apt", "containerd", "dpkg", "docker", "dbus", "cloud", "machines", "NetworkManager"].map(inVarLib),
  ...["pacman", "polkit-1", "rpm", "snapd", "sudo", "systemd"].map(inVarLib),
];
const noFiles = ["/proc", "/sys", "/dev", "/run", "/var/run", "/tmp", "/var/tmp"];

const pathWords = (path: string): readonly string[] => path.split("/").slice(1);
const unescaped = (word: string): string => word.replaceAll("~1", "/").replaceAll("~0", "~");

function toFlaw(error: ErrorObject): Flaw {
  const { keyword, instancePath, params, parentSchema, data } = error;
  const message = describeSchemaFault(error);
  const path = pathWords(instancePath).map(unescaped);
  switch (keyword) {
    case "additionalProperties": {
      const name = String(params["additionalProperty"]);
      const known: object = parentSchema?.["properties"] ?? {};
      return { path: [...path, name], message: `unknown setting${didYouMean(name, Object.keys(known))}`, isKey: true };
    }
    case "type": {
      const isUnquoted = params["type"] === "string" && typeof data === "number";
      return { path, message: isUnquoted ? `${message}: write it in quotes` : message };
    }
    default:
      return { path, message };
  }
}

function furtherFlaws(file: ManifestFile): readonly Flaw[] {
  const { type, timeout = defaults.timeout, permissions = {}, check = {} } = file;
  const { memory = defaults.memory, user, read = [], write = [] } = permissions;
  const flaws: Flaw[] = [];
  for (const part of pluginTypes.filter((each) => each !== type && file[each] !== undefined)) {
    const message = `belongs to a plugin of type ${part}, and this one is a ${type}`;
    flaws.push({ path: [part], message, isKey: true });
  }
  if (type === "hook" && file.hook === undefined) flaws.push({ path: ["hook"], message: "must be given, with events" });
  if (scaled(timeout, unitMs) > longest.timeoutMs) flaws.push({ path: ["timeout"], message: "must be 1h at most" });
  if (check.interval !== undefined && scaled(check.interval, unitMs) > longest.intervalMs) {
    flaws.push({ path: ["check", "interval"], message: "must be 7d at most" });
  }
  const bytes = scaled(memory, unitBytes);
  if (bytes < memoryRange[0] || bytes > memoryRange[1]) {
    flaws.push({ path: ["permissions", "memory"], message: "must be 16M to 64G" });
  }
  for (const [key, paths] of Object.entries({ read, write })) {
    paths.forEach((path, at) => {
      const place = { path: ["permissions", key, String(at)] };
      const within = noFiles.find((directory) => isInside(path, directory));
      if (within !== undefined) flaws.push({ ...place, message: `is in ${within}, which no permission opens` });
      const system = systemDirectories.find((directory) => isInside(path, directory) || isInside(directory, path));
      if (key !== "write" || user === "root" || system === undefined) return;
      const message = `has to do with ${system}: anyone who may change that is as good as root, so it takes user: root`;
      flaws.push({ ...place, message });
    });
  }
  return flaws;
}

function allFlaws(value: unknown, flaws: readonly Flaw[]): readonly Flaw[] {
  const flawed = new Set(flaws.map(({ path: [setting] }) => setting));
  const isFlawless = ([setting]: readonly [string, unknown]): boolean => !flawed.has(setting);
  const rest: unknown = isRecord(value) ? Object.fromEntries(Object.entries(value).filter(isFlawless)) : value;
  if (!validator()(rest)) return flaws;
  return [...flaws, ...furtherFlaws(rest).filter(({ path: [setting] }) => !flawed.has(setting))];
}

function roleOf({ name, type, check = {}, hook, command }: ManifestFile): PluginManifest["role"] {
  switch (type) {
    case "check": {
      const { title = name, severity = "medium", interval, output = "nagios", guards_updates = false } = check;
      const intervalMs = interval === undefined ? undefined : scaled(interval, unitMs);
      return { type, title, severity, intervalMs, output, guardsUpdates: guards_updates };
    }
    case "hook":
      return { type, events: hook?.events ?? [], onFailure: hook?.on_failure ?? "allow" };
    case "command":
      return { type, usage: command?.usage };
  }
}

function toManifest(file: ManifestFile, directory: string): PluginManifest {
  const { name, version, author = "", description = "", exec, args = [], timeout = defaults.timeout } = file;
  const { user, network = "none", read = [], write = [], ...limits } = file.permissions ?? {};
  const { memory = defaults.memory, tasks = defaults.tasks } = limits;
  return {
    name,
    version,
    author,
    description,
    command: [join(directory, exec), ...args],
    timeoutMs: scaled(timeout, unitMs),
    permissions: { user, network, read, write, memoryBytes: scaled(memory, unitBytes), tasks },
    role: roleOf(file),
  };
}

function placeOf(document: Document, lines: LineCounter, { path, isKey = false }: Flaw): string {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === path[depth - 1])
      : undefined;
    const value = document.getIn(path.slice(0, depth), true);
    const node = isKey && depth === path.length ? pair?.key : (value ?? pair?.key);
    const offset = isNode(node) ? node.range?.[0] : undefined;
    if (offset === undefined) continue;
    const { line, col } = lines.linePos(offset);
    return `${line}:${col}`;
  }
  return "1:1";
}

function known(value: unknown): { readonly type: PluginType | undefined; readonly name: string | undefined } {
  const { type, name } = isRecord(value) ? value : {};
  return {
    type: pluginTypes.find((each) => each === type),
    name: isString(name) && new RegExp(pluginNamePattern).test(name) ? name : undefined,
  };
}

export function readManifest(text: string, directory: string): ManifestReading {
  const unknown = { type: undefined, name: undefined };
  const lines = new LineCounter();
  let document: Document;
  let value: unknown;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const errors = document.errors.map((error) => {
      const { line, col } = lines.linePos(error.pos[0]);
      return `${manifestName}:${line}:${col}: ${error.message}`;
    });
    if (errors.length > 0) return { faults: errors.map(faultLine), ...unknown };
    value = document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch (error) {
    return { faults: [faultLine(`${manifestName}: ${errorMessage(error)}`)], ...unknown };
  }
  const validate = validator();
  const file = validate(value) ? value : undefined;
  const flaws = file === undefined ? allFlaws(value, (validate.errors ?? []).map(toFlaw)) : furtherFlaws(file);
  if (file !== undefined && flaws.length === 0) return { manifest: toManifest(file, directory) };
  const faults = flaws.map((flaw) => {
    const where = flaw.path.length === 0 ? "" : ` ${flaw.path.map(printable).join(".")}:`;
    return faultLine(`${manifestName}:${placeOf(document, lines, flaw)}:${where} ${flaw.message}`);
  });
  return { faults, ...known(value) };
}

const maxFaults = 10;
export const faultText = (faults: readonly string[]): string =>
  [...faults.slice(0, maxFaults), ...(faults.length > maxFaults ? [`and ${faults.length - maxFaults} more`] : [])].join(
    "; ",
  );

/** Text that comes from a file or a file's name, as one line that no terminal takes for more than text. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, "\ufffd");

const maxFaultLength = 500;
const faultLine = (text: string): string => oneLine(text).slice(0, maxFaultLength);

export const printable = (text: string): string => oneLine(text).slice(0, 64);
