import { type Operation, type Operations, takesIdempotencyKey } from "#contract/operation.ts";
import { needsOf } from "#domain/access/needs.ts";
import { resourcesOf, withProposals } from "#domain/access/scopes.ts";
import { cleanText } from "#domain/common/clean-text.ts";
import { invalid } from "#domain/common/error.ts";
import { isRecord } from "#kernel/values.ts";

type Part = "params" | "query" | "body";
type Schema = Readonly<Record<string, unknown>>;

/** A tool as clients list it. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, Schema>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  readonly annotations: {
    readonly title: string;
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

/** A row of the table as a tool. */
export interface ToolRow {
  readonly name: string;
  readonly operation: Operation;
  readonly tool: Tool;
  /** Where each argument goes. */
  readonly places: ReadonlyMap<string, Part>;
}

/** The arguments that are headers of the call. */
export const planToken = "plan_token";
export const statedReason = "stated_reason";
export const idempotencyKey = "idempotency_key";

const mostReason = 200;

/** Why a caller does something, as others are shown it. @throws DomainError for what is no text. */
export function reasonOf({ [statedReason]: reason }: Readonly<Record<string, unknown>>): string | undefined {
  if (reason === undefined || reason === null) return undefined;
  if (typeof reason !== "string") throw invalid(statedReason, "Must be a text");
  const text = cleanText(reason.replaceAll(/\s+/g, " ")).trim();
  return text === "" ? undefined : text.slice(0, mostReason).toWellFormed();
}

/** Where an argument goes. One that the row has not is a member of the body or query, so that it is refused as over HTTP. */
export const placeOf = ({ operation: { method, body }, places }: ToolRow, name: string): Part =>
  places.get(name) ?? (method === "GET" || body === undefined ? "query" : "body");

/** What concerns the caller itself, and leads to no credential. */
const ownAffairs = new Set(["whoami", "canI", "listApprovals", "getApproval", "cancelApproval"]);
const parts = ["params", "query", "body"] as const;

/**
 * Whether a row is a tool. Never what makes, shows or ends credentials; approvals are given by persons; streams, files and what is for
 * scrapers have no form that a tool could answer.
 */
export function isTool(name: string, row: Operation): boolean {
  const { scope, answerIsSecret, forSessions, session, streams, mediaTypes, mediaType, base } = row;
  if (answerIsSecret || forSessions || session !== undefined || base === "root") return false;
  if (streams !== undefined || mediaTypes !== undefined || mediaType !== undefined) return false;
  if (scope === "public" || scope === "keys:admin") return false;
  return scope !== "self" || ownAffairs.has(name);
}

/** What most work begins with; together they stay below 24 KiB. */
const defaultTools: ReadonlySet<string> = new Set([
  ...["listChecks", "getCheck", "fixCheck", "getSystemInfo", "getSystemMetrics", "listServices", "getService"],
  ...["restartService", "startService", "stopService", "listLogs", "getLogTemplates", "listProcesses", "listDisks"],
  ...["getDiskUsage", "getNetwork", "checkUpdates", "applyUpdates", "listSnapshots", "rollback", "listPackageHistory"],
  ...["getOperation", "listAudit", "canI"],
]);

const kept = ["type", "enum", "const", "minimum", "maximum", "minLength", "maxLength", "items", "anyOf", "default"];
const shortText = 160;

/** Up to the end of the first sentence. */
const firstSentence = (text: string): string => {
  const end = text.search(/\.(?=\s|$)/);
  const sentence = end < 0 ? text : text.slice(0, end + 1);
  return sentence.length <= shortText ? sentence : `${sentence.slice(0, shortText - 1)}…`;
};

