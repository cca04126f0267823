import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { reloadSettings } from "./support/reload.ts";
import { type RunningService, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const file = workspace.path("settings.yaml");
const write = (windows: string): void => writeFileSync(file, `updates: { enabled: false }\n${windows}`);
/** Opens again before it closes. */
const always = "cron: '* * * * *', duration: 5m";

const ask = async (
  { url, adminKey }: RunningService,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly [number, unknown]> => {
  const response = await fetch(`${url}/api/v1/auth/keys${path}`, {
    method: "POST",
    headers: { "X-API-Key": adminKey, "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ name: "made", scopes: ["system:read"] }),
  });
  return [response.status, await response.json()];
};

const refused = [409, { error: { code: "CONFLICT", details: { reason: "outside_window", window: "freeze" } } }];

it("windows are read again at SIGHUP, hold back what was planned, and are overridden with a reason that is audited", async () => {
  write("");
  const service = await startService(workspace, { environment: { STEWARD_CONFIG: file } });
  const [, plan] = await ask(service, "?dry_run=true");
  const { plan_token: token } = plan as { readonly plan_token: string };
  write(`windows: [{ name: freeze, ${always}, deny: [keys:admin] }]\n`);
  await reloadSettings(service);
  expect(await ask(service, "")).toMatchObject(refused);
  expect(await ask(service, "", { "X-Plan-Token": token })).toMatchObject(refused);
  expect(await ask(service, "?dry_run=true")).toMatchObject([200, { outside_window: { window: "freeze" } }]);

  write("windows: [{ name: freeze, cron: '61 * * * *', duration: 5m, deny: [keys:admin] }]\n");
  await reloadSettings(service, "settings not reloaded");
  expect(await ask(service, "")).toMatchObject(refused);

  // The plan is still the same one: it was held back, not used.
  const override = { "X-Plan-Token": token, "X-Window-Override": "a colleague needs it" };
  expect(await ask(service, "", override)).toMatchObject([201, { name: "made" }]);
  const log = readFileSync(join(service.stateDir, "audit", "audit-000000000001.log"), "utf8");
  const entries = log
    .trim()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { readonly operation: string; readonly outcome: string; readonly target: object },
    );
  expect(entries.findLast(({ operation }) => operation === "createKey")).toMatchObject({
    outcome: "ok",
    target: { window: "freeze", window_override: "a colleague needs it" },
  });

  write("");
  await reloadSettings(service);
  expect(await ask(service, "")).toMatchObject([201, { name: "made" }]);
});
