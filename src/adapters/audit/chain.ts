import { hash } from "node:crypto";
import { type AuditRecord, auditOutcomes } from "#contract/audit.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { AuditEntry } from "#domain/ports/audit.ts";
import { isCount, isString, parseJsonObject } from "#kernel/values.ts";

export interface Link {
  readonly seq: number;
  readonly hash: string;
}

export const origin: Link = { seq: 0, hash: "0".repeat(64) };

const sha256 = (data: string | Buffer): string => hash("sha256", data, "hex");

export const maxLineBytes = 1024 * 1024;

const maxTextLength = 4096;

/** Text that every JSON tool writes the same way: well-formed, and without DEL, which some escape and some do not. */
const plain = (text: string): string => {
  const cut = text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
  return cut.toWellFormed().replaceAll("\u007f", "\ufffd");
};

const plainValue = (_: string, value: unknown): unknown => (typeof value === "string" ? plain(value) : value);

const headOf = ({ seq, hash: prev }: Link): string => `{"seq":${seq + 1},"prev":"${prev}",`;

interface SealedLine {
  readonly text: string;
  readonly link: Link;
}

function sealedLine(entry: AuditEntry, after: Link): SealedLine {
  const members = Object.fromEntries(memberNames.map((name) => [name, entry[name]]));
  const body = `${headOf(after)}${JSON.stringify(members, plainValue).slice(1)}`;
  const digest = sha256(body);
  return { text: `${body.slice(0, -1)},"hash":"${digest}"}`, link: { seq: after.seq + 1, hash: digest } };
}

const isTextOrNull = (value: unknown): boolean => value === null || isString(value);
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const isCountOrNull = (value: unknown): boolean => value === null || isCount(value);
const isDigest = (value: unknown): boolean => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

const entryForms: Readonly<Record<keyof AuditEntry, (value: unknown) => boolean>> = {
  time: (value) => typeof value === "string" && !Number.isNaN(Date.parse(value)),
  operation: isString,
  outcome: (value) => auditOutcomes.some((each) => each === value),
  status: isCountOrNull,
  error: isTextOrNull,
  method: isTextOrNull,
  path: isTextOrNull,
  target: (value) => typeof value === "object" && value !== null && Object.values(value).every(isString),
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
const memberNames = Object.keys(entryForms) as readonly (keyof AuditEntry)[];
const recordForms = { seq: isCount, prev: isDigest, ...entryForms, hash: isDigest };

type Forms = Readonly<Record<string, (value: unknown) => boolean>>;

const faultsOf = (forms: Forms, value: object): readonly string[] =>
  Object.entries(forms)
    .filter(([name, isOfForm]) => !isOfForm((value as Readonly<Record<string, unknown>>)[name]))
    .map(([name]) => name);

const isOfForms = (forms: Forms, value: unknown): boolean =>
  typeof value === "object" && value !== null && faultsOf(forms, value).length === 0;

const isAuditRecord = (value: unknown): value is AuditRecord => isOfForms(recordForms, value);
const isEntry = (value: unknown): value is AuditEntry => isOfForms(entryForms, value);

function parseAs<T>(text: string, isOfKind: (value: unknown) => value is T): T | undefined {
  const value = parseJsonObject(text);
  return isOfKind(value) ? value : undefined;
}

export const parseRecord = (line: string): AuditRecord | undefined => parseAs(line, isAuditRecord);

export const parseEntry = (text: string): AuditEntry | undefined => parseAs(text, isEntry);

const hashMember = /,"hash":"([0-9a-f]{64})"\}$/;

const unnamedEvent = "audit.unnamed";

function repaired(entry: AuditEntry, faults: readonly string[], now: number): AuditEntry {
  const accepted = Object.fromEntries(Object.entries(entry).filter(([name]) => !faults.includes(name)));
  const whole: AuditEntry = { ...auditEvent(unnamedEvent, now, { outcome: "failed" }), ...accepted };
  return { ...whole, target: { ...whole.target, invalid_members: faults.join(" ") } };
}

interface CompleteEntry {
  readonly entry: AuditEntry;
  readonly faults: readonly string[];
}

export function complete(entry: AuditEntry, now: number): CompleteEntry {
  const faults = faultsOf(entryForms, entry);
  return { entry: faults.length === 0 ? entry : repaired(entry, faults, now), faults };
}

const isAcceptable = ({ text }: SealedLine): boolean =>
  Buffer.byteLength(text) <= maxLineBytes && parseRecord(text) !== undefined;

export function seal(
  entry: AuditEntry,
  after: Link,
  now: number,
): Pick<CompleteEntry, "faults"> & { line: SealedLine } {
  const { entry: whole, faults } = complete(entry, now);
  const line = sealedLine(whole, after);
  if (isAcceptable(line)) return { line, faults };
  const withoutTarget = [...faults, "target"];
  return { line: sealedLine(repaired(whole, withoutTarget, now), after), faults: withoutTarget };
}

function isSealed(line: Buffer): boolean {
  const memberLength = 75;
  const cut = line.length - memberLength;
  if (cut < 1) return false;
  const found = hashMember.exec(line.toString("latin1", cut));
  return found !== null && sha256(Buffer.concat([line.subarray(0, cut), Buffer.from("}")])) === found[1];
}

export interface SealedRecord extends Link {
  readonly prev: string;
  readonly record: AuditRecord | undefined;
  readonly faults: readonly string[];
}

const linkForms = { seq: isCount, prev: isDigest, hash: isDigest };
const isLinked = (value: unknown): value is Link & { readonly prev: string } => isOfForms(linkForms, value);

export function readSealed(line: Buffer): SealedRecord | undefined {
  if (!isSealed(line)) return undefined;
  const value = parseAs(line.toString("utf8"), isLinked);
  if (value === undefined) return undefined;
  const { seq, prev, hash: digest } = value;
  const faults = faultsOf(recordForms, value);
  return { seq, prev, hash: digest, record: isAuditRecord(value) ? value : undefined, faults };
}

export const tornEvent = "audit.torn";
export const damagedEvent = "audit.damaged";
export const prunedEvent = "audit.pruned";
export const lostEvent = "audit.lost";

/** Whether bytes are starts of the next entry, as a crash or a full disk leaves, perhaps with zeros after a power cut. */
export function isTorn(bytes: Buffer, after: Link): boolean {
  const head = headOf(after);
  return bytes
    .toString("latin1")
    .split("\n")
    .every((line) => {
      const started = line.replace(/\0+$/, "");
      return (started.startsWith(head) && parseRecord(started) === undefined) || head.startsWith(started);
    });
}

export const remainsOf = (bytes: Buffer): { readonly bytes: string; readonly sha256: string } => ({
  bytes: String(bytes.length),
  sha256: sha256(bytes),
});
