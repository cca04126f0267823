import { isAbsolute } from "node:path";
import { componentNames } from "#contract/health.ts";
import { defined } from "#kernel/values.ts";
import type { AlertingSettings, ProbeEntry } from "./alerting-settings.ts";
import { type Fault, type FaultAt, faultIf, type SettingFaults } from "./faults.ts";
import { parseListen, toMs } from "./text.ts";

const defaultTimeoutMs = 5_000;
/** Less than the timeout of all probes. */
const longestTimeoutMs = 9_000;

const kinds = ["http", "tcp", "unit", "collector", "prometheus", "dns"] as const;
type Kind = (typeof kinds)[number];

const givenKinds = (entry: ProbeEntry): readonly Kind[] => kinds.filter((kind) => entry[kind] !== undefined);

interface HttpTarget {
  readonly url: string;
  readonly timeoutMs: number;
  readonly caFile?: string;
  readonly certificateDays?: number;
}

export type ProbeTarget =
  | (HttpTarget & { readonly kind: "http"; readonly statuses?: readonly number[] })
  | (HttpTarget & { readonly kind: "collector" | "prometheus" })
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly timeoutMs: number }
  | { readonly kind: "unit"; readonly unit: string }
  | { readonly kind: "dns"; readonly hostname: string; readonly timeoutMs: number };

function targetOf(entry: ProbeEntry): ProbeTarget | undefined {
  const { http, tcp, unit, collector, prometheus, timeout, ca_file: caFile, certificate_days: days, statuses } = entry;
  const timeoutMs = timeout === undefined ? defaultTimeoutMs : toMs(timeout);
  const shared = { timeoutMs, ...defined({ caFile, certificateDays: days }) };
  if (http !== undefined) return { kind: "http", url: http, ...shared, ...defined({ statuses }) };
  if (collector !== undefined) return { kind: "collector", url: collector, ...shared };
  if (prometheus !== undefined) return { kind: "prometheus", url: prometheus, ...shared };
  if (unit !== undefined) return { kind: "unit", unit };
  if (entry.dns !== undefined) return { kind: "dns", hostname: entry.dns, timeoutMs };
  const address = parseListen(tcp ?? "");
  return address === undefined ? undefined : { kind: "tcp", ...address, timeoutMs };
}

export function probeTargets({ probes = { list: [] } }: AlertingSettings) {
  return probes.list.flatMap((entry) => {
    const target = targetOf(entry);
    return target === undefined ? [] : [{ name: entry.name, target }];
  });
}

/** Who evaluates the alerts: by default the service where no Prometheus is configured. */
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
  return url.username === "" && url.password === "" ? undefined : "cannot contain a user name or a password";
}

function entryFaults(entry: ProbeEntry): SettingFaults {
  const given = givenKinds(entry);
  const [kind] = given;
  const address = kind === "http" || kind === "collector" || kind === "prometheus" ? entry[kind] : undefined;
  const fault = urlFault(address);
  const isHttps = address?.startsWith("https:") === true;
  const { tcp, statuses, timeout, ca_file: caFile, certificate_days: days } = entry;
  const isTooLong = timeout !== undefined && toMs(timeout) > longestTimeoutMs;
  return [
    ...faultIf(given.length !== 1, "name", `needs exactly one of ${kinds.join(", ")}`),
    ...faultIf(fault !== undefined, kind ?? "", fault ?? ""),
    ...faultIf(tcp !== undefined && parseListen(tcp) === undefined, "tcp", "must be host:port"),
    ...faultIf(statuses !== undefined && kind !== "http", "statuses", "can be given only with http"),
    ...faultIf(isTooLong, "timeout", `must not be longer than ${longestTimeoutMs / 1000}s`),
    ...faultIf(caFile !== undefined && !isAbsolute(caFile), "ca_file", "must be an absolute path"),
    ...faultIf(caFile !== undefined && !isHttps, "ca_file", "can be given only for an https address"),
    ...faultIf(days !== undefined && !isHttps, "certificate_days", "can be given only for an https address"),
  ];
}

const reserved: readonly string[] = componentNames;

export function probeFaults({ probes = { list: [] } }: AlertingSettings, faultAt: FaultAt): readonly Fault[] {
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
