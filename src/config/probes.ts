import { isAbsolute } from "node:path";
import { componentNames } from "#contract/health.ts";
import { parseListen } from "./address.ts";
import type { AlertingSettings, ProbeEntry } from "./alerting-settings.ts";
import type { Fault } from "./faults.ts";
import { toMs } from "./time.ts";

const defaultTimeoutMs = 5_000;
/** Shorter than the time after which any probe has failed. */
const longestTimeoutMs = 9_000;

const kinds = ["http", "tcp", "unit", "collector", "prometheus"] as const;
type Kind = (typeof kinds)[number];

/** What a probe looks at: of a well-formed entry just one. */
const givenKinds = (entry: ProbeEntry): readonly Kind[] => kinds.filter((kind) => entry[kind] !== undefined);

interface HttpTarget {
  readonly url: string;
  readonly timeoutMs: number;
  readonly caFile?: string;
  readonly certificateDays?: number;
}

/** What a probe of the settings looks at, with times in milliseconds. */
export type ProbeTarget =
  | (HttpTarget & { readonly kind: "http"; readonly statuses?: readonly number[] })
  | (HttpTarget & { readonly kind: "collector" | "prometheus" })
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly timeoutMs: number }
  | { readonly kind: "unit"; readonly unit: string };

/** @returns undefined for an entry that has a fault. */
function targetOf(entry: ProbeEntry): ProbeTarget | undefined {
  const { http, tcp, unit, collector, prometheus, timeout, ca_file: caFile, certificate_days: days, statuses } = entry;
  const timeoutMs = timeout === undefined ? defaultTimeoutMs : toMs(timeout);
  const shared = {
    timeoutMs,
    ...(caFile !== undefined && { caFile }),
    ...(days !== undefined && { certificateDays: days }),
  };
  if (http !== undefined) return { kind: "http", url: http, ...shared, ...(statuses !== undefined && { statuses }) };
  if (collector !== undefined) return { kind: "collector", url: collector, ...shared };
  if (prometheus !== undefined) return { kind: "prometheus", url: prometheus, ...shared };
  if (unit !== undefined) return { kind: "unit", unit };
  const address = parseListen(tcp ?? "");
  return address === undefined ? undefined : { kind: "tcp", ...address, timeoutMs };
}

/** The components that settings add. */
export function probeTargets({ probes = { list: [] } }: AlertingSettings) {
  return probes.list.flatMap((entry) => {
    const target = targetOf(entry);
    return target === undefined ? [] : [{ name: entry.name, target }];
  });
}

/** Who evaluates the alerts: the service itself where it is to, or where no Prometheus is known of. */
export function alertEvaluator({ alerts = {}, probes = { list: [] } }: AlertingSettings) {
  const hasPrometheus = probes.list.some(({ prometheus }) => prometheus !== undefined);
  const { local = "auto" } = alerts;
  if (local === "on" || (local === "auto" && !hasPrometheus)) return "steward" as const;
  return hasPrometheus ? ("prometheus" as const) : ("nobody" as const);
}

function urlFault(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    return "must be an address such as http://127.0.0.1:8080/";
  return url.username === "" && url.password === "" ? undefined : "cannot bear a user name or a password";
}

/** What is wrong with one entry, by the setting. */
function entryFaults(entry: ProbeEntry): readonly (readonly [setting: string, message: string])[] {
  const given = givenKinds(entry);
  const [kind] = given;
  const address = kind === "http" || kind === "collector" || kind === "prometheus" ? entry[kind] : undefined;
  const fault = urlFault(address);
  const isHttps = address?.startsWith("https:") === true;
  const { tcp, statuses, timeout, ca_file: caFile, certificate_days: days } = entry;
  return [
    ...(given.length === 1 ? [] : [["name", `needs one of ${kinds.join(", ")}, and no more`] as const]),
    ...(fault === undefined || kind === undefined ? [] : [[kind, fault] as const]),
    ...(tcp !== undefined && parseListen(tcp) === undefined ? [["tcp", "must be host:port"] as const] : []),
    ...(statuses !== undefined && kind !== "http" ? [["statuses", "is for http alone"] as const] : []),
    ...(timeout !== undefined && toMs(timeout) > longestTimeoutMs
      ? [["timeout", `must not be longer than ${longestTimeoutMs / 1000}s`] as const]
      : []),
    ...(caFile !== undefined && !isAbsolute(caFile) ? [["ca_file", "must be an absolute path"] as const] : []),
    ...(caFile !== undefined && !isHttps ? [["ca_file", "is for an address over https"] as const] : []),
    ...(days !== undefined && !isHttps ? [["certificate_days", "is for an address over https"] as const] : []),
  ];
}

const reserved: readonly string[] = componentNames;

/** What is wrong with probes that have the right form each, but do not go together. */
export function probeFaults(
  { probes = { list: [] } }: AlertingSettings,
  faultAt: (path: readonly string[], message: string) => Fault,
): readonly Fault[] {
  const names = probes.list.map(({ name }) => name);
  return probes.list.flatMap((entry, index) => {
    const at = (setting: string, message: string): Fault =>
      faultAt(["probes", "list", String(index), setting], message);
    return [
      ...(names.indexOf(entry.name) < index ? [at("name", `there is another component ${entry.name}`)] : []),
      ...(reserved.includes(entry.name) ? [at("name", `${entry.name} is a component of the service itself`)] : []),
      ...entryFaults(entry).map(([setting, message]) => at(setting, message)),
    ];
  });
}
