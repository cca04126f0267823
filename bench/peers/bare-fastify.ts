import { fastify } from "fastify";

/** The least that answers the same: a route of Fastify with a response schema, and nothing around it. */
const port = Number(process.argv[2]);
const startedAtMs = performance.now();

const boolean = { type: "boolean" };
const response = {
  200: {
    type: "object",
    properties: {
      status: { type: "string" },
      version: { type: "string" },
      uptime_seconds: { type: "integer" },
      components: { type: "object", properties: { cli: boolean, ops: boolean, llm: boolean, security: boolean } },
    },
  },
};
const liveness = { 200: { type: "object", properties: { status: { type: "string" } } } };

const app = fastify({ logger: false });
app.get("/livez", { schema: { response: liveness } }, () => ({ status: "ok" }));
app.get("/api/v1/health", { schema: { response } }, () => ({
  status: "healthy",
  version: "0.1.0",
  uptime_seconds: Math.floor((performance.now() - startedAtMs) / 1000),
  components: { cli: true, ops: false, llm: false, security: true },
}));
// Ended in order, so that Node keeps the compiled code for the next start.
process.once("SIGTERM", () => void app.close().then(() => process.exit(0)));
await app.listen({ host: "127.0.0.1", port });
