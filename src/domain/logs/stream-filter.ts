import { namespacePattern, templateIdPattern } from "#contract/log-entry.ts";
import { priorityNumbers } from "#contract/streams.ts";
import { checked, type DomainError, invalid } from "#domain/common/error.ts";
import type { ListedEntries, LiveEntry } from "#domain/ports/journal.ts";
import { isRecord } from "#kernel/values.ts";
import { checkExpression } from "./expression.ts";
import { isInNamespace } from "./namespace.ts";
import { canonicalUnit, compileUnitPattern, isWithin } from "./unit-pattern.ts";

/** The filter of a client; all members that are set must match. */
export interface LogFilter {
  /** Canonical name or pattern. */
  readonly unit: string | undefined;
  /** This severity and worse, 0 to 6: 7 means all, as with `journalctl -p`, and is not a filter. */
  readonly priority: number | undefined;
  readonly grep: string | undefined;
  /** Id of a template. */
  readonly template: string | undefined;
  /** As of a query; undefined: all where entries are of certain units, else the default one. */
  readonly namespace: string | undefined;
}

export const noFilter: LogFilter = {
  unit: undefined,
  priority: undefined,
  grep: undefined,
  template: undefined,
  namespace: undefined,
};

/** What of a filter takes a search, in the order in which it is searched for. */
export const searchedFields = ["template", "grep"] as const;
export type SearchedField = (typeof searchedFields)[number];

export const takesSearch = (filter: Pick<LogFilter, SearchedField>): boolean =>
  searchedFields.some((field) => filter[field] !== undefined);

const maxUnitLength = 255;
const maxGrepLength = 1024;
const maxNamespaceLength = 222;
const namespaceText = new RegExp(namespacePattern);
const templateId = new RegExp(templateIdPattern);
const leastSevere = 7;
/** Unit names that a matcher remembers before it starts over. */
const maxRememberedUnits = 4096;

/** What a client may see. */
export interface Sight {
  readonly units: "all" | readonly string[];
  /** Why it may not see a unit. */
  readonly lackOf: (unit: string) => DomainError;
}

function parseText(field: "unit" | "grep", value: unknown, maxLength: number): string {
  if (typeof value !== "string") throw invalid(field, "Must be a string or null");
  if (value === "") throw invalid(field, "Must not be empty (null clears it)");
  if (value.length > maxLength) throw invalid(field, `Must be at most ${maxLength} characters`);
  return value;
}

function parseUnit(value: unknown, { units, lackOf }: Sight): string {
  const unit = canonicalUnit(parseText("unit", value, maxUnitLength));
  if (units === "all" || units.some((pattern) => isWithin(unit, pattern))) return unit;
  throw lackOf(unit);
}

function parsePriority(value: unknown): number | undefined {
  const text = typeof value === "number" ? String(value) : value;
  const number = typeof text === "string" && Object.hasOwn(priorityNumbers, text) ? priorityNumbers[text] : undefined;
  if (number === undefined) throw invalid("priority", "Must be a severity such as err or warning, or 0 to 7, or null");
  return number === leastSevere ? undefined : number;
}

const parseGrep = (value: unknown): string => checkExpression(parseText("grep", value, maxGrepLength));

function parseTemplate(value: unknown): string {
  if (typeof value === "string" && templateId.test(value)) return value;
  throw invalid("template", "Must be the id of a template, 16 hex digits, or null");
}

function parseNamespace(value: unknown): string {
  if (typeof value === "string" && value.length <= maxNamespaceLength && namespaceText.test(value)) return value;
  throw invalid("namespace", "Must be the name of a namespace, + and a name, *, or null");
}

/** A change of a filter: undefined members stay, null clears. */
export interface FilterChange {
  readonly namespace?: unknown;
  readonly unit?: unknown;
  readonly priority?: unknown;
  readonly grep?: unknown;
  readonly template?: unknown;
}

const changed = <T>(before: T | undefined, value: unknown, parse: (value: unknown) => T): T | undefined =>
  value === undefined ? before : value === null ? undefined : parse(value);

/** Applies a change. @throws DomainError VALIDATION_ERROR for a malformed member, FORBIDDEN for a unit that the key may not see. */
export function changeFilter(filter: LogFilter, change: FilterChange, sight: Sight): LogFilter {
  const [unit, priority, grep, template, namespace] = checked(
    () => changed(filter.unit, change.unit, (value) => parseUnit(value, sight)),
    () => changed(filter.priority, change.priority, parsePriority),
    () => changed(filter.grep, change.grep, parseGrep),
    () => changed(filter.template, change.template, parseTemplate),
    () => changed(filter.namespace, change.namespace, parseNamespace),
  );
  return { unit, priority, grep, template, namespace };
}

/** The change in a message of the client. @throws DomainError VALIDATION_ERROR. */
export function readFilterMessage(message: unknown): FilterChange {
  if (!isRecord(message)) throw invalid("message", "Must be a JSON object");
  if (!("type" in message)) throw invalid("type", "Required field missing");
  if (message.type !== "filter") throw invalid("type", "Must be filter");
  const { unit, priority, grep, template, namespace } = message as FilterChange;
  return { unit, priority, grep, template, namespace };
}

/** Remembers the answer for each name: few units write most entries. */
function rememberedPatterns(patterns: readonly string[]): (name: string) => boolean {
  const matchers = patterns.map(compileUnitPattern);
  const known = new Map<string, boolean>();
  return (name) => {
    const answer = known.get(name);
    if (answer !== undefined) return answer;
    const fresh = matchers.some((matches) => matches(name));
    if (known.size >= maxRememberedUnits) known.clear();
    known.set(name, fresh);
    return fresh;
  };
}

/** Where entries that pass a filter are. */
export const listedBy = (
  { unit, namespace }: Pick<LogFilter, "unit" | "namespace">,
  visible: Sight["units"],
): ListedEntries => {
  const units = unit !== undefined ? [unit] : visible === "all" ? undefined : visible;
  return { units, namespace: namespace ?? (units === undefined ? undefined : "*") };
};

/** Among which entries the template of a filter is one, as a query has it. */
export const templatesAmong = (filter: LogFilter, visible: Sight["units"]): ListedEntries => ({
  units: visible === "all" ? undefined : visible,
  namespace: listedBy(filter, visible).namespace,
});

/** Whether an entry passes a filter but for what takes a search, and the key may see its unit. */
export function createLogMatcher(
  filter: Omit<LogFilter, SearchedField>,
  visible: Sight["units"],
): (live: LiveEntry) => boolean {
  const { unit, priority } = filter;
  const wanted = listedBy(filter, visible).namespace;
  const isWanted = unit === undefined ? undefined : rememberedPatterns([unit]);
  const isVisible = visible === "all" ? undefined : rememberedPatterns(visible);
  return ({ units, namespace: own, priority: written }) =>
    isInNamespace(wanted, own) &&
    (priority === undefined || (written !== null && written <= priority)) &&
    (isWanted === undefined || units.some(isWanted)) &&
    (isVisible === undefined || units.some(isVisible));
}
