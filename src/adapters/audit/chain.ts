import { hash } from "node:crypto";
import type { AuditRecord } from "#contract/audit.ts";
import { auditOutcomes } from "#contract/audit.ts";
import type { AuditEntry } from "#domain/audit/ports.ts";

/** The place of an entry in the chain: what the next one follows. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

/** What the first entry follows. */
export const origin: Link = { seq: 0, hash: "0".repeat(64) };

const sha256 = (data: string | Buffer): string => hash("sha256", data, "hex");

/** Longest text of a member: what a caller names may be as long as a body. */
const maxTextLength = 4096;

/** Text that every JSON tool writes the same way: well-formed, and without DEL, which some escape and some do not. */
const plain = (text: string): string => {
  const cut = text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
  return cut.toWellFormed().replaceAll("\u007f", "\ufffd");
};

const plainValue = (_: string, value: unknown): unknown => (typeof value === "string" ? plain(value) : value);

/** How every line begins that follows this link. */
const headOf = ({ seq, hash: prev }: Link): string => `{"seq":${seq + 1},"prev":"${prev}",`;

/** The line of an entry, without its end, and the link that it is. Its hash is that of the JSON text without `hash`. */
export function lineOf(entry: AuditEntry, after: Link): { readonly text: string; readonly link: Link } {
  // The time comes first, where readers look for it.
  const body = `${headOf(after)}${JSON.stringify(Object.assign({ time: entry.time }, entry), plainValue).slice(1)}`;
  const digest = sha256(body);
  return { text: `${body.slice(0, -1)},"hash":"${digest}"}`, link: { seq: after.seq + 1, hash: digest } };
}

const isText = (value: unknown): boolean => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isCountOrNull = (value: unknown): boolean => value === null || isCount(value);
const isDigest = (value: unknown): boolean => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

const entryForms: Readonly<Record<keyof AuditEntry, (value: unknown) => boolean>> = {
  time: (value) => typeof value === "string" && !Number.isNaN(Date.parse(value)),
  operation: isText,
  outcome: (value) => auditOutcomes.some((each) => each === value),
  status: isCountOrNull,
  error: isTextOrNull,
  method: isTextOrNull,
  path: isTextOrNull,
  target: (value) => typeof value === "object" && value !== null && Object.values(value).every(isText),
  dry_run: isFlag,
  replayed: isFlag,
  key_id: isTextOrNull,
  key_name: isTextOrNull,
  certificate: isTextOrNull,
  remote_address: isTextOrNull,
  request_id: isTextOrNull,
  operation_id: isTextOrNull,
  client_gone: isFlag,
  duration_ms: isCountOrNull,
  count: isCount,
};
const recordForms = { seq: isCount, prev: isDigest, ...entryForms, hash: isDigest };

const isOfForms = (forms: Readonly<Record<string, (value: unknown) => boolean>>, value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(forms).every(([name, isOfForm]) => isOfForm((value as Readonly<Record<string, unknown>>)[name]));

const isRecord = (value: unknown): value is AuditRecord => isOfForms(recordForms, value);
const isEntry = (value: unknown): value is AuditEntry => isOfForms(entryForms, value);

function parsed<T>(text: string, isOfKind: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isOfKind(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a line as an entry, whether its hash is right or not; undefined when it is none. */
export const parseRecord = (line: string): AuditRecord | undefined => parsed(line, isRecord);

/** Reads what is not in the chain yet; undefined when it is no entry. */
export const parseEntry = (text: string): AuditEntry | undefined => parsed(text, isEntry);

const hashMember = /,"hash":"([0-9a-f]{64})"\}$/;

/** Whether a line holds the hash of what else is in it. Lines are UTF-8. */
export function isSealed(line: Buffer): boolean {
  const memberLength = 75;
  const cut = line.length - memberLength;
  if (cut < 1) return false;
  const found = hashMember.exec(line.toString("latin1", cut));
  return found !== null && sha256(Buffer.concat([line.subarray(0, cut), Buffer.from("}")])) === found[1];
}

/** An entry whose hash is right; undefined for any other line. */
export const readSealed = (line: Buffer): AuditRecord | undefined =>
  isSealed(line) ? parseRecord(line.toString("utf8")) : undefined;

/** Names of the entries that tell of what stands before them in the file. */
export const tornEvent = "audit.torn";
export const damagedEvent = "audit.damaged";
/** Names of the entries that tell of what is not in the log any more, or never was. */
export const prunedEvent = "audit.pruned";
export const lostEvent = "audit.lost";

/**
 * Whether bytes behind an entry are what is left of others that followed it and were cut off: a crash and a full disk leave
 * the beginnings of lines, and a power cut zeros after them.
 */
export function isTorn(bytes: Buffer, after: Link): boolean {
  const head = headOf(after);
  return bytes
    .toString("latin1")
    .split("\n")
    .every((line) => {
      const begun = line.replace(/\0+$/, "");
      return (begun.startsWith(head) && parseRecord(begun) === undefined) || head.startsWith(begun);
    });
}

/** What the entry says of the bytes that it tells about. */
export const remainsOf = (bytes: Buffer): { readonly bytes: string; readonly sha256: string } => ({
  bytes: String(bytes.length),
  sha256: sha256(bytes),
});
