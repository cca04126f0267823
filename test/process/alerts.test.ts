import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NotificationList } from "#contract/alerts.ts";
import { type MailServer, withMailServer } from "../ports/support/mail-server.ts";
import { type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const secretPath = "/services/T0/B0/planted-5ecret";

/** A webhook, and a website that is probed. */
let server: Server;
let posts: { readonly path: string; readonly text: string }[];
let websiteStatus: number;
let hookStatus: number;
beforeEach(async () => {
  posts = [];
  websiteStatus = 200;
  hookStatus = 200;
  server = createServer((request, response) => {
    if (request.url === "/website") return void response.writeHead(websiteStatus).end();
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => {
      posts.push({ path: request.url ?? "", text });
      response.writeHead(hookStatus).end("ok");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function settings(mailPort: number): string {
  const { port } = server.address() as AddressInfo;
  const webhook = workspace.path(`webhook-${port}`);
  writeFileSync(webhook, `http://127.0.0.1:${port}${secretPath}\n`, { mode: 0o600 });
  return [
    "updates: { enabled: false }",
    "connectors: { discover: false }",
    "rate_limits: off",
    `probes: { list: [{ name: website, http: "http://127.0.0.1:${port}/website" }] }`,
    "notifications:",
    `  chat: { webhook_url_file: ${webhook} }`,
    `  email: { smtp: "smtp://127.0.0.1:${mailPort}", from: steward@example.org, to: [ops@example.org] }`,
    "",
  ].join("\n");
}

async function get<T>(service: RunningService, path: string): Promise<T> {
  const reply = await fetch(`${service.url}/api/v1${path}`, { headers: { "X-API-Key": service.adminKey } });
  return (await reply.json()) as T;
}
const records = async (service: RunningService) =>
  (await get<NotificationList>(service, "/alerts/notifications")).notifications;
const subjects = ({ mails }: Pick<MailServer, "mails">): readonly string[] =>
  mails.map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw)?.[1] ?? "");

async function end(service: RunningService, signal: NodeJS.Signals): Promise<void> {
  service.kill(signal);
  await service.exit;
}

describe("notifications of a service that is killed", () => {
  it("send what a component's failure had queued with the next start, and its recovery once", async () => {
    await withMailServer({}, async (mail) => {
      const options = { settings: settings(mail.port), stateDir: workspace.path("state-component") };
      websiteStatus = 500;
      hookStatus = 503;
      const first = await startService(workspace, options);
      await until("a record of both channels", async () => {
        const all = await records(first);
        const isTried = all.some(({ channel, error }) => channel === "chat" && error === "the webhook answers 503");
        return (isTried && all.some(({ channel, outcome }) => channel === "email" && outcome === "sent")) || undefined;
      });
      await end(first, "SIGKILL");

      hookStatus = 200;
      const second = await startService(workspace, options);
      const sent = await until("a record of the sending", async () =>
        (await records(second)).find(({ channel, outcome }) => channel === "chat" && outcome === "sent"),
      );
      expect(sent).toMatchObject({ attempts: 2, kind: "component_down", subject: "website" });
      expect(posts).toEqual(Array(2).fill({ path: secretPath, text: expect.stringContaining("it answers 500") }));
      await end(second, "SIGTERM");

      websiteStatus = 200;
      const third = await startService(workspace, options);
      const all = await until("all sent", async () => {
        const list = await records(third);
        return list.length === 4 && list.every(({ outcome }) => outcome === "sent") ? list : undefined;
      });
      expect(posts).toHaveLength(3);
      expect(subjects(mail)).toEqual([
        expect.stringMatching(/^website is unhealthy on /),
        expect.stringMatching(/^website is healthy again on /),
      ]);
      for (const service of [first, second, third])
        expect(service.stdout() + service.stderr() + JSON.stringify(all)).not.toMatch(/planted-5ecret/);
    });
  });

  it("report the failure of a check and its recovery once each, over restarts and kills", async () => {
    await withMailServer({}, async (mail) => {
      const status = workspace.path("status");
      const set = (text: string, code: number): void => writeFileSync(status, `echo "${text}"; exit ${code}\n`);
      const check = `backup: { command: [/bin/sh, ${status}], severity: critical, interval: 1s, attempts: 1 }`;
      const options = {
        settings: `${settings(mail.port)}  checks: warn\nhealth: { checks: { ${check} } }\n`,
        stateDir: workspace.path("state-check"),
      };
      /** Starts the service, waits until it has run the check and sent these, and kills it. */
      const runOnce = async (expected: readonly string[]): Promise<void> => {
        const service = await startService(workspace, options);
        const runs = async () => (await get<{ total: number }>(service, "/health/checks/backup/history")).total;
        const before = await runs();
        await until("another run", async () => (await runs()) > before || undefined);
        const kinds = async () =>
          (await records(service)).flatMap(({ subject, channel, kind, outcome }) =>
            subject === "backup" ? [`${channel} ${kind} ${outcome}`] : [],
          );
        await until("the notifications", async () => (await kinds()).length >= expected.length || undefined);
        await until("their sending", async () => !(await kinds()).join().includes("queued") || undefined);
        expect((await kinds()).toReversed()).toEqual(expected);
        await end(service, "SIGKILL");
      };
      const [failed, recovered] = ["email check_failed sent", "email check_recovered sent"];
      set("broken", 2);
      await runOnce([failed]);
      await runOnce([failed]);
      set("fine again", 0);
      await runOnce([failed, recovered]);
      await runOnce([failed, recovered]);
      expect(subjects(mail).filter((subject) => subject.includes("backup"))).toEqual([
        expect.stringMatching(/^\[failed\] backup on /),
        expect.stringMatching(/^\[recovered\] backup on /),
      ]);
      expect(posts).toEqual([]);
    });
  });
});
