import { readFileSync } from "node:fs";
import { packageListLimit } from "#contract/limits.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import { errorMessage } from "#kernel/errors.ts";
import { defined, isRecord } from "#kernel/values.ts";
import { formatEntry } from "../output/log-format.ts";
import { plainScreen } from "../output/screen.ts";
import { explainError } from "./errors.ts";
import { patiently } from "./journal-pages.ts";
import type { Connection, LocalCommands } from "./ports.ts";

type Client = Connection["client"];

/** What one part of a report is made of. */
interface Asked {
  readonly client: Client;
  /** RFC 3339: logs are not older. */
  readonly since: string;
  /** Most lines of logs. */
  readonly lines: number;
}

interface Part {
  readonly name: string;
  readonly about: string;
  readonly ask: (asked: Asked) => Promise<unknown>;
}

/** Lines of logs of each failed service, and how many of those there are details of. */
const [linesOfFailed, mostFailed] = [100, 20];
const listLimit = 100;

const textOf = (logs: readonly LogEntry[]): readonly string[] =>
  logs
    .map((entry) => formatEntry(entry, "short-iso", plainScreen))
    .join("")
    .split("\n")
    .slice(0, -1);

/** Failed services, each with all about it and the newest of its logs. What is refused of one says why. */
async function failedServices({ client, since }: Asked): Promise<object> {
  const { services, total } = await client.listServices({ query: { status: "failed" } });
  const orWhy = async <T>(call: () => Promise<T>): Promise<T | { readonly missing: string }> =>
    patiently(call).catch((error: unknown) => ({ missing: explainError(error) }));
  const found: object[] = [];
  for (const { name } of services.slice(0, mostFailed)) {
    const details = await orWhy(() => client.getService({ params: { name } }));
    const logs = await orWhy(async () =>
      textOf((await client.listLogs({ query: { unit: name, since, limit: linesOfFailed } })).logs),
    );
    found.push({ name, details, logs });
  }
  return { services: found, total };
}

/** More than any host has installed. */
const mostPackagePages = 200;

/** Installed packages with their versions, a line each, ordered by name. @throws Error where the pages do not end. */
async function installedPackages({ client }: Asked): Promise<readonly string[]> {
  const lines: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPackagePages; page += 1) {
    const query = { installed: true, limit: packageListLimit.maximum, ...defined({ cursor }) };
    const { packages, next_cursor: next } = await patiently(() => client.searchPackages({ query }));
    for (const { name, architecture, installed_version: version } of packages)
      lines.push(`${name}:${architecture} ${version}`);
    if (next === null) return lines;
    if (next === cursor) break;
    cursor = next;
  }
  throw new Error("cannot list the installed packages: the pages of the service do not end");
}

const parts: readonly Part[] = [
  { name: "service", about: "health and version of Steward", ask: ({ client }) => client.getHealth() },
  { name: "host", about: "operating system, processor, memory", ask: ({ client }) => client.getSystemInfo() },
  { name: "time", about: "clock and time zone", ask: ({ client }) => client.getTime() },
  { name: "checks", about: "results of all health checks", ask: ({ client }) => client.listChecks() },
  { name: "alerts", about: "alerts that are firing or silenced", ask: ({ client }) => client.listAlerts() },
  {
    name: "services",
    about: "all services and their states",
    ask: ({ client }) => client.listServices({ query: { limit: 1000 } }),
  },
  { name: "failed_services", about: "all about failed services, and their logs", ask: failedServices },
  { name: "disks", about: "disks, file systems and what is on them", ask: ({ client }) => client.listDisks() },
  { name: "network", about: "links, routes and listeners", ask: ({ client }) => client.getNetwork() },
  { name: "updates", about: "updates that could be applied", ask: ({ client }) => client.checkUpdates() },
  { name: "automatic_updates", about: "automatic updates", ask: ({ client }) => client.getAutomaticUpdates() },
  { name: "packages", about: "installed packages with their versions", ask: installedPackages },
  {
    name: "package_history",
    about: "the newest changes of packages",
    ask: ({ client }) => client.listPackageHistory({ query: { limit: listLimit } }),
  },
  { name: "snapshots", about: "snapshots of the host", ask: ({ client }) => client.listSnapshots() },
  {
    name: "operations",
    about: "the newest operations",
    ask: ({ client }) => client.listOperations({ query: { limit: listLimit } }),
  },
  {
    name: "reboot",
    about: "whether a reboot is scheduled, and what holds it back",
    ask: ({ client }) => client.getReboot(),
  },
  { name: "windows", about: "windows of the settings", ask: ({ client }) => client.listWindows() },
  { name: "connectors", about: "connectors to language models", ask: ({ client }) => client.listConnectors() },
  { name: "plugins", about: "plugins", ask: ({ client }) => client.listPlugins() },
  { name: "journal_boots", about: "boots in the journal", ask: ({ client }) => client.listLogBoots() },
  {
    name: "steward_logs",
    about: "the newest lines of Steward itself",
    ask: async ({ client, since, lines }) =>
      textOf((await client.listLogs({ query: { unit: "steward", since, limit: lines } })).logs),
  },
  {
    name: "warnings",
    about: "the newest lines of all logs with the severity warning or worse",
    ask: async ({ client, since, lines }) =>
      textOf((await client.listLogs({ query: { priority: 4, since, limit: lines } })).logs),
  },
];

