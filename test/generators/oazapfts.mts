import { createKey, createToken, defaults, getCheck, getHealth, whoami } from "./generated/oazapfts.ts";

/** What somebody does who has generated a client with oazapfts. */
export async function use(baseUrl: string, key: string): Promise<unknown> {
  Object.assign(defaults, { baseUrl, headers: { "X-API-Key": key } });
  const health = await getHealth();
  const cli: boolean | undefined = health.status === 200 ? health.data.components.cli : undefined;

  const missing = await getCheck("nothing");

  const create = () => createKey({ name: "generated", scopes: ["system:read"] }, { idempotencyKey: "oazapfts" });
  const created = await create();
  const text = created.status === 201 ? created.data.key : "";
  const repeated = await create();

  const planned = await createToken({}, { dryRun: true });
  // Only a plan has it.
  const steps = planned.status === 200 && "dry_run" in planned.data ? planned.data.steps.length : undefined;

  const own = await whoami({ headers: { "X-API-Key": text } });
  return {
    isHealthy: cli,
    refusal: missing.status === 404 ? missing.data.error.code : undefined,
    created: created.status,
    repeated: [repeated.status, repeated.headers.get("Idempotent-Replayed")],
    steps,
    scopes: own.status === 200 ? own.data.scopes : undefined,
  };
}
