import { defaultRateLimits } from "#contract/limits.ts";
import { approvalFaults, sessionFaults, sessionSettings } from "./access.ts";
import { automaticFaults } from "./automatic.ts";
import { checkFaults } from "./checks.ts";
import { connectorFaults } from "./connectors.ts";
import { configFile, defaultListen, defaultStateDir, type Environment } from "./defaults.ts";
import { type Fault, type FaultAt, SettingsFaulty } from "./faults.ts";
import { notificationFaults } from "./notifications.ts";
import { runbookFaults } from "./places.ts";
import { probeFaults } from "./probes.ts";
import { type PublicAddress, publicAddressOf, publicUrlFaults } from "./public-url.ts";
import { readSettings, type SettingsFile } from "./read-file.ts";
import { logLevels, type Settings } from "./settings.ts";
import { isAddressOrNetwork, isLoopbackAddress, parseListen } from "./text.ts";
import { tracingFaults } from "./tracing.ts";
import { windowFaults } from "./windows.ts";

export interface Config {
  readonly file: string | undefined;
  readonly listen: { readonly host: string; readonly port: number };
  readonly tls: NonNullable<Settings["tls"]>;
  readonly stateDir: string;
  readonly logLevel: string;
  readonly rateLimits: "off" | { readonly perMinute: number; readonly perHour: number };
  readonly allowedHosts: readonly string[];
  /** Undefined where no reverse proxy is known to be in front. */
  readonly publicAddress: PublicAddress | undefined;
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly metricsPublic: "loopback" | "always" | "never";
  /** Of sessions in a browser. */
  readonly sessions: ReturnType<typeof sessionSettings>;
  readonly warnings: readonly string[];
  /** Makes a fault that is found later, with the place of its setting. */
  readonly faultAt: FaultAt;
  /** The settings as given, for parts that this record does not have. */
  readonly settings: Settings;
}

const noFile: SettingsFile = {
  settings: {},
  faults: [],
  faultAt: (path, message) => ({ source: "settings", path: path.join("."), message }),
};

/** Environment variables, which override the file. */
function readEnvironment(environment: Environment): { overrides: Partial<Settings>; faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const overrides: Partial<Settings> = {};
  const { STEWARD_LISTEN: listen, STEWARD_STATE_DIR: stateDir, STEWARD_LOG_LEVEL: level } = environment;
  const { STEWARD_JOURNAL_DIR: journalDir, STEWARD_RATE_LIMITS: rateLimits } = environment;
  if (listen !== undefined) overrides.listen = listen;
  if (stateDir !== undefined) overrides.state_dir = stateDir;
  if (journalDir !== undefined) overrides.journal = { dir: journalDir };
  if (level !== undefined) {
    const known = logLevels.find((name) => name === level);
    if (known !== undefined) overrides.log = { level: known };
    else faults.push({ source: "STEWARD_LOG_LEVEL", path: "", message: `must be one of ${logLevels.join(", ")}` });
  }
  if (rateLimits === "off") overrides.rate_limits = "off";
  else if (rateLimits !== undefined) faults.push({ source: "STEWARD_RATE_LIMITS", path: "", message: "must be off" });
  return { overrides, faults };
}

/** An origin as browsers send it; undefined for what none is. */
const originOf = (text: string): string | undefined => (URL.canParse(text) ? new URL(text).origin : undefined);

