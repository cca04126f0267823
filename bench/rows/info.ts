import type { Row } from "../row.ts";
import { compareThroughput } from "../throughput.ts";

export const info: Row = {
  name: "info",
  summary: "requests per second of the host information against a bare route that reads the same files",
  measure: async (options) => [
    await compareThroughput(
      {
        path: "/api/v1/system/info",
        work: "`GET /system/info` with key, limits, metrics, log line",
        peer: "bareInfo",
        peerWork: "a bare Fastify route that reads the same files",
        atLeast: 0.7,
      },
      options,
    ),
  ],
};
