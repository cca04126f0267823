import { createHash } from "node:crypto";
import type { OutgoingMessage } from "#domain/ports/notifications.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { clipText } from "#kernel/text.ts";
import { type HttpRequest, type HttpService, titleAndFacts } from "./http.ts";
import { serviceUrl, toToken } from "./settings.ts";

const maxKeyChars = 255;

/**
 * Names the incident that a message begins, continues with or ends: of one host, one sort of event (the first word of its kind) and one
 * subject. Sending a message again does not open a second one.
 */
function incidentKey({ kind, subject }: Pick<OutgoingMessage, "kind" | "subject">, host: string): string {
  const [sort = ""] = kind.split("_");
  const key = `steward:${host}:${sort}:${subject}`;
  return key.length <= maxKeyChars ? key : `steward:${createHash("sha256").update(key).digest("hex")}`;
}

/** A test opens an incident as well: what resolves one that is not open reaches nobody. */
const isResolution = ({ kind, isGood }: Pick<OutgoingMessage, "kind" | "isGood">): boolean => isGood && kind !== "test";

export interface PagerdutyTarget {
  readonly service: "pagerduty";
  readonly url: string;
  readonly routingKeyFile: string;
}

const maxSummaryUnits = 1024;

function toPayload({ kind, subject, severity = "warning", title, facts, at }: OutgoingMessage, host: string) {
  return {
    summary: clipText(title, maxSummaryUnits),
    source: host,
    severity: kind === "test" ? "info" : severity,
    timestamp: toTimestamp(at),
    component: subject,
    class: kind,
    custom_details: Object.fromEntries(facts),
  };
}

/** https://developer.pagerduty.com/docs/send-alert-event */
export const pagerdutyService = ({ url, routingKeyFile }: PagerdutyTarget, host: string): HttpService => ({
  name: "PagerDuty",
  request(message, read) {
    const isOver = isResolution(message);
    return {
      url: serviceUrl(url, "/v2/enqueue"),
      body: {
        routing_key: toToken(read(routingKeyFile), routingKeyFile),
        event_action: isOver ? "resolve" : "trigger",
        dedup_key: incidentKey(message, host),
        ...(!isOver && { client: "Steward", payload: toPayload(message, host) }),
      },
    };
  },
});

export interface OpsgenieTarget {
  readonly service: "opsgenie";
  readonly url: string;
  readonly apiKeyFile: string;
}

const maxMessageUnits = 130;
const maxDescriptionUnits = 15_000;

const priorityOf = ({ kind, severity }: OutgoingMessage): string => {
  if (kind === "test") return "P5";
  return severity === "critical" ? "P1" : "P3";
};

function toRequest(message: OutgoingMessage, url: string, host: string): HttpRequest {
  const alias = incidentKey(message, host);
  if (isResolution(message))
    return {
      url: serviceUrl(url, `/v2/alerts/${encodeURIComponent(alias)}/close?identifierType=alias`),
      body: { source: host, note: clipText(titleAndFacts(message), maxDescriptionUnits) },
    };
  return {
    url: serviceUrl(url, "/v2/alerts"),
    body: {
      message: clipText(message.title, maxMessageUnits),
      alias,
      description: clipText(titleAndFacts(message), maxDescriptionUnits),
      details: Object.fromEntries(message.facts),
      entity: message.subject,
      source: host,
      tags: ["steward", message.kind],
      priority: priorityOf(message),
    },
  };
}

/** https://docs.opsgenie.com/docs/alert-api */
export const opsgenieService = ({ url, apiKeyFile }: OpsgenieTarget, host: string): HttpService => ({
  name: "Opsgenie",
  request: (message, read) => ({
    ...toRequest(message, url, host),
    headers: { authorization: `GenieKey ${toToken(read(apiKeyFile), apiKeyFile)}` },
  }),
});
