import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { exchange } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

/** Every place of a request in which somebody may put a credential, rightly or not. */
function requestsWith(secret: string): readonly string[] {
  const line = (start: string, headers = "", body = ""): string =>
    `${start} HTTP/1.1\r\nHost: localhost\r\n${headers}${body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`}\r\n${body}`;
  const key = `X-API-Key: ${secret}\r\n`;
  const bodies = [
    `{"name":"${secret}","scopes":["${secret}"]}`,
    `{"name":"a","scopes":[],"${secret}":1}`,
    `{"name":"a","scopes":[],"expires_at":"${secret}"}`,
    `{"api_key":"${secret}"}`,
    `{"code":"${secret}"}`,
    `{"key":"${secret}"}`,
    `{"${secret}`,
    secret,
  ];
  const headers = [
    "Cookie: api_key=",
    "User-Agent: ",
    "Referer: http://localhost/?api_key=",
    "X-Forwarded-For: ",
    "X-Request-Id: ",
    "Authorization: Basic ",
    "Authorization: Token ",
    "X-Api-Keys: ",
    "Content-Type: ",
    "Origin: http://",
    "Traceparent: ",
    "Expect: ",
  ];
  const places = ["/api/v1/auth/whoami", "/metrics", "/livez", "/nothing", "/%"];
  return [
    ...places.flatMap((path) => [
      line(`GET ${path}`, key),
      line(`GET ${path}`, `Authorization: Bearer ${secret}\r\n`),
      line(`GET ${path}`, `${key}Authorization: Bearer other\r\n`),
      line(`GET ${path}`, `X-API-Key: ${secret}x\r\n`),
      line(`GET ${path}?api_key=${secret}`),
      line(`GET ${path}?api_key=${secret}`, key),
      line(`GET ${path}?${secret}=1#${secret}`, key),
      line(`TRACE ${path}`, key),
      line(`GET ${path}`, `X-Steward-Session: ${secret}\r\nCookie: steward=${secret}\r\n`),
      line(`GET ${path}?ticket=${secret}`, `Cookie: steward=${secret}\r\n`),
    ]),
    ...[key, ""].flatMap((credential) => [
      line(`GET /${secret}`, credential),
      line(`GET /api/v1/${secret}/%`, credential),
      line(`DELETE /api/v1/auth/keys/${secret}`, credential),
      line(`DELETE /api/v1/auth/keys/x${secret}x?api_key=${secret}`, credential),
      line(`DELETE /api/v1/auth/keys/${secret.replaceAll("_", "%5f")}`, credential),
      line(`DELETE /api/v1/auth/keys/${secret.slice(4)}`, credential),
      line(`DELETE /api/v1/auth/keys/${secret.split("_").at(-1) ?? ""}`, credential),
      line(`DELETE /api/v1/auth/keys/${secret.slice(0, -6)}`, credential),
      line(`DELETE /api/v1/auth/sessions/${secret}`, credential),
      line(`GET /api/v1/ws/health?ticket=${secret}`, `${credential}Cookie: steward=${secret}\r\n`),
      line(`POST /api/v1/system/services/${secret}/restart`, credential),
      line(`POST /api/v1/system/services/${secret}/restart?dry_run=${secret}`, credential),
      ...bodies.flatMap((body) => [
        line("POST /api/v1/auth/keys?dry_run=true", credential, body),
        line("POST /api/v1/auth/tokens?dry_run=true", credential, body),
        line("POST /nothing", credential, body),
        line("POST /api/v1/auth/sessions", credential, body),
        line("POST /api/v1/auth/sessions/elevate", credential, body),
      ]),
      ...headers.map((header) => line("GET /api/v1/auth/whoami", `${credential}${header}${secret}\r\n`)),
    ]),
    `GET /livez HTTP/1.1\r\nHost: ${secret}\r\n\r\n`,
    `GET http://${secret}/livez HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `${secret} /livez HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `CONNECT ${secret}:1 HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `${secret}\r\n\r\n`,
    `GET /livez HTTP/1.1\r\n${secret}\r\n\r\n`,
  ];
}

/** Both halves of a session, before and after its elevation, a ticket of it that was used, and codes, used and not. */
async function ofSession({ url, adminKey }: RunningService): Promise<readonly string[]> {
  const post = async (path: string, body?: object, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${url}/api/v1/auth/${path}`, {
      method: "POST",
      headers: { ...(body && { "Content-Type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Readonly<Record<"secret" | "code" | "ticket", string>>;
    return { ...json, cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "" };
  };
  const key = { "X-API-Key": adminKey };
  const [used, unused] = [(await post("codes", undefined, key)).code, (await post("codes", undefined, key)).code];
  const session = ({ cookie, secret }: { readonly cookie: string; readonly secret: string }) => ({
    ...{ Cookie: cookie, "X-Steward-Session": secret, Origin: url },
  });
  const first = await post("sessions", { code: used });
  const second = await post("sessions/elevate", { key: adminKey }, session(first));
  const { ticket } = await post("tickets", undefined, session(second));
  await fetch(`${url}/api/v1/ws/health?ticket=${ticket}`, { headers: { Cookie: second.cookie } });
  const all = [used, unused, ticket, ...[first, second].flatMap(({ cookie, secret }) => [cookie, secret])];
  for (const each of all) if (!/st[hsck]_\w{8}_\w{49}$/.test(each)) throw new Error(`not a credential: ${each}`);
  return all.map((each) => each.replace(/^.*=/, ""));
}

describe("credentials", () => {
  let service: RunningService;
  const credentials: string[] = [];
  let goodKey: string;

  beforeAll(async () => {
    service = await startService(workspace, {
      checks: true,
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_LOG_LEVEL: "trace" },
    });
    const client = createClient({ url: service.url, key: service.adminKey });
    const revoked = await client.createKey({ body: { name: "revoked", scopes: ["system:read"] } });
    await client.revokeKey({ params: { id: revoked.id } });
    const { key } = await client.createKey({ body: { name: "good", scopes: ["viewer"] } });
    const { access_token: token } = await client.createToken({ body: { expires_in: 600 } });
    const wrong = `stw_Ab3dE6gH_${"Zq".repeat(24)}Z`;
    credentials.push(service.adminKey, key, token, revoked.key, wrong, ...(await ofSession(service)));
    goodKey = key;
    await Promise.all(
      credentials.map(async (credential, turn) => {
        // Failed logins are counted for each address.
        for (const [at, request] of requestsWith(credential).entries())
          await exchange(service.port, request, { localAddress: `127.0.${4 + turn}.${1 + (at % 200)}` });
      }),
    );
  });

  /** What must not be seen: the secret, with and without its checksum. */
  const secrets = () => credentials.map((credential) => credential.split("_").at(-1)?.slice(0, 43) ?? "none");
  const seenIn = (text: string) => {
    const lines = text.split("\n");
    // A few are enough to see where they come from.
    return secrets().flatMap((secret) => lines.filter((line) => line.includes(secret)).slice(0, 3));
  };

  it("are never in the log, and of what was tried the audit log has all but the secret", () => {
    expect(service.lines().length).toBeGreaterThan(200);
    expect(seenIn(service.stdout() + service.stderr())).toEqual([]);
    const audit = readFileSync(join(service.stateDir, "audit/audit-000000000001.log"), "utf8");
    expect(audit.split("\n").length).toBeGreaterThan(50);
    expect(seenIn(audit)).toEqual([]);
    const { adminKey } = service;
    const target = `${adminKey.slice(0, 13)}[secret]`;
    expect(audit).toMatch(new RegExp(`"key_id":"${adminKey.slice(4, 12)}",.*"remote_address":"127\\.0\\.4\\.`));
    expect(audit).toContain(`"target":{"id":"${target}"}`);
    expect(audit).toMatch(new RegExp(`"status":403,.*"key_id":"${goodKey.slice(4, 12)}"`));
  });

  it("are never in the title, the command line or the environment of the process", () => {
    for (const name of ["cmdline", "comm", "environ", "status"])
      expect({ name, seen: seenIn(readFileSync(`/proc/${service.pid}/${name}`, "utf8")) }).toEqual({ name, seen: [] });
  });

  it("are never in the service's own traces, in the metrics or in the list of keys", async () => {
    const client = createClient({ url: service.url, key: service.adminKey });
    const { traces } = await client.listTraces({ query: { limit: 1000 } });
    expect(traces.length).toBeGreaterThan(0);
    for (const { trace_id } of traces)
      expect(seenIn(JSON.stringify(await client.getTrace({ params: { trace_id } })))).toEqual([]);
    expect(seenIn(await (await fetch(`${service.url}/metrics`)).text())).toEqual([]);
    expect(seenIn(JSON.stringify(await client.listKeys()))).toEqual([]);
  });

  it("are in no file of the state directory but the admin key's", () => {
    const entries = readdirSync(service.stateDir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const names = files.map(({ parentPath, name }) => relative(service.stateDir, join(parentPath, name)));
    const holding = names.filter((name) => seenIn(readFileSync(join(service.stateDir, name), "latin1")).length > 0);
    expect(holding).toEqual(["admin.key"]);
  });
});