/** Settings that are well-formed but contradictory or unusable. */
function usageFaults(settings: Settings, builtInCheckIds: readonly string[], faultAt: FaultAt): readonly Fault[] {
  const faults: Fault[] = [];
  const { listen: text = defaultListen, tls, trusted_proxies: proxies = [] } = settings;
  const listen = parseListen(text);
  if (listen === undefined) {
    faults.push(faultAt(["listen"], `must be host:port, not ${text}`));
  } else if (tls === undefined && !isLoopbackAddress(listen.host)) {
    const remedy = "set tls to auto, to {cert, key}, or to off if something else encrypts the connection";
    faults.push(faultAt(["tls"], `cannot listen on ${listen.host} without TLS: it is beyond loopback (${remedy})`));
  }
  if (typeof tls === "object" && tls.client_ca === undefined) {
    for (const name of ["client_certs", "client_crl"] as const)
      if (tls[name] !== undefined) faults.push(faultAt(["tls", name], "needs client_ca"));
  }
  for (const [index, proxy] of proxies.entries()) {
    if (!isAddressOrNetwork(proxy))
      faults.push(faultAt(["trusted_proxies", String(index)], "must be an IP address or a network such as 10.0.0.0/8"));
  }
  for (const [index, origin] of (settings.cors?.origins ?? []).entries()) {
    const sent = originOf(origin);
    if (sent !== origin)
      faults.push(faultAt(["cors", "origins", String(index)], `browsers send ${sent ?? "no such origin"}`));
  }
  faults.push(
    ...automaticFaults(settings, faultAt),
    ...checkFaults(settings, builtInCheckIds, faultAt),
    ...connectorFaults(settings, faultAt),
    ...probeFaults(settings, faultAt),
    ...runbookFaults(settings, faultAt),
    ...sessionFaults(settings, faultAt),
    ...notificationFaults(settings, faultAt),
    ...tracingFaults(settings, faultAt),
    ...windowFaults(settings, faultAt),
    ...publicUrlFaults(settings, faultAt),
    ...approvalFaults(settings, faultAt),
  );
  return faults;
}

/** Whether a local proxy is configured: explicitly, or by names under which a service on loopback could not be reached. */
const isBehindProxy = (settings: Settings, host: string): boolean => {
  const { trusted_proxies: proxies = [], allowed_hosts: hosts = [], public_url: publicUrl } = settings;
  return proxies.length > 0 || publicUrl !== undefined || (isLoopbackAddress(host) && hosts.length > 0);
};

/** Loads the settings: file, overridden by environment, then defaults. @throws SettingsFaulty with every fault and its place. */
export function loadConfig(input: {
  file: string | undefined;
  environment: Environment;
  isRoot: boolean;
  /** Ids of built-in checks; called only where settings define plugins as checks. */
  builtInCheckIds: readonly string[];
}): Config {
  const file = configFile(input.file, input.environment);
  const { settings: fromFile, faults: fileFaults, faultAt } = file === undefined ? noFile : readSettings(file);
  const { overrides, faults: environmentFaults } = readEnvironment(input.environment);
  const settings: Settings = { ...fromFile, ...overrides };
  // A fault of an environment variable is reported there.
  const at = (path: readonly string[], message: string): Fault =>
    path[0] === "listen" && overrides.listen !== undefined
      ? { source: "STEWARD_LISTEN", path: path.join("."), message }
      : faultAt(path, message);
  const faults = [...fileFaults, ...environmentFaults, ...usageFaults(settings, input.builtInCheckIds, at)];
  const listenText = settings.listen ?? defaultListen;
  const listen = parseListen(listenText);
  if (faults.length > 0 || listen === undefined) throw new SettingsFaulty(faults);
  const tls = settings.tls ?? "off";
  const limits = settings.rate_limits ?? {};
  const metricsPublic = settings.metrics?.public ?? "loopback";
  const isMetricsClosed = metricsPublic === "loopback" && isBehindProxy(settings, listen.host);
  const warnings = [
    ...(tls === "off" && !isLoopbackAddress(listen.host)
      ? [
          `TLS is off and ${listenText} is beyond loopback: keys are sent unencrypted unless something else encrypts the connection`,
        ]
      : []),
    ...(isMetricsClosed && settings.metrics?.public !== undefined
      ? [
          "metrics.public is loopback, but trusted_proxies, public_url or allowed_hosts say that a proxy is in front: /metrics needs a key with metrics:read",
        ]
      : []),
  ];
  return {
    file,
    listen,
    tls,
    stateDir: settings.state_dir ?? defaultStateDir(input.environment, input.isRoot),
    logLevel: settings.log?.level ?? "info",
    rateLimits:
      limits === "off"
        ? "off"
        : {
            perMinute: limits.per_minute ?? defaultRateLimits.perMinute,
            perHour: limits.per_hour ?? defaultRateLimits.perHour,
          },
    allowedHosts: settings.allowed_hosts ?? [],
    publicAddress: publicAddressOf(settings),
    corsOrigins: settings.cors?.origins ?? [],
    trustedProxies: settings.trusted_proxies ?? [],
    metricsPublic: isMetricsClosed ? "never" : metricsPublic,
    sessions: sessionSettings(settings),
    warnings,
    faultAt: at,
    settings,
  };
}
