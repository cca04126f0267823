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
      cli: Type.Boolean({ description: "Whether the local endpoint that the command line uses answers." }),
      ops: Type.Boolean({ description: "Whether the system bus and the package manager answer." }),
      llm: Type.Boolean({
        description: "Whether the last probe of the default connector succeeded; false if none is configured.",
      }),
      security: Type.Boolean({
        description:
          "Whether the key store is private and readable, the audit log can be written, and TLS is on if the address requires it.",
      }),
    },
    {
      additionalProperties: Type.Boolean(),
      description: "Whether each component is healthy: these four and those that the settings add. Probed every 30 s.",
    },
  ),
  details: Type.Optional(
    Type.Object(
      { checks: Type.Literal("starting", { description: "Some checks have no result yet." }) },
      { description: "Present while a check has never run on this host; `status` does not count such a check." },
    ),
  ),
});
export type HealthStatus = Static<typeof HealthStatus>;

export const Liveness = Type.Object({
  status: Type.Literal("ok", { description: "Always `ok`, as long as the process answers." }),
});
export const Readiness = Type.Object({
  status: Type.Literal("ok", { description: "Always `ok`; while the service is not ready, the answer is 503." }),
  checks: Type.Optional(Type.Literal("starting", { description: "Present while a check has never run on this host." })),
});

export const health = {
  getHealth: {
    method: "GET",
    path: "/health",
    tag: "Health",
    summary: "Overall health status",
    description:
      "Always answers 200; `status` and `components` give the state of the host and the service. `unhealthy`: a check of severity `critical` fails, or a component `ops` or `security` that the host should have is false. `degraded`: any other check warns or fails, or any other expected component is false. Based on the last results, including those from before a restart: no check is run for it.",
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
    description: "Answers 503 while the service starts or shuts down.",
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
      "Prometheus text format 0.0.4. A peer on loopback that sends no forwarding header needs no key, unless `metrics.public` says otherwise. Does not count towards rate limits.",
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
