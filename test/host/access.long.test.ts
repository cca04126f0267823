import { beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey, Token } from "#contract/auth.ts";
import type { ErrorBody } from "#contract/error-body.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const steady: PackageRecipe = { name: "steady", version: "1.0", place: "main" };
const newer: PackageRecipe = { name: "steady", version: "1.1", place: "security" };
const secret = /st[wt]_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}/;
const spoken = "the database of the shop refused the connection";

/** The connector is never called: a preview sends nothing. */
const settings = [
  "updates: { guard_minutes: 0.05 }",
  "connectors:",
  "  default: local",
  '  list: [{ name: local, provider: ollama, model: tiny, base_url: "http://127.0.0.1:9" }]',
];

interface Asked {
  readonly method?: "DELETE";
  readonly key?: string;
  readonly bearer?: string;
  readonly repetition?: string;
  readonly body?: unknown;
}

describeOnHost("scopes on the installed service", { checks: ["systemd_failed", "security_updates"] }, (session) => {
  const call = async (path: string, { method, key, bearer, repetition, body = {} }: Asked) => {
    const response = await fetch(`${session.service.url}/api/v1${path}`, {
      method: method ?? "POST",
      headers: {
        "Content-Type": "application/json",
        ...(key !== undefined && { "X-API-Key": key }),
        ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
        ...(repetition !== undefined && { "Idempotency-Key": repetition }),
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, text, json: JSON.parse(text) as unknown };
  };
  const keyWith = async (...scopes: readonly string[]): Promise<string> => {
    const { json } = await call("/auth/keys", { key: session.service.adminKey, body: { name: "narrow", scopes } });
    return (json as CreatedKey).key;
  };
  const tokenWith = async (...scopes: readonly string[]): Promise<string> => {
    const { json } = await call("/auth/tokens", { key: session.service.adminKey, body: { scopes } });
    return (json as Token).access_token;
  };
  const missing = async (path: string, key: string, scope: string): Promise<void> => {
    for (const query of ["?dry_run=true", ""]) {
      const { status, json } = await call(`${path}${query}`, { key });
      expect([query, status, json]).toEqual([
        query,
        403,
        {
          error: expect.objectContaining({
            code: "FORBIDDEN",
            details: expect.objectContaining({ required_scope: scope }),
          }),
        },
      ]);
    }
  };

  beforeAll(async () => {
    await session.writeUnits({
      "shop.service": ["[Service]", "Type=oneshot", `ExecStart=/bin/sh -c 'echo ${spoken}; test -e /run/shop'`],
      "other.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/sh -c 'test -e /run/other'"],
    });
    await session.shell("systemctl start shop.service || true");
    await session.host.writeFile("/etc/steward/config.yaml", `${settings.join("\n")}\n`);
    await session.service.restart();
  });

  describe("a token with few scopes gets by repeating", () => {
    it("no token of its whole key", async () => {
      const first = await call("/auth/tokens", { key: session.service.adminKey, repetition: "token" });
      expect([first.status, secret.test(first.text)]).toEqual([200, true]);
      const second = await call("/auth/tokens", { bearer: await tokenWith("system:read"), repetition: "token" });
      // A first call of its own: with its own scopes, and no others.
      expect([second.status, (second.json as Token).scope]).toEqual([200, "system:read"]);
    });

    it("no key that its whole key has made", async () => {
      const body = { name: "made", scopes: ["system:read"], expires_at: new Date(Date.now() + 600_000).toISOString() };
      const first = await call("/auth/keys", { key: session.service.adminKey, repetition: "key", body });
      const { key, id } = first.json as CreatedKey;
      const second = await call("/auth/keys", { bearer: await tokenWith("keys:admin"), repetition: "key", body });
      expect([second.status, second.text.includes(key)]).toEqual([403, false]);
      // Nor does the whole key get it again, also after a restart: it is told what it made.
      for (const restart of [false, true]) {
        if (restart) await session.service.restart();
        const third = await call("/auth/keys", { key: session.service.adminKey, repetition: "key", body });
        expect([third.status, secret.test(third.text)]).toEqual([409, false]);
        expect((third.json as ErrorBody).error.details).toMatchObject({ made: { id }, retryable: false });
      }
      expect(
        await session.shell("grep -rlE 'st[wt]_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}' /var/lib/steward/answers || true"),
      ).toBe("");
    });

    it("no journal lines in an explanation", async () => {
      const path = "/health/checks/systemd_failed/explain?preview=true";
      await eventually(async () => {
        const { text } = await call(path, { key: session.service.adminKey });
        expect(text).toContain(spoken);
      });
      const first = await call(path, { key: session.service.adminKey, repetition: "explain" });
      expect([first.status, first.text.includes(spoken)]).toEqual([200, true]);
      const bearer = await tokenWith("connectors:chat", "health:read");
      const second = await call(path, { bearer, repetition: "explain" });
      expect([second.status, second.text.includes(spoken)]).toEqual([200, false]);
    });
  });

  describe("a fix is no way round", () => {
    it("updates:apply", { timeout: 120_000 }, async () => {
      await makePackageSources(session, [steady, newer]);
      await session.host.exec(["dpkg", "--install", packageFile(steady)]);
      await session.shell("apt-get --quiet update");
      const version = () => session.shell("dpkg-query --show steady | cut -f2");
      const path = "/health/checks/security_updates/fix";
      await missing(path, await keyWith("health:fix:security_updates"), "updates:apply");
      await missing(path, await keyWith("operator"), "updates:apply");
      await missing("/updates/apply", await keyWith("health:fix"), "updates:apply");
      expect(await version()).toBe("1.0\n");
      const { status, json } = await call(path, { key: await keyWith("health:fix:security_updates", "updates:apply") });
      expect([status, json]).toEqual([200, expect.objectContaining({ success: true })]);
      expect(await version()).toBe("1.1\n");
    });

    it("services:restart, on every unit of the plan", async () => {
      await session.shell("systemctl start other.service || true");
      const path = "/health/checks/systemd_failed/fix";
      const failed = () => session.shell("systemctl list-units --failed --plain --no-legend | cut -d' ' -f1");
      const runs = () => session.shell("systemctl show --property=InvocationID shop.service other.service");
      await eventually(async () => expect(await failed()).toBe("other.service\nshop.service\n"));
      const before = await runs();
      await missing(path, await keyWith("health:fix:systemd_failed"), "services:restart");
      const narrowed = await keyWith("health:fix:systemd_failed", "services:restart:shop.service");
      await missing(path, narrowed, "services:restart:other.service");
      expect(await runs()).toBe(before);
      await session.shell("touch /run/shop && systemctl reset-failed other.service");
      await eventually(async () => expect(await failed()).toBe("shop.service\n"));
      const { status, json } = await call(path, { key: narrowed });
      expect([status, json]).toEqual([200, expect.objectContaining({ success: true })]);
      expect(await failed()).toBe("");
    });
  });

  it("keys:admin revokes no key that it could not have made", async () => {
    const { adminKey: admin } = session.service;
    const bearer = await tokenWith("keys:admin");
    const wide = await keyWith("system:read", "services:restart:cron.service");
    const revoke = (key: string, by: Asked) => call(`/auth/keys/${key.slice(4, 12)}`, { ...by, method: "DELETE" });
    for (const [key, required] of [
      [admin, "health:read"],
      [wide, "system:read"],
    ] as const) {
      const { status, json } = await revoke(key, { bearer });
      expect([status, (json as ErrorBody).error.details]).toMatchObject([403, { required_scope: required }]);
    }
    expect((await revoke(await keyWith("keys:admin"), { bearer })).status).toBe(200);
    expect((await revoke(wide, { key: admin })).status).toBe(200);
    expect((await call("/auth/tokens", { key: wide })).status).toBe(401);
  });

  it("two credentials are distinguished from a wrong one, whether they are good or not", async () => {
    const { adminKey: key } = session.service;
    const answers = [
      await call("/auth/tokens", { key, bearer: await keyWith() }),
      await call("/auth/tokens", { key, bearer: "nonsense" }),
      await call("/auth/tokens", { key: "nonsense", bearer: "nothing" }),
    ];
    expect(answers.map(({ status, text }) => [status, text])).toEqual(
      answers.map(() => [401, expect.stringContaining("two different credentials")]),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await call("/auth/tokens", { key: "nonsense" })).text).not.toContain("two different credentials");
  });

  it("/metrics without a key is for programs of this host, and not for what a proxy passes on", async () => {
    const status = async (...argv: readonly string[]): Promise<number> => {
      const curl = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", ...argv, `${session.service.url}/metrics`];
      return Number((await session.host.exec(curl)).stdout);
    };
    expect(await status()).toBe(200);
    const passedOn = [
      "X-Real-IP: 192.0.2.60",
      "X-Forwarded-Proto: https",
      "CF-Connecting-IP: 192.0.2.60",
      "Via: 1.1 www",
    ];
    for (const header of passedOn) expect([header, await status("-H", header)]).toEqual([header, 401]);
    // nginx sends neither, by default.
    expect(await status("--http1.0", "-H", "Host: steward_upstream")).not.toBe(200);
  });
});
