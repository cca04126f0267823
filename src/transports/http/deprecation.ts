import type { FastifyRequest, onRequestHookHandler } from "fastify";
import type { Deprecation } from "#contract/deprecation.ts";
import { apiBase } from "#contract/limits.ts";
import type { Clock } from "#kernel/clock.ts";
import { isRecord } from "#kernel/values.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";

/** The policy, and what is deprecated. */
const documentation = `<${apiBase}/docs>; rel="deprecation"; type="text/html"`;

const midnight = (day: string): Date => new Date(`${day}T00:00:00Z`);

function linksOf({ successor }: Deprecation, params: unknown): string {
  if (successor === undefined) return documentation;
  const given = isRecord(params) ? params : {};
  const path = successor.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given[name])));
  return `<${apiBase}${path}>; rel="successor-version", ${documentation}`;
}

/** Has every answer of an operation say that it is to go (RFC 9745), when (RFC 8594), and what takes its place (RFC 5829). */
export function announceDeprecation(deprecation: Deprecation): onRequestHookHandler {
  const since = `@${midnight(deprecation.since).getTime() / 1000}`;
  const sunset = midnight(deprecation.sunset).toUTCString();
  return (request, reply, done) => {
    reply.headers({ deprecation: since, sunset, link: linksOf(deprecation, request.params) });
    done();
  };
}

const dayMs = 24 * 60 * 60 * 1000;

/** Counts the uses of deprecated operations, and logs each key once a day for each of them. */
export function createDeprecatedUses(ports: {
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "deprecatedRequest">;
}): (request: FastifyRequest) => void {
  const { clock, log, metrics } = ports;
  let logged = new Set<string>();
  let day = Number.NaN;
  return ({ record }) => {
    const { name, operation } = record.route?.audit ?? {};
    if (name === undefined || operation?.deprecated === undefined || !record.isAdmitted) return;
    metrics.deprecatedRequest(name);
    const today = Math.floor(clock.now() / dayMs);
    if (today !== day) logged = new Set();
    day = today;
    const keyId = record.caller?.keyId;
    const use = `${name} ${keyId ?? ""}`;
    if (logged.has(use)) return;
    logged.add(use);
    const { sunset, instead } = operation.deprecated;
    log.warn({ operation: name, key_id: keyId, sunset, instead }, "a deprecated operation is in use");
  };
}
