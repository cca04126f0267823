import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NotificationList, NotificationTest } from "#contract/alerts.ts";
import { type MailServer, withMailServer } from "../ports/support/mail-server.ts";
import { runSteward } from "./support/program.ts";
import { reloadSettings } from "./support/reload.ts";
import { logged, type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const secretPath = "/services/T0/B0/planted-5ecret";

/** A webhook, and a website that may be well or not. */
let server: Server;
let port: number;
let posts: { readonly path: string; readonly text: string }[];
let websiteStatus: number;
let hookStatus: number;
beforeEach(async () => {
  posts = [];
  websiteStatus = 200;
  hookStatus = 200;
  server = createServer((request, response) => {
    if (request.url === "/website") return void response.writeHead(websiteStatus).end();
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      posts.push({ path: request.url ?? "", text: body });
      response.writeHead(hookStatus).end("ok");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

let files = 0;
function settings(mailPort: number): string {
  files += 1;
  const webhook = workspace.path(`webhook-${files}`);
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

/** Runs the test with a mail server, and ends the services that it started. */
async function withMail(
  test: (mail: MailServer, started: (service: RunningService) => RunningService) => Promise<void>,
) {
  const services: RunningService[] = [];
  await withMailServer({}, async (mail) => {
    try {
      await test(mail, (service) => {
        services.push(service);
        return service;
      });
    } finally {
      for (const service of services) service.kill("SIGKILL");
      await Promise.all(services.map(({ exit }) => exit));
    }
  });
}

describe("a component that is unhealthy", () => {
  it("is reported by chat and mail, and after a restart that it is healthy again", async () => {
    await withMail(async (mail, started) => {
      const options = { settings: settings(mail.port), stateDir: workspace.path("state-told") };
      websiteStatus = 500;
      const first = started(await startService(workspace, options));
      await until("a mail", () => (mail.mails.length > 0 ? true : undefined));
      await until("a post", () => (posts.length > 0 ? true : undefined));
      expect(subjects(mail)).toEqual([expect.stringMatching(/^website is unhealthy on /)]);
      expect(posts).toEqual([{ path: secretPath, text: expect.stringContaining("it answers 500") }]);
      await until("both sent", async () =>
        (await records(first)).every(({ outcome }) => outcome === "sent") ? true : undefined,
      );
      first.kill("SIGTERM");
      await first.exit;

      websiteStatus = 200;
      const second = started(await startService(workspace, options));
      await until("a second mail", () => (mail.mails.length > 1 ? true : undefined));
      expect(subjects(mail)[1]).toMatch(/^website is healthy again on /);
      await until("a second post", () => (posts.length > 1 ? true : undefined));
      for (const service of [first, second])
        expect(service.stdout() + JSON.stringify(await records(second))).not.toMatch(/planted-5ecret/);
      expect((await records(second)).map(({ channel, kind }) => `${channel} ${kind}`)).toHaveLength(4);
    });
  });

  it("is reported after a crash between the queue and the sending", async () => {
    await withMail(async (mail, started) => {
      const options = { settings: settings(mail.port), stateDir: workspace.path("state-crash") };
      websiteStatus = 500;
      hookStatus = 503;
      const first = started(await startService(workspace, options));
      await until("an attempt", () => (posts.length > 0 ? true : undefined));
      await until("a record of both", async () => {
        const all = await records(first);
        const isTried = all.some(({ channel, error }) => channel === "chat" && error === "the webhook answers 503");
        return isTried && all.some(({ channel, outcome }) => channel === "email" && outcome === "sent")
          ? true
          : undefined;
      });
      first.kill("SIGKILL");
      await first.exit;

      hookStatus = 200;
      const second = started(await startService(workspace, options));
      const sent = await until("a record of the sending", async () =>
        (await records(second)).find(({ channel, outcome }) => channel === "chat" && outcome === "sent"),
      );
      expect(sent).toMatchObject({ attempts: 2, kind: "component_down", subject: "website" });
      expect(posts).toHaveLength(2);
      expect(posts[1]).toEqual(posts[0]);
      expect(mail.mails).toHaveLength(1);
    });
  });
});

describe("steward notify test", () => {
  it("says of each channel whether it took the test", async () => {
    await withMail(async (mail, started) => {
      const service = started(await startService(workspace, { settings: settings(mail.port) }));
      const key = { STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey };
      const run = (...argv: readonly string[]) => runSteward(workspace, ["notify", "test", ...argv], key);
      const good = await run("--json");
      expect(good.code).toBe(0);
      expect((JSON.parse(good.stdout) as NotificationTest).results.map(({ channel }) => channel)).toEqual([
        "chat",
        "email",
      ]);
      expect(posts[0]?.text).toContain("Test notification");
      expect(subjects(mail)[0]).toMatch(/^Test notification of Steward on /);
      hookStatus = 404;
      const bad = await run("chat");
      expect([bad.code, bad.stdout]).toEqual([1, "chat: the webhook answers 404\n"]);
      await logged(service, "notification not sent");
    });
  });

  it("reaches each service of the settings, and says which has refused it", async () => {
    const secret = workspace.path("secret");
    writeFileSync(secret, "123:planted-5ecret\n", { mode: 0o600 });
    const webhook = workspace.path("webhook-of-services");
    writeFileSync(webhook, `http://127.0.0.1:${port}${secretPath}\n`, { mode: 0o600 });
    const url = `url: "http://127.0.0.1:${port}"`;
    const services = {
      ntfy: `{ ${url}, topic: steward, token_file: ${secret} }`,
      gotify: `{ ${url}, token_file: ${secret} }`,
      telegram: `{ ${url}, chat_id: 1, token_file: ${secret} }`,
      matrix: `{ ${url}, room: "!a:b", token_file: ${secret} }`,
      teams: `{ webhook_url_file: ${webhook} }`,
      pagerduty: `{ ${url}, routing_key_file: ${secret} }`,
      opsgenie: `{ ${url}, api_key_file: ${secret} }`,
      webhook: `{ url_file: ${webhook}, template: { told: "{title}" } }`,
    };
    const lines = Object.entries(services).map(([name, setting]) => `  ${name}: ${setting}`);
    const others = ["updates: { enabled: false }", "connectors: { discover: false }", "rate_limits: off"];
    await withMail(async (_, started) => {
      const text = [...others, "notifications:", ...lines, ""].join("\n");
      const service = started(await startService(workspace, { settings: text }));
      const key = { STEWARD_URL: service.url, STEWARD_API_KEY: service.adminKey };
      const all = await runSteward(workspace, ["notify", "test"], key);
      expect([all.code, all.stdout]).toEqual([
        0,
        Object.keys(services)
          .map((name) => `${name}: sent\n`)
          .join(""),
      ]);
      expect(posts).toHaveLength(Object.keys(services).length);
      for (const post of posts) expect(post.text).toContain("Test notification of Steward on ");
      hookStatus = 401;
      const one = await runSteward(workspace, ["notify", "test", "ntfy"], key);
      expect([one.code, one.stdout]).toEqual([1, "ntfy: the ntfy server answers 401\n"]);
      expect(service.stdout() + service.stderr()).not.toMatch(/planted-5ecret/);
    });
  });
});

describe("a health check", () => {
  it("is reported by chat and mail once for each hard state, over restarts and kills", async () => {
    await withMail(async (mail, started) => {
      const status = workspace.path("status");
      const find = (text: string, code: number): void => writeFileSync(status, `echo "OK - ${text}"; exit ${code}\n`);
      const options = {
        settings: [
          settings(mail.port).trimEnd(),
          "  checks: warn",
          "health:",
          "  attempts: 2",
          "  checks:",
          `    backup: { command: [/bin/sh, ${status}], severity: critical, interval: 1s }`,
          "",
        ].join("\n"),
        stateDir: workspace.path("state-checks"),
      };
      const kinds = async (service: RunningService) =>
        (await records(service))
          .filter(({ subject }) => subject === "backup")
          .map(({ channel, kind, outcome }) => `${channel} ${kind} ${outcome}`)
          .reverse();
      const runsTwice = async (service: RunningService) => {
        const path = "/health/checks/backup/history";
        const { total } = await get<{ total: number }>(service, path);
        await until("two more runs", async () =>
          (await get<{ total: number }>(service, path)).total >= total + 2 ? true : undefined,
        );
      };
      find("fine", 0);
      const first = started(await startService(workspace, options));
      await runsTwice(first);
      find("broken", 2);
      await until("a mail", () => (mail.mails.length > 0 ? true : undefined));
      await until("that it is sent", async () =>
        (await kinds(first)).includes("email check_failed sent") ? true : undefined,
      );
      first.kill("SIGKILL");
      await first.exit;

      const second = started(await startService(workspace, options));
      await runsTwice(second);
      expect(await kinds(second)).toEqual(["email check_failed sent"]);
      find("fine again", 0);
      await until("that the recovery is sent", async () =>
        (await kinds(second)).includes("email check_recovered sent") ? true : undefined,
      );
      // Two within the hour are enough.
      find("broken again", 2);
      await runsTwice(second);
      second.kill("SIGKILL");
      await second.exit;

      const third = started(await startService(workspace, options));
      await runsTwice(third);
      expect(await kinds(third)).toEqual(["email check_failed sent", "email check_recovered sent"]);
      const about = subjects(mail).filter((subject) => subject.includes("backup"));
      expect(about).toEqual([
        expect.stringMatching(/^\[failed\] backup on /),
        expect.stringMatching(/^\[recovered\] backup on /),
      ]);
      expect(posts).toEqual([]);
    });
  });

  it("is reported once with others that changed at once, whenever the service is killed", async () => {
    await withMail(async (mail, started) => {
      const status = workspace.path("status-of-three");
      const find = (code: number): void => writeFileSync(status, `echo "it ended with ${code}"; exit ${code}\n`);
      const names = ["backup", "mirror", "queue"];
      const options = {
        settings: [
          settings(mail.port).trimEnd(),
          "health:",
          "  attempts: 1",
          "  checks:",
          ...names.map((name) => `    ${name}: { command: [/bin/sh, ${status}], severity: high, interval: 1s }`),
          "",
        ].join("\n"),
        stateDir: workspace.path("state-grouped"),
      };
      /** Checks of a kind: one entry may be of several. */
      const told = async (service: RunningService, kind: string, isSent: boolean) =>
        (await records(service))
          .filter((each) => each.kind === kind && (each.outcome === "sent" || !isSent))
          .flatMap(({ subject }) => subject.split(", "))
          // This machine has checks that fail, too.
          .filter((subject) => names.includes(subject))
          .toSorted();
      const untilTold = (service: RunningService, kind: string, isSent: boolean) =>
        until(`all of ${kind}`, async () =>
          (await told(service, kind, isSent)).length >= names.length ? true : undefined,
        );
      find(2);
      const first = started(await startService(workspace, options));
      await untilTold(first, "check_failed", false);
      first.kill("SIGKILL");
      await first.exit;

      const second = started(await startService(workspace, options));
      await untilTold(second, "check_failed", true);
      find(0);
      await untilTold(second, "check_recovered", true);
      second.kill("SIGKILL");
      await second.exit;
      const third = started(await startService(workspace, options));
      for (const kind of ["check_failed", "check_recovered"]) expect(await told(third, kind, true)).toEqual(names);
      const all = mail.mails.map(({ raw }) => raw).join("");
      for (const name of names)
        expect(all.match(new RegExp(`^(?:What|${name}): it ended with 2\\r$`, "gm"))).not.toBeNull();
    });
  });

  it("is not reported while a window is silent, and after it where it still fails", async () => {
    await withMail(async (mail, started) => {
      const file = workspace.path("silent.yaml");
      const rest = `${settings(mail.port)}health: { checks: { backup: { command: [/bin/sh, -c, "echo broken; exit 2"], severity: critical, interval: 1s, attempts: 1 } } }\n`;
      const silent = 'windows: [{ name: night, cron: "* * * * *", duration: 5m, silence: true }]\n';
      writeFileSync(file, rest + silent);
      const service = started(await startService(workspace, { environment: { STEWARD_CONFIG: file } }));
      const runs = async () => (await get<{ total: number }>(service, "/health/checks/backup/history")).total;
      await until("three failures", async () => ((await runs()) >= 3 ? true : undefined));
      expect(await get(service, "/health/checks/backup")).toMatchObject({ status: "fail" });
      expect(await get(service, "/alerts/silences")).toMatchObject({ silences: [{ created_by: expect.any(String) }] });
      expect([mail.mails, posts]).toEqual([[], []]);

      writeFileSync(file, rest);
      await reloadSettings(service);
      await until("a mail", () => (mail.mails.length > 0 ? true : undefined));
      expect(subjects(mail)).toEqual([expect.stringMatching(/^\[failed\] backup on /)]);
    });
  });

  it.each([
    ["is switched off", "enabled: false", /^\[no longer checked\] backup on /],
    ["is not to be reported any more", "notify: never", /^\[no longer reported\] backup on /],
    ["is removed", undefined, /^\[no longer checked\] backup on /],
  ])("is reported as over when it has failed and %s", async (_, change, subject) => {
    await withMail(async (mail, started) => {
      const check = (more: string) =>
        `health: { checks: { backup: { command: [/bin/sh, -c, "echo broken; exit 2"], severity: critical, interval: 1s, ${more} } } }\n`;
      const stateDir = workspace.path(`state-over-${files}`);
      const first = started(
        await startService(workspace, { settings: settings(mail.port) + check("attempts: 1"), stateDir }),
      );
      await until("that the failure is sent", async () =>
        (await records(first)).some(({ kind, outcome }) => kind === "check_failed" && outcome === "sent")
          ? true
          : undefined,
      );
      first.kill("SIGTERM");
      await first.exit;

      const changed = settings(mail.port) + (change === undefined ? "" : check(change));
      const second = started(await startService(workspace, { settings: changed, stateDir }));
      await until("that its end is sent", async () =>
        (await records(second)).some(({ kind, outcome }) => kind === "check_recovered" && outcome === "sent")
          ? true
          : undefined,
      );
      const about = subjects(mail).filter((each) => each.includes("backup"));
      expect(about).toEqual([expect.stringMatching(/^\[failed\] backup on /), expect.stringMatching(subject)]);
    });
  });
});
