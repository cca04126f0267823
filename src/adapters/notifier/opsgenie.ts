import type { OutgoingMessage } from "#domain/ports/notifications.ts";
import type { HttpRequest, HttpService } from "./http.ts";
import { incidentKey, isResolution } from "./incident.ts";
import { serviceUrl, toToken } from "./settings.ts";
import { clip, titleAndFacts } from "./text.ts";

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
      body: { source: host, note: clip(titleAndFacts(message), maxDescriptionUnits) },
    };
  return {
    url: serviceUrl(url, "/v2/alerts"),
    body: {
      message: clip(message.title, maxMessageUnits),
      alias,
      description: clip(titleAndFacts(message), maxDescriptionUnits),
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
