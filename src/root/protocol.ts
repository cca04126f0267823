import type { Duplex } from "node:stream";
import { isErrorCode } from "#contract/errors.ts";
import { DomainError } from "#domain/common/error.ts";
import { findUnavailable, HostUnavailable } from "#domain/common/host-unavailable.ts";
import { PackageFileMissing, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { ProcessGone } from "#domain/ports/processes.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import type { PolicyRefusal } from "#domain/ports/units.ts";
import { UnitProtected, UnitRefused } from "#domain/ports/units.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";

export const maxRequestBytes = 4 * 1024 * 1024;
export const maxAnswerBytes = 32 * 1024 * 1024;

export interface RootRequest {
  readonly id: string;
  readonly task: string;
  readonly input: unknown;
}

/** Root sends `{ progress }`, where the task has some, then `{ output }` or `{ error }`. An error keeps its kind. */
export interface WireError {
  readonly kind: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Sent by the service when root may do what its progress has announced. */
export const proceed = { proceed: true } as const;

const newline = 10;

/** Messages as lines of JSON. @throws Error for a line that is invalid, too long, or cut off. */
export async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<unknown, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > maxBytes) throw new Error(`message longer than ${maxBytes} bytes`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString("utf8");
      parts = [];
      length = 0;
      start = end + 1;
      yield parsed(line);
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (length > 0) throw new Error("connection closed in the middle of a message");
  return undefined;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error("expected a line of JSON", { cause: error });
  }
}

export const encodeMessage = (message: unknown): string => `${JSON.stringify(message)}\n`;

/** Sends a message; whether the other side still reads shows in what it sends. */
export const sendMessage = (connection: Duplex, message: unknown): void =>
  void (connection.writable && connection.write(encodeMessage(message)));

/** Kinds of errors that are nothing but their message. */
const simple = { UnitRefused, UpdateRefused, SnapshotUnusable, PackageFileMissing, ProcessGone } as const;

export function toWire(error: unknown): WireError {
  const message = errorMessage(error);
  if (error instanceof DomainError)
    return { kind: "DomainError", message, details: { code: error.code, details: error.details ?? {} } };
  if (error instanceof PackagesLocked)
    return { kind: "PackagesLocked", message, ...(error.holder && { details: { ...error.holder } }) };
  if (error instanceof UnitProtected) return { kind: "UnitProtected", message, details: { ...error.refusal } };
  if (error instanceof PluginNotRun)
    return { kind: "PluginNotRun", message, ...(error.output && { details: { ...error.output } }) };
  const known = Object.entries(simple).find(([, kind]) => error instanceof kind);
  if (known !== undefined) return { kind: known[0], message };
  const missing = findUnavailable(error);
  if (missing === undefined) return { kind: "Error", message };
  return { kind: "HostUnavailable", message: missing.message, details: { ...missing.details } };
}

const isRefusal = (details: Readonly<Record<string, unknown>>): details is PolicyRefusal & Record<string, unknown> =>
  typeof details["reason"] === "string" &&
  typeof details["remedy"] === "string" &&
  (details["setting"] === "services.allow" || details["setting"] === "services.deny");

function domainError(message: string, { code, details }: Readonly<Record<string, unknown>>): Error {
  return typeof code === "string" && isErrorCode(code)
    ? new DomainError(code, message, isRecord(details) ? details : undefined)
    : new Error(message);
}

function hostUnavailable(message: string, { missing, retryable, directory }: Readonly<Record<string, unknown>>): Error {
  return new HostUnavailable(message, {
    missing: typeof missing === "string" ? missing : "host",
    retryable: retryable === true,
    ...(typeof directory === "string" && { directory }),
  });
}

export const isWireError = (value: unknown): value is WireError =>
  isRecord(value) &&
  typeof value["kind"] === "string" &&
  typeof value["message"] === "string" &&
  (value["details"] === undefined || isRecord(value["details"]));

export function fromWire({ kind, message, details = {} }: WireError): Error {
  if (kind === "DomainError") return domainError(message, details);
  if (kind === "PackagesLocked") {
    const { pid, program } = details;
    const isHolder = typeof pid === "number" && typeof program === "string";
    return new PackagesLocked(message, isHolder ? { pid, program } : undefined);
  }
  if (kind === "HostUnavailable") return hostUnavailable(message, details);
  if (kind === "UnitProtected" && isRefusal(details)) return new UnitProtected(details);
  if (kind === "PluginNotRun") {
    const { stdout, stderr } = details;
    const isOutput = typeof stdout === "string" && typeof stderr === "string";
    return new PluginNotRun(message, isOutput ? { output: { stdout, stderr } } : {});
  }
  const known = Object.entries(simple).find(([name]) => name === kind)?.[1];
  return known === undefined ? new Error(message) : new known(message);
}
