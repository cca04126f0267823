import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("alerts of a host", { checks: [] }, (session) => {
  let server: Server;
  let port: number;
  const texts: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      request.on("end", () => {
        texts.push(String((JSON.parse(body) as { text?: string }).text));
        response.end("ok");
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const start = () =>
    session.host.startService({
      config: [
        "updates: { enabled: false }",
        "probes: { list: [{ name: jobs, unit: cron.service }, { name: nothing, unit: no-such.service }] }",
        "notifications: { chat: { webhook_url_file: /etc/steward-webhook } }",
        "",
      ].join("\n"),
      env: { STEWARD_RATE_LIMITS: "off" },
    });

  it("tell by chat of a unit that does not run, and once it runs again", async () => {
    await session.host.writeFile("/etc/steward-webhook", `http://127.0.0.1:${port}/hook\n`);
    await session.shell("chown steward /etc/steward-webhook; chmod 600 /etc/steward-webhook; systemctl stop cron");
    await start();
    await eventually(() => {
      expect(texts.filter((text) => text.includes("jobs is unhealthy"))).toEqual([
        expect.stringContaining("cron.service is inactive (dead)"),
      ]);
      expect(texts.filter((text) => text.includes("nothing is unhealthy"))).toEqual([
        expect.stringContaining("there is no unit no-such.service"),
      ]);
      return Promise.resolve();
    });
    await session.shell("systemctl start cron");
    await start();
    await eventually(() => {
      expect(texts.filter((text) => text.includes("jobs is healthy again"))).toHaveLength(1);
      return Promise.resolve();
    });
    expect(texts.filter((text) => text.includes("nothing"))).toHaveLength(1);
  });

  it("are evaluated by the host's own figures", async () => {
    const { url, adminKey: key } = await start();
    const { alerts } = await eventually(async () => {
      const answer = await createClient({ url, key }).listAlerts();
      expect(answer.alerts[0]?.value).not.toBeNull();
      return answer;
    });
    const values = Object.fromEntries(alerts.map(({ name, value }) => [name, value]));
    const used = await session.shell("df --output=pcent / | tail -n 1");
    // df rounds up to a whole number.
    expect(Math.abs((values["DiskSpaceLow"] ?? 0) - Number.parseInt(used, 10))).toBeLessThanOrEqual(1.5);
    expect(values["HighMemoryUsage"]).toBeGreaterThan(0);
    expect(values["HighCPUUsage"]).toBeGreaterThanOrEqual(0);
    expect(values["ServiceDown"]).toBeNull();
  });
});
