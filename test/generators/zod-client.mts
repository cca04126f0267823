import { isErrorFromAlias } from "@zodios/core";
import { isAxiosError } from "axios";
import { api, createApiClient } from "./generated/zod-client.ts";

const caught = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

/** What somebody does who has generated a client with openapi-zod-client, which checks every answer of the service. */
export async function use(baseUrl: string, key: string): Promise<unknown> {
  const clientOf = (credential: string, validate: boolean | "request" = true) =>
    createApiClient(baseUrl, { axiosConfig: { headers: { "X-API-Key": credential } }, validate });
  const client = clientOf(key);
  // It knows one schema for all successes, that of 200, and takes the one of 201 for a fault.
  const creating = clientOf(key, "request");
  let status: number | undefined;
  creating.axios.interceptors.response.use((answer) => {
    ({ status } = answer);
    return answer;
  });
  const health = await client.getHealth();
  const cli: boolean | undefined = health.components.cli;

  const missing = await caught(client.getCheck({ params: { check_id: "nothing" } }));
  const refusal = isErrorFromAlias(api.api, "getCheck", missing) ? missing.response.data.error.code : undefined;

  const create = () =>
    creating.createKey(
      { name: "generated", scopes: ["system:read"] },
      { headers: { "Idempotency-Key": "zod-client" } },
    );
  const created = await create();
  const createdWith = status;
  // Of alternatives it does not know the members.
  const text = "key" in created ? String(created.key) : "";
  const repeated = await caught(create());
  const answer = isAxiosError(repeated) ? repeated.response : undefined;

  const planned = await client.createToken({}, { queries: { dry_run: true } });
  // Only a plan has it.
  const steps = "steps" in planned && Array.isArray(planned.steps) ? planned.steps.length : undefined;

  const own = await clientOf(text).whoami();
  return {
    isHealthy: cli,
    refusal,
    created: createdWith,
    repeated: [answer?.status, answer?.headers["idempotent-replayed"]],
    steps,
    scopes: own.scopes,
  };
}