/** A schema as a client needs it to fill it in: the service itself checks all of it. */
function brief(schema: unknown): Schema {
  if (!isRecord(schema)) return {};
  const shown = Object.entries(schema).flatMap(([name, value]): (readonly [string, unknown])[] => {
    if (name === "description" && typeof value === "string") return [[name, firstSentence(value)]];
    if (name === "properties" && isRecord(value))
      return [[name, Object.fromEntries(Object.entries(value).map(([each, of]) => [each, brief(of)]))]];
    // Some clients take one type alone.
    if (name === "type" && Array.isArray(value)) return [["anyOf", value.map((type: unknown) => ({ type }))]];
    if (name === "items") return [[name, brief(value)]];
    if (name === "anyOf" && Array.isArray(value)) return [[name, value.map(brief)]];
    return kept.includes(name) || name === "required" ? [[name, value]] : [];
  });
  return Object.fromEntries(shown);
}

const headerArguments = {
  [planToken]: {
    type: "string",
    description:
      "`plan_token` of the answer to the same call with dry_run: it then does what that plan says, or is refused.",
  },
  [statedReason]: { type: "string", maxLength: 200, description: "Why, for the audit log and for who has to approve." },
} as const;
const repeatable = {
  [idempotencyKey]: { type: "string", description: "Repeat a call with the same key: it is done once." },
} as const;

function argumentsOf(operation: Operation) {
  const places = new Map<string, Part>();
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const part of parts) {
    const schema: unknown = operation[part];
    if (!isRecord(schema) || !isRecord(schema["properties"])) continue;
    for (const [name, value] of Object.entries(schema["properties"])) {
      if (places.has(name)) throw new Error(`${name} is in two parts of ${operation.path}`);
      places.set(name, part);
      properties[name] = brief(value);
    }
    if (Array.isArray(schema["required"])) required.push(...schema["required"]);
  }
  if (operation.effect !== "read")
    Object.assign(properties, headerArguments, takesIdempotencyKey(operation) ? repeatable : {});
  return { places, properties, required };
}

const hints: Readonly<Record<Operation["effect"], string>> = {
  read: "",
  write: " Changes the host; `dry_run` says how.",
  danger: " Dangerous: call it with `dry_run` first, show the plan, then call it again with its `plan_token`.",
};

function toRow(name: string, operation: Operation): ToolRow {
  const { places, properties, required } = argumentsOf(operation);
  const { summary, effect, description = "" } = operation;
  const isRead = effect === "read";
  return {
    name,
    operation,
    places,
    tool: {
      name,
      title: summary,
      description: `${summary}. ${firstSentence(description)}`.trim() + hints[effect],
      inputSchema: { type: "object", properties, required, additionalProperties: false },
      annotations: {
        title: summary,
        readOnlyHint: isRead,
        destructiveHint: effect === "danger",
        idempotentHint: isRead,
        openWorldHint: operation.tag === "Connectors",
      },
    },
  };
}

/** @returns the tools by name: rows of the table that {@link isTool} is true of. */
export const toolRows = (table: Operations): ReadonlyMap<string, ToolRow> =>
  new Map(
    Object.entries(table)
      .filter(([name, operation]) => isTool(name, operation))
      .map(([name, operation]) => [name, toRow(name, operation)]),
  );

/** Whether a caller may use a tool, or propose it, on some resource at least. */
export function isOpenTo(scopes: readonly string[], operation: Operation): boolean {
  const granted = operation.effect === "read" ? scopes : withProposals(scopes);
  return needsOf(operation, undefined).every(({ scope }) => resourcesOf(granted, scope).length > 0);
}

/** Names of the sets beside `default` and `all`: the tags of the reference. */
const setOf = ({ operation }: ToolRow): string => operation.tag.toLowerCase();

/** @param wanted `?toolsets=`: names of sets, with commas. @returns undefined where a name is unknown. */
export function inToolsets(rows: ReadonlyMap<string, ToolRow>, wanted: string): readonly ToolRow[] | undefined {
  const all = [...rows.values()];
  const known = new Set(["default", "all", ...all.map(setOf)]);
  const names = wanted.split(",");
  if (!names.every((name) => known.has(name))) return undefined;
  return all.filter(
    (row) =>
      names.includes("all") || names.includes(setOf(row)) || (names.includes("default") && defaultTools.has(row.name)),
  );
}
