import type { Row } from "../row.ts";
import { compareThroughput } from "../throughput.ts";

export const health: Row = {
  name: "health",
  summary: "requests per second of the health status against a bare Fastify route with the same JSON",
  measure: async (options) => [
    await compareThroughput(
      {
        path: "/api/v1/health",
        work: "`GET /health` with key, limits, metrics, log line",
        peer: "bareFastify",
        peerWork: "the same JSON from a bare Fastify route",
        atLeast: 0.6,
      },
      options,
    ),
  ],
};
