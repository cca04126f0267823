import { createClient } from "./generated/hey-api/client/index.ts";
import { createKey, createToken, getCheck, getHealth, whoami } from "./generated/hey-api/index.ts";

/** What somebody does who has generated a client with @hey-api/openapi-ts. */
export async function use(baseUrl: string, key: string): Promise<unknown> {
  const client = createClient({ baseUrl, auth: key });
  const health = await getHealth({ client });
  const cli: boolean | undefined = health.data?.components.cli;

  const missing = await getCheck({ client, path: { check_id: "nothing" } });

  const create = () =>
    createKey({
      client,
      headers: { "Idempotency-Key": "hey-api" },
      body: { name: "generated", scopes: ["system:read"] },
    });
  const created = await create();
  const text = created.data !== undefined && "key" in created.data ? created.data.key : "";
  const repeated = await create();

  const planned = await createToken({ client, query: { dry_run: true }, body: {} });
  // Only a plan has it.
  const steps = planned.data !== undefined && "dry_run" in planned.data ? planned.data.steps.length : undefined;

  const own = await whoami({ client: createClient({ baseUrl, auth: text }) });
  return {
    isHealthy: cli,
    refusal: missing.error?.error.code,
    created: created.response?.status,
    repeated: [repeated.response?.status, repeated.response?.headers.get("Idempotent-Replayed")],
    steps,
    scopes: own.data?.scopes,
  };
}