/** The settings file as it is: secrets are in files of their own. @throws Error where it cannot be read. */
export async function settingsOf(local: Pick<LocalCommands, "checkConfig">, file: string | undefined): Promise<object> {
  const report = await local.checkConfig(file);
  if (report.file === undefined) return { file: null, text: [], faults: [], warnings: [] };
  const { faults, warnings } = report;
  return {
    file: report.file,
    text: readFileSync(report.file, "utf8").split("\n"),
    faults: faults.map(({ text }) => text),
    warnings,
  };
}

type Redact = LocalCommands["redact"];

const hidden = "[redacted]";

/** Whether a name says that its value is a secret. */
async function isSecretName(name: string, redact: Redact): Promise<boolean> {
  const line = `${name}=anything`;
  return name !== "" && (await redact(line)) === `${name}=${hidden}`;
}

/** A value without what its name, or its form, shows to be a secret. */
async function redactNamed(name: string, value: string, redact: Redact): Promise<string> {
  if (value.includes("\n") && (await isSecretName(name, redact))) return hidden;
  const text = await redact(value);
  const line = `${name}=${value}`;
  if (text !== value || name === "" || value === "" || value.includes("\n")) return text;
  const redacted = await redact(line);
  return redacted.startsWith(`${name}=`) ? redacted.slice(name.length + 1) : text;
}

/** Longer lists are no command lines. */
const mostWords = 64;
/** Stands for a line break inside of a text while texts are lines. */
const innerBreak = "\u2028";

/** The words of a command line, of which one may name the next. */
async function redactWords(words: readonly string[], redact: Redact): Promise<readonly string[]> {
  try {
    const redacted: unknown = JSON.parse(await redact(JSON.stringify(words)));
    return Array.isArray(redacted) && redacted.length === words.length ? redacted.map(String) : words;
  } catch (error) {
    // It was not cut between two words, and is no longer a list.
    if (!(error instanceof SyntaxError)) throw error;
    return words.map(() => hidden);
  }
}

/** Texts that belong together, such as the lines of a file or the words of a command line. */
async function redactTexts(texts: readonly string[], redact: Redact): Promise<readonly string[]> {
  const redacted = await redact(texts.map((text) => text.replaceAll("\n", innerBreak)).join("\n"));
  const lines = redacted.split("\n").map((line) => line.replaceAll(innerBreak, "\n"));
  return lines.length <= mostWords ? redactWords(lines, redact) : lines;
}

/** Removes secrets from all texts of a value, whatever member they stand in. */
export async function withoutSecrets(value: unknown, redact: Redact, name = ""): Promise<unknown> {
  if (typeof value === "string") return redactNamed(name, value, redact);
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every((each) => typeof each === "string"))
      return (await isSecretName(name, redact)) ? value.map(() => hidden) : redactTexts(value, redact);
    return Promise.all(value.map((each: unknown) => withoutSecrets(each, redact, name)));
  }
  if (!isRecord(value)) return value;
  // A pair of a name and its value, as of a header or a variable.
  const pairName = typeof value["name"] === "string" ? value["name"] : undefined;
  const members = Object.entries(value).map(async ([key, member]) => {
    const named = key === "value" && pairName !== undefined ? pairName : key;
    return [key, await withoutSecrets(member, redact, named)] as const;
  });
  return Object.fromEntries(await Promise.all(members));
}

export interface Collected {
  readonly parts: readonly { readonly name: string; readonly about: string; readonly value: unknown }[];
  readonly missing: readonly { readonly name: string; readonly about: string; readonly reason: string }[];
}

/** Asks for all parts of a report, and removes secrets from each. What is refused or fails is missing, with the reason. */
export async function collectParts(
  asked: Asked,
  { redact, settings }: { readonly redact: Redact; readonly settings: () => Promise<object> },
): Promise<Collected> {
  const found: Collected["parts"][number][] = [];
  const missing: Collected["missing"][number][] = [];
  const all: readonly Part[] = [
    ...parts,
    { name: "settings", about: "the settings file, and faults in it", ask: settings },
  ];
  for (const { name, about, ask } of all) {
    try {
      const value = await patiently(() => ask(asked));
      found.push({ name, about, value: await withoutSecrets(value, redact) });
    } catch (error) {
      if (found.length === 0 && missing.length === 0 && !isAnswer(error)) throw error;
      missing.push({ name, about, reason: await redact(errorMessage(error)) });
    }
  }
  return { parts: found, missing };
}

/** Whether the service has answered, if only to refuse: where it cannot be reached there is nothing to report. */
const isAnswer = (error: unknown): boolean => error instanceof Error && error.name === "ApiError";
