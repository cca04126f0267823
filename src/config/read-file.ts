import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from "yaml";
import { readRegularFile } from "#adapters/files/index.ts";
import { ownSchemas } from "#contract/schema.ts";
import { describeSchemaFault } from "#contract/schema-fault.ts";
import { didYouMean } from "#kernel/closest.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { Fault, FaultAt } from "./faults.ts";
import { Settings } from "./settings.ts";

/** The place of a setting in the file, or of its nearest parent. */
function locate(
  document: Document,
  lines: LineCounter,
  path: readonly string[],
  isKey: boolean,
): { line: number; column: number } | undefined {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    const parent =
      depth === 0 ? undefined : depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const key = isMap(parent)
      ? parent.items.find((item) => isScalar(item.key) && String(item.key.value) === path[depth - 1])?.key
      : undefined;
    const chosen = isKey && depth === path.length && isNode(key) ? key : (node ?? key);
    const offset = isNode(chosen) ? chosen.range?.[0] : undefined;
    if (offset !== undefined) {
      const { line, col } = lines.linePos(offset);
      return { line, column: col };
    }
  }
  return undefined;
}

/** Compiled only for the settings in the file: the whole schema takes longer than the rest of a start. */
function validatorFor(value: unknown): ValidateFunction<Settings> {
  const isObject = typeof value === "object" && value !== null;
  const there = Object.entries(Settings.properties).filter(([name]) => isObject && Object.hasOwn(value, name));
  const schema = { ...Settings, properties: Object.fromEntries(there) };
  return new Ajv({ ...ownSchemas, allErrors: true, verbose: true }).compile<Settings>(schema);
}

const pointer = (path: string): readonly string[] =>
  path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

interface SettingFault {
  readonly path: readonly string[];
  readonly message: string;
  /** Whether the name is at fault, not the value. */
  readonly isKey: boolean;
}

function toSettingFault(error: ErrorObject): SettingFault {
  const { keyword, instancePath, params, parentSchema } = error;
  const path = pointer(instancePath);
  if (keyword === "additionalProperties") {
    const name = String(params["additionalProperty"]);
    // The validator knows of the settings at the top only those that are there.
    const known: object = path.length === 0 ? Settings.properties : (parentSchema?.["properties"] ?? {});
    return { path: [...path, name], message: `unknown setting${didYouMean(name, Object.keys(known))}`, isKey: true };
  }
  return { path, message: describeSchemaFault(error), isKey: false };
}

/** One fault for each place. Messages of all arms of a union are joined, but for arms that are ruled out by faults inside another. */
function schemaFaults(found: readonly ErrorObject[]): readonly SettingFault[] {
  const errors = found.filter(({ keyword }) => keyword !== "anyOf");
  const inside = (outer: string): boolean => errors.some(({ instancePath }) => instancePath.startsWith(`${outer}/`));
  const isArm = ({ keyword, instancePath }: ErrorObject): boolean =>
    ["type", "const", "enum"].includes(keyword) && inside(instancePath);
  const faults = new Map<string, SettingFault>();
  for (const fault of errors.filter((error) => !isArm(error)).map(toSettingFault)) {
    const key = fault.path.join(".");
    const messages = new Set([...(faults.get(key)?.message.split(", or ") ?? []), fault.message]);
    // A list of words implies a string.
    if ([...messages].some((message) => message.startsWith("must be one of"))) messages.delete("must be a string");
    faults.set(key, { ...fault, message: [...messages].join(", or ") });
  }
  return [...faults.values()];
}

export interface SettingsFile {
  readonly settings: Settings;
  readonly faults: readonly Fault[];
  readonly faultAt: FaultAt;
}

const unreadableSettings = (file: string, message: string): SettingsFile => ({
  settings: {},
  faults: [{ source: file, path: "", message }],
  faultAt: (path, text) => ({ source: file, path: path.join("."), message: text }),
});

export function readSettings(file: string): SettingsFile {
  let text: string;
  try {
    text = readRegularFile(file).content.toString("utf8");
  } catch (error) {
    return unreadableSettings(file, `cannot read the file: ${errorMessage(error)}`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const faultAt = (path: readonly string[], message: string, isKey = false): Fault => {
    return { source: file, ...locate(document, lines, path, isKey), path: path.join("."), message };
  };
  const syntax = document.errors.map((error): Fault => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { source: file, line, column: col, path: "", message: error.message };
  });
  // An alias may expand to more than a file can hold.
  visit(document, {
    Alias(_, { range }) {
      const { line, col } = lines.linePos(range?.[0] ?? 0);
      syntax.push({
        source: file,
        line,
        column: col,
        path: "",
        message: "aliases are not permitted (write the value out)",
      });
    },
  });
  if (syntax.length > 0) return { settings: {}, faults: syntax, faultAt };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch (error) {
    return unreadableSettings(file, errorMessage(error));
  }
  const validate = validatorFor(value);
  if (validate(value)) return { settings: value, faults: [], faultAt };
  const faults = schemaFaults(validate.errors ?? []).map(({ path, message, isKey }) => faultAt(path, message, isKey));
  return { settings: {}, faults: faults.sort(byPlace), faultAt };
}

const byPlace = (a: Fault, b: Fault): number => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
