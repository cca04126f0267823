import type { FastifyRequest, preHandlerHookHandler } from "fastify";
import type { ApprovalGate } from "#domain/access/approval-gate.ts";
import { mutationNeeds, type Need, scopeLack } from "#domain/access/needs.ts";
import { allows } from "#domain/access/scopes.ts";
import { overrideHeader, type WindowGate, windowRefusal } from "#domain/access/window-gate.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { isDryRun } from "./request-record.ts";

/** Printable ASCII that begins with a mark: HTTP drops spaces around it. */
export const overrideForm = /^[\x21-\x7e][\x20-\x7e]{0,199}$/;

export function overrideReasonOf({ headers }: FastifyRequest): string | undefined {
  const header = headers["x-window-override"];
  if (header === undefined) return undefined;
  const text = typeof header === "string" ? header : header.join(", ");
  if (!overrideForm.test(text))
    throw invalid(overrideHeader, "Must be a reason of 1 to 200 printable ASCII characters");
  return text;
}

export type WindowHooks = ReturnType<typeof createWindowHooks>;

/**
 * Holds mutations back by windows: behind the scopes, and behind the answers to earlier requests, which are no new mutations.
 * A dry run is answered, and its plan says what would happen.
 */
export function createWindowHooks(
  gate: Pick<WindowGate, "held">,
  approvals: Pick<ApprovalGate, "concerns" | "waitsBecause">,
) {
  /** @throws DomainError `CONFLICT`, or `FORBIDDEN` where the caller may not override. */
  const check = (request: FastifyRequest, need: Need): void => {
    const { record } = request;
    const held = gate.held(need);
    if (held === undefined) return;
    // Windows count when it is carried out.
    if (record.waits) {
      record.held ??= held;
      return;
    }
    const reason = overrideReasonOf(request);
    const { caller } = record;
    const mayOverride = caller !== undefined && allows(caller.scopes, "windows:override");
    if (reason !== undefined && mayOverride) {
      record.override ??= { window: held.window, reason };
      return;
    }
    if (isDryRun(request)) {
      record.held ??= held;
      return;
    }
    if (reason === undefined || caller === undefined) throw windowRefusal(held);
    const { code, message, details } = scopeLack(caller, "windows:override");
    throw new DomainError(code, `cannot override the window ${held.window}: ${message}`, details);
  };

  const hold: preHandlerHookHandler = (request, _, done) => {
    const { route } = request.record;
    const operation = route?.audit?.operation;
    try {
      // Refused also where nothing holds the call back.
      overrideReasonOf(request);
      if (operation !== undefined) {
        const resource = operation.resource?.(request.params as Record<string, string>);
        const needs = mutationNeeds(operation, resource);
        const { caller } = request.record;
        request.record.waits = approvals.concerns(caller) && approvals.waitsBecause(caller, needs) !== undefined;
        for (const need of needs) check(request, need);
      }
      done();
    } catch (error) {
      done(error as Error);
    }
  };

  return { check, hold };
}
