import { Type } from "typebox";
import type { Operations } from "./operation.ts";

export const observability = {
  getMetrics: {
    method: "GET",
    path: "/metrics",
    base: "root",
    tag: "Observability",
    summary: "Prometheus metrics",
    description:
      "Prometheus text format 0.0.4. Without a key for a peer on loopback that sends no forwarding header, unless `metrics.public` says otherwise. Costs no budget.",
    scope: "metrics:read",
    openToLoopback: true,
    effect: "read",
    response: Type.String(),
    mediaType: "text/plain",
    errors: [],
  },
} as const satisfies Operations;
