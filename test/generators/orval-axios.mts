import axios from "axios";
import { type ErrorBody, getSteward } from "./generated/orval-axios.ts";

/** What somebody does who has generated a client with orval. */
export async function use(baseURL: string, key: string): Promise<unknown> {
  const clientOf = (credential: string) =>
    getSteward(axios.create({ baseURL, headers: { "X-API-Key": credential }, validateStatus: () => true }));
  const client = clientOf(key);
  const health = await client.getHealth();
  const cli: boolean = health.data.components.cli;

  const missing = await client.getCheck("nothing");
  // It has types of successes alone.
  const refusal = missing.status === 404 ? (missing.data as unknown as ErrorBody).error.code : undefined;

  const create = () =>
    client.createKey({ name: "generated", scopes: ["system:read"] }, undefined, {
      headers: { "Idempotency-Key": "orval" },
    });
  const created = await create();
  const text = "key" in created.data ? created.data.key : "";
  const repeated = await create();

  const planned = await client.createToken({}, { dry_run: true });
  // Only a plan has it.
  const steps = "dry_run" in planned.data ? planned.data.steps.length : undefined;

  const own = await clientOf(text).whoami();
  return {
    isHealthy: cli,
    refusal,
    created: created.status,
    repeated: [repeated.status, repeated.headers["idempotent-replayed"]],
    steps,
    scopes: own.data.scopes,
  };
}
