import type { Answer } from "#client/index.ts";
import { isRecord } from "#kernel/values.ts";
import { oneLine } from "../output/output.ts";

type Result = Answer<"getCheck">;

const states = {
  pass: { code: 0, word: "OK" },
  warn: { code: 1, word: "WARNING" },
  fail: { code: 2, word: "CRITICAL" },
  skip: { code: 3, word: "UNKNOWN" },
} as const satisfies Record<Result["status"], { code: number; word: string }>;

export const unknownCode = states.skip.code;

/** Monitoring systems cut longer output in the middle of a figure; the message has at most 1000 characters. */
const maxPerfdataChars = 6000;

const units: readonly (readonly [name: RegExp, unit: string])[] = [
  [/(^|_)bytes$/, "B"],
  [/(^|_)percent($|_)/, "%"],
  [/_seconds$/, "s"],
  [/_ms$/, "ms"],
  [/_gb$/, "GB"],
];

function plain(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 20 }) : text;
}

const quotedLabel = (label: string): string =>
  /^[\w./:\\-]+$/.test(label) ? label : `'${label.replaceAll(/\p{Cc}+/gu, " ").replaceAll("'", "''")}'`;

/** A figure of a plugin as the plugin wrote it; undefined for anything else. */
function passedOn(value: unknown): string | undefined {
  if (!isRecord(value) || typeof value["label"] !== "string") return undefined;
  const { value: figure, unit } = value;
  const range = (field: unknown): string => (isRecord(field) ? String(field["text"]) : "");
  const bound = (field: unknown): string => (typeof field === "number" ? plain(field) : "");
  const fields = [
    typeof figure === "number" ? `${plain(figure)}${String(unit)}` : "U",
    range(value["warn"]),
    range(value["crit"]),
    bound(value["min"]),
    bound(value["max"]),
  ];
  return `${quotedLabel(value["label"])}=${fields.join(";").replace(/;+$/, "")}`;
}

function figureOf([name, value]: readonly [name: string, value: unknown]): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  const unit = units.find(([pattern]) => pattern.test(name))?.[1] ?? "";
  return `${quotedLabel(name)}=${plain(value)}${unit}`;
}

/** The figures of a check as performance data: those of a plugin, else every number of the details. */
export function perfdataOf({ details }: Pick<Result, "details">): string {
  const entries: readonly (readonly [string, unknown])[] = Object.entries(details);
  const own = entries.find(([name]) => name === "perfdata")?.[1];
  const items: readonly (string | undefined)[] = Array.isArray(own) ? own.map(passedOn) : entries.map(figureOf);
  let room = maxPerfdataChars;
  return items
    .filter((item) => item !== undefined)
    .filter((item) => {
      room -= item.length + 1;
      return room >= 0;
    })
    .join(" ");
}

const harmless = (text: string): string => oneLine(text).replaceAll("|", "/");

/** A result as a monitoring plugin prints it, and its exit code. */
export function nagiosReport(result: Pick<Result, "check_id" | "status" | "message" | "details">): {
  readonly line: string;
  readonly code: number;
} {
  const { code, word } = states[result.status];
  const perfdata = perfdataOf(result);
  const text = `${harmless(result.check_id).toUpperCase()} ${word} - ${harmless(result.message)}`;
  return { line: perfdata === "" ? text : `${text} | ${oneLine(perfdata)}`, code };
}

export const nagiosUnknown = (reason: string): string => `STEWARD ${states.skip.word} - ${harmless(reason)}`;

/** Whether a command line asks for the plugin interface. It is asked before parsing: a usage error is answered in it too. */
export function speaksNagios(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  return words.includes("check") && words.includes("--nagios");
}
