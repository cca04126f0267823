import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { apiBase } from "#contract/limits.ts";
import { scopes } from "#contract/scopes.ts";
import { runInProcess } from "./cli-run.ts";
import { send, type TestRequest } from "./harness.ts";
import { type MutableService, startMutableService } from "./mutations.ts";

let service: MutableService;
beforeEach(async () => {
  service = await startMutableService();
  service.plugins.directories.put("tool");
  const request = (path: string, body: unknown): TestRequest => ({
    ...{ method: "POST", path: `${apiBase}${path}`, key: service.admin, body },
  });
  await send(service, request("/updates/snapshots", { description: "one" }));
  await send(service, request("/alerts/silences", { alert: "DiskSpaceLow", until: "2026-01-02T00:00:00Z" }));
});
afterEach(() => service.app.close());

const steward = async (argv: readonly string[]) => {
  const url = await (service.app.server.listening
    ? `http://127.0.0.1:${(service.app.server.address() as { port: number }).port}`
    : service.app.listen({ host: "127.0.0.1", port: 0 }));
  return runInProcess(argv, { environment: { STEWARD_URL: url, STEWARD_API_KEY: service.admin } });
};
const get = async (path: string, key = service.admin) => send(service, { path: `${apiBase}${path}`, key });

describe.each([
  ["/plugins", "plugins", "name", "plugins:read", ["plugins", "show"]],
  ["/connectors", "connectors", "name", "connectors:read", ["connectors", "show"]],
  ["/updates/snapshots", "snapshots", "id", "updates:read", ["snapshots", "show"]],
  ["/auth/keys", "keys", "id", "keys:admin", ["keys", "show"]],
  ["/alerts", "alerts", "name", "metrics:read", ["alerts", "show"]],
  ["/alerts/silences", "silences", "id", "metrics:read", ["alerts", "silences"]],
] as const)("one of %s", (path, members, id, scope, command) => {
  const listed = async (): Promise<Record<string, string>> => {
    const { json } = await get(path);
    const [first] = (json as Readonly<Record<string, readonly Record<string, string>[]>>)[members] ?? [];
    if (first === undefined) throw new Error(`${path} is empty`);
    return first;
  };

  it("is the entry of the list, for keys that may read the list", async () => {
    const item = await listed();
    const { status, json } = await get(`${path}/${item[id]}`, service.key([scope]));
    expect([status, json]).toEqual([200, item]);
  });

  it("is 403 without the scope whether or not it exists, and else 404", async () => {
    const item = await listed();
    const others = service.key(scopes.filter((each) => each !== scope));
    const refused = [await get(`${path}/${item[id]}`, others), await get(`${path}/none`, others)];
    expect(refused.map(({ status }) => status)).toEqual([403, 403]);
    expect(refused[0]?.text).toBe(refused[1]?.text);
    expect(await get(`${path}/none`)).toMatchObject({ status: 404, json: { error: { code: "NOT_FOUND" } } });
  });

  it("is printed by the command line", async () => {
    const item = await listed();
    const plain = await steward([...command, item[id] ?? ""]);
    expect([plain.code, plain.out]).toEqual([0, expect.stringContaining(`${id} `)]);
    expect(plain.out).toContain(item[id]);
    const json = await steward([...command, item[id] ?? "", "--json"]);
    expect(JSON.parse(json.out)).toEqual(item);
  });
});
