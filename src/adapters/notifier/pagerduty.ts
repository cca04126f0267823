import type { OutgoingMessage } from "#domain/ports/notifications.ts";
import { toTimestamp } from "#kernel/clock.ts";
import type { HttpService } from "./http.ts";
import { incidentKey, isResolution } from "./incident.ts";
import { serviceUrl, toToken } from "./settings.ts";
import { clip } from "./text.ts";

export interface PagerdutyTarget {
  readonly service: "pagerduty";
  readonly url: string;
  readonly routingKeyFile: string;
}

const maxSummaryUnits = 1024;

function toPayload({ kind, subject, severity = "warning", title, facts, at }: OutgoingMessage, host: string) {
  return {
    summary: clip(title, maxSummaryUnits),
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
