import createClient from "openapi-fetch";
import type { paths } from "./generated/openapi-typescript.ts";

/** What somebody does who has generated the types of a client with openapi-typescript. */
export async function use(baseUrl: string, key: string): Promise<unknown> {
  const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });
  const health = await client.GET("/api/v1/health");
  const cli: boolean | undefined = health.data?.components.cli;

  const missing = await client.GET("/api/v1/health/checks/{check_id}", { params: { path: { check_id: "nothing" } } });

  const create = () =>
    client.POST("/api/v1/auth/keys", {
      params: { header: { "Idempotency-Key": "openapi-typescript" } },
      body: { name: "generated", scopes: ["system:read"] },
    });
  const created = await create();
  const text = created.data !== undefined && "key" in created.data ? created.data.key : "";
  const repeated = await create();

  const planned = await client.POST("/api/v1/auth/tokens", { params: { query: { dry_run: true } }, body: {} });
  // Only a plan has it.
  const steps = planned.data !== undefined && "dry_run" in planned.data ? planned.data.steps.length : undefined;

  const own = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${text}` } });
  const whoami = await own.GET("/api/v1/auth/whoami");
  return {
    isHealthy: cli,
    refusal: missing.error?.error.code,
    created: created.response.status,
    repeated: [repeated.response.status, repeated.response.headers.get("Idempotent-Replayed")],
    steps,
    scopes: whoami.data?.scopes,
  };
}
