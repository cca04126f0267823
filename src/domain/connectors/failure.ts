import type { ConnectorStatus } from "#contract/connectors.ts";
import { DomainError } from "#domain/common/error.ts";
import { type ConnectorDefinition, ProviderFailed } from "#domain/ports/connectors.ts";

export const timeUp = (limitMs: number): ProviderFailed =>
  new ProviderFailed(`no answer within ${limitMs / 1000} s`, { failure: "silent", isRetryable: true });

export const statusOf = ({ failure }: ProviderFailed): ConnectorStatus =>
  failure === "refused" || failure === "unreadable" ? "error" : "disconnected";

/** Refusals that concern the request, not the connector. */
const ofTheCall: readonly (number | null)[] = [400, 413, 422];
export const isOfTheCall = ({ failure, status }: ProviderFailed): boolean =>
  failure === "refused" && ofTheCall.includes(status);

/** Whether the provider may have counted tokens although there is no answer. */
export const mayHaveCost = (error: unknown): boolean =>
  !(error instanceof ProviderFailed) || error.failure === "silent" || error.failure === "unreadable";

export function toUnavailable(connector: string, error: ProviderFailed): DomainError {
  const { message, status, isRetryable, retryAfterMs } = error;
  const details = {
    connector,
    provider_status: status,
    retryable: isRetryable,
    ...(retryAfterMs !== null && { retry_after_seconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) }),
  };
  return new DomainError("UNAVAILABLE", `cannot get an answer from connector ${connector}: ${message}`, details, error);
}

/** No answer, and the provider is not the reason. */
const unanswered = (connector: string | null, message: string, retryable = true): DomainError =>
  new DomainError("UNAVAILABLE", message, { connector, provider_status: null, retryable });

export const cutShort = (connector: string): DomainError =>
  unanswered(connector, `cannot wait for connector ${connector}: the service is stopping`);

/** The time limit is over, mostly because the client read slowly. */
export const takenTooSlowly = (connector: string, limitMs: number): DomainError =>
  unanswered(
    connector,
    `cannot continue with the answer of connector ${connector}: it was not read within ${limitMs / 1000} s`,
  );

/** @param wanted the configured default that is missing; null without one. */
export function noDefault(wanted: string | null): DomainError {
  const reason =
    wanted === null
      ? "there is no connector (add one under connectors.list in the settings file)"
      : `the default connector ${wanted} was not found (start it, or name another connector)`;
  return unanswered(wanted, `cannot choose a connector: ${reason}`, wanted !== null);
}

export const notConfigured = ({ name }: ConnectorDefinition, missing: string): DomainError =>
  unanswered(name, `cannot use connector ${name}: it is not configured (${missing})`, false);
