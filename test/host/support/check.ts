import { fileURLToPath } from "node:url";
import type { CheckSettings, Outcome } from "#domain/health/check.ts";
import type { Session } from "./session.ts";

const checkout = "/opt/steward";
const script = fileURLToPath(new URL("./run-check.ts", import.meta.url)).replace(/^.*(?=\/test\/host\/)/, checkout);

/** Runs a check inside the host against what is really there. */
export async function runCheck(
  { host }: Pick<Session, "host">,
  id: string,
  settings: Partial<CheckSettings> = {},
): Promise<Outcome> {
  const node = `${checkout}/node_modules/.bin/node`;
  const { stdout } = await host.exec([node, script, id, JSON.stringify(settings)]);
  return JSON.parse(stdout) as Outcome;
}
