import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";

/** Components that are probed every 30 s. */
export const componentNames = ["cli", "ops", "llm", "security"] as const;
export type ComponentName = (typeof componentNames)[number];

export const HealthStatus = Type.Object({
  status: Type.Unsafe<"healthy" | "degraded" | "unhealthy">({
    type: "string",
    enum: ["healthy", "degraded", "unhealthy"],
    description:
      "`unhealthy`: a check of severity `critical` fails, or a component `ops` or `security` that the host should have is false. `degraded`: any other check warns or fails, or any other expected component is false. Else `healthy`.",
  }),
  version: Type.String({ description: "Version of the service." }),
  uptime_seconds: Type.Integer({ description: "Seconds since start." }),
  components: Type.Object(
    {
      cli: Type.Boolean({ description: "The local endpoint that the command line uses answers." }),
      ops: Type.Boolean({ description: "The system bus and the package manager answer." }),
      llm: Type.Boolean({
        description: "The default connector's last probe succeeded; false when none is configured.",
      }),
      security: Type.Boolean({
        description:
          "The key store is private and readable, the audit log can be written, TLS is on where the address asks for it.",
      }),
    },
    {
      additionalProperties: Type.Boolean(),
      description: "Whether each component is healthy, those that settings add beside these four. Probed every 30 s.",
    },
  ),
  details: Type.Optional(
    Type.Object(
      { checks: Type.Literal("starting", { description: "Some checks have no result yet." }) },
      { description: "While there is a check that has never run on this host, which `status` cannot count yet." },
    ),
  ),
});
export type HealthStatus = Static<typeof HealthStatus>;

export const Liveness = Type.Object({
  status: Type.Literal("ok", { description: "Always this, as long as the process answers." }),
});
export const Readiness = Type.Object({
  status: Type.Literal("ok", { description: "Always this; while it is not ready the answer is 503." }),
  checks: Type.Optional(
    Type.Literal("starting", { description: "While there is a check that has never run on this host." }),
  ),
});

export const health = {
  getHealth: {
    method: "GET",
    path: "/health",
    tag: "Health",
    summary: "Overall health status",
    description:
      "Always answers 200; `status` and `components` say how the host and the service are. `unhealthy`: a check of severity `critical` fails, or `ops` or `security` is false where the host should have it. `degraded`: another check warns or fails, or another component that there should be is false. By the last results, those from before a restart included: nothing is run for it.",
    scope: "health:read",
    effect: "read",
    fromMemory: true,
    response: HealthStatus,
    errors: [],
  },
  getLiveness: {
    method: "GET",
    path: "/livez",
    base: "root",
    tag: "Health",
    summary: "The process answers",
    scope: "public",
    effect: "read",
    response: Liveness,
    errors: [],
  },
  getReadiness: {
    method: "GET",
    path: "/readyz",
    base: "root",
    tag: "Health",
    summary: "The service is ready for requests",
    description: "503 while it starts or shuts down.",
    scope: "public",
    effect: "read",
    response: Readiness,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;

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
    response: Type.String({
      examples: [
        [
          "# HELP svc_requests_total Requests answered.",
          "# TYPE svc_requests_total counter",
          'svc_requests_total{method="GET",endpoint="/api/v1/health",status="200"} 42',
          "",
        ].join("\n"),
      ],
    }),
    mediaType: "text/plain",
    errors: [],
  },
} as const satisfies Operations;
