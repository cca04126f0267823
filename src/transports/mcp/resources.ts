import type { Arguments } from "./calls.ts";

/** Something to read by an address: an operation, and how the address gives its arguments. */
interface Readable {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly operation: string;
  readonly pattern: RegExp;
  readonly argumentOf: (found: string) => Arguments;
}

const readables: readonly Readable[] = [
  {
    uriTemplate: "steward://checks/{id}",
    name: "check",
    title: "A check",
    description: "The result of a health check with its figures, thresholds and fix.",
    operation: "getCheck",
    pattern: /^steward:\/\/checks\/([^/?#]+)$/,
    argumentOf: (id) => ({ check_id: id }),
  },
  {
    uriTemplate: "steward://logs/{cursor}",
    name: "log",
    title: "An entry of the journal with what stood around it",
    description: "Ten entries before and after the entry of a cursor, as listLogs has it.",
    operation: "getLogContext",
    pattern: /^steward:\/\/logs\/([^/?#]+)$/,
    argumentOf: (cursor) => ({ cursor, before: 10, after: 10 }),
  },
  {
    uriTemplate: "steward://services/{name}",
    name: "service",
    title: "A service",
    description: "A systemd service: state, last run, files, limits.",
    operation: "getService",
    pattern: /^steward:\/\/services\/([^/?#]+)$/,
    argumentOf: (name) => ({ name }),
  },
];

export const resourceTemplates = readables.map(({ uriTemplate, name, title, description }) => ({
  ...{ uriTemplate, name, title, description },
  mimeType: "application/json",
}));

/** What has an address of its own without a template. */
export const resources = [
  {
    uri: "steward://checks",
    name: "checks",
    title: "All checks",
    description: "The results of the health checks, the worst first.",
    mimeType: "application/json",
  },
] as const;

/** The call that an address stands for; undefined for one that leads nowhere. */
export function callOf(uri: string): { readonly operation: string; readonly given: Arguments } | undefined {
  if (uri === resources[0].uri) return { operation: "listChecks", given: {} };
  for (const { pattern, operation, argumentOf } of readables) {
    const found = pattern.exec(uri)?.[1];
    if (found === undefined) continue;
    try {
      const text = decodeURIComponent(found);
      // No path has such a segment.
      return text === "." || text === ".." ? undefined : { operation, given: argumentOf(text) };
    } catch {
      return undefined;
    }
  }
  return undefined;
}
