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
import type { WireError } from "./protocol.ts";

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
