import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer, type LookupFunction } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createEmailNotifier, type MailSettings } from "#adapters/notifier/email.ts";
import { createHttpNotifier } from "#adapters/notifier/http.ts";
import { type HttpTarget, httpService } from "#adapters/notifier/services.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { notificationKinds } from "#contract/alerts.ts";
import type { Notifier, OutgoingMessage } from "#domain/ports/notifications.ts";
import { type CaptureServer, withCaptureServer } from "./support/capture-server.ts";
import { directoryWith, writeFiles } from "./support/directories.ts";
import { type MailServer, type MailServerOptions, withMailServer } from "./support/mail-server.ts";
import { runUntilKilled, sourceOf } from "./support/programs.ts";

const { signal } = new AbortController();
const message = (changes: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  id: "0001-abcd",
  kind: "alert_firing",
  subject: "DiskSpaceLow",
  at: Date.parse("2026-01-01T12:00:00Z"),
  isGood: false,
  severity: "critical",
  title: "[firing] DiskSpaceLow (critical) on host",
  facts: [["Value", "93.3"]],
  ...changes,
});
const unhealthy = (changes: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  ...{ id: "0001-abcd", kind: "component_down", subject: "web", at: Date.parse("2026-01-01T12:00:00Z") },
  ...{ isGood: false, title: "web is unhealthy on host" },
  facts: [
    ["Component", "web"],
    ["Reason", "it answers 500"],
  ],
  ...changes,
});

const directory = directoryWith();
const caFile = join(directory, "ca.pem");
let pair: { readonly cert: string; readonly key: string };
beforeAll(async () => {
  pair = await selfSignedPair({ stateDir: directory, now: Date.now() });
  writeFiles(directory, { "ca.pem": pair.cert });
});

let files = 0;
function secretFile(content: string, mode = 0o600): string {
  files += 1;
  const path = join(directory, `secret-${files}`);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const planted = "PLANTEDs3cret";
/** Each service at an address, with the file that holds its secret, and what comes over the wire. */
type Service = HttpTarget["service"];
interface Example {
  readonly secretAt: (url: string) => string;
  readonly target: (url: string, file: string) => HttpTarget;
  readonly wire: object;
}
const bearer = { authorization: `Bearer ${planted}` };
const byAddress = { secretAt: (url: string) => `${url}/${planted}?sig=${planted}` };
const byToken = { secretAt: () => planted };
const examples: Readonly<Record<Service, Example>> = {
  chat: {
    ...byAddress,
    target: (_, webhookFile) => ({ service: "chat", webhookFile }),
    wire: { method: "POST", path: `/${planted}?sig=${planted}`, body: { text: expect.stringContaining("93.3") } },
  },
  ntfy: {
    ...byToken,
    target: (url, tokenFile) => ({ service: "ntfy", url, topic: "steward", tokenFile }),
    wire: { method: "POST", path: "/", headers: bearer, body: { topic: "steward", message: "Value: 93.3" } },
  },
  gotify: {
    ...byToken,
    target: (url, tokenFile) => ({ service: "gotify", url: `${url}/gotify`, tokenFile }),
    wire: { method: "POST", path: "/gotify/message", headers: { "x-gotify-key": planted }, body: { priority: 9 } },
  },
  telegram: {
    secretAt: () => `123:${planted}`,
    target: (url, tokenFile) => ({ service: "telegram", url, chatId: -1001, tokenFile }),
    wire: { method: "POST", path: `/bot123:${planted}/sendMessage`, body: { chat_id: -1001 } },
  },
  matrix: {
    ...byToken,
    target: (url, tokenFile) => ({ service: "matrix", url, room: "!a:b", tokenFile }),
    wire: {
      method: "PUT",
      path: "/_matrix/client/v3/rooms/!a%3Ab/send/m.room.message/steward-0001-abcd",
      headers: bearer,
      body: { msgtype: "m.text" },
    },
  },
  teams: {
    ...byAddress,
    target: (_, webhookFile) => ({ service: "teams", webhookFile }),
    wire: { method: "POST", path: `/${planted}?sig=${planted}`, body: { type: "message", attachments: [{}] } },
  },
  pagerduty: {
    ...byToken,
    target: (url, routingKeyFile) => ({ service: "pagerduty", url, routingKeyFile }),
    wire: { method: "POST", path: "/v2/enqueue", body: { routing_key: planted, event_action: "trigger" } },
  },
  opsgenie: {
    ...byToken,
    target: (url, apiKeyFile) => ({ service: "opsgenie", url, apiKeyFile }),
    wire: {
      method: "POST",
      path: "/v2/alerts",
      headers: { authorization: `GenieKey ${planted}` },
      body: { alias: "steward:host:alert:DiskSpaceLow" },
    },
  },
  webhook: {
    ...byAddress,
    target: (_, urlFile) => ({ service: "webhook", urlFile, headers: [], template: { a: ["{title}"] } }),
    wire: { method: "POST", path: `/${planted}?sig=${planted}`, body: { a: [message().title] } },
  },
};

const notifierFor = (target: HttpTarget, resolve?: LookupFunction): Notifier =>
  createHttpNotifier({ service: httpService(target, "host"), severity: "all", resolve });
const failureOf = (sending: Promise<void>): Promise<unknown> =>
  sending.then(
    () => "sent",
    (error: unknown) => error,
  );

describe.each(Object.entries(examples))("the channel %s", (_, { target, secretAt, wire }) => {
  const notifierAt = (url: string, resolve?: LookupFunction): Notifier =>
    notifierFor(target(url, secretFile(secretAt(url))), resolve);
  const sentTo = (url: string, sent = message()) => failureOf(notifierAt(url).send(sent, signal));
  const answering = (status: number, test: (server: CaptureServer) => Promise<void>) =>
    withCaptureServer((request, response) => {
      // What a service may repeat of a request.
      const headers = { location: `/${planted}`, "x-echo": planted };
      response.writeHead(status, planted, headers).end(`${planted} ${JSON.stringify(request.body)}`);
    }, test);

  it("gets a message in its form, and has its severity", async () => {
    await answering(202, async (server) => {
      const notifier = notifierAt(server.url);
      expect([notifier.to, notifier.severity]).toEqual([[], "all"]);
      await notifier.send(message(), signal);
      expect(server.requests).toHaveLength(1);
      expect(server.requests[0]).toMatchObject({
        ...wire,
        headers: {
          "content-type": "application/json; charset=utf-8",
          "user-agent": "steward",
          ...("headers" in wire && (wire.headers as object)),
        },
      });
    });
  });

  it("is sent the same when a message is sent again, and nothing once that is stopped", async () => {
    await answering(200, async (server) => {
      const notifier = notifierAt(server.url);
      await notifier.send(message(), signal);
      await notifier.send(message(), signal);
      const [first, second] = server.requests.map(({ method, path, body }) => ({ method, path, body }));
      expect(second).toEqual(first);
      await expect(notifier.send(message(), AbortSignal.abort())).rejects.toThrow();
      expect(server.requests).toHaveLength(2);
    });
  });

  it("is sent no half characters", async () => {
    await answering(200, async (server) => {
      const half = { title: "a\ud83d", facts: [["Reason", "\udc00b"]] as const };
      expect(await sentTo(server.url, message(half))).toBe("sent");
      const wire = JSON.stringify(server.requests[0]?.body);
      expect([wire.includes("\ufffd"), /\\ud[89a-f]/i.test(wire)]).toEqual([true, false]);
    });
  });

  it.each([
    [200, undefined],
    [204, undefined],
    [301, false],
    [307, false],
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [410, false],
    [429, true],
    [500, true],
    [503, true],
  ])("that answers %s may be tried again: %s", async (status, isRetryable) => {
    await answering(status, async (server) => {
      const failure = await sentTo(server.url);
      if (isRetryable === undefined) return expect(failure).toBe("sent");
      expect(failure).toMatchObject({ name: "NotificationFailed", isRetryable });
      expect(String(failure)).toContain(String(status));
      expect(String(failure)).not.toContain(planted);
      // No redirect is followed.
      expect(server.requests).toHaveLength(1);
    });
  });

  it("may be tried again where it cannot be reached, cuts the connection, or is not trusted, without its address", async () => {
    const failures = [await sentTo("http://127.0.0.1:1"), await sentTo(`http://${planted.toLowerCase()}.invalid`)];
    expect(String(failures[0])).toContain("the connection was refused");
    await withCaptureServer(
      (_, response) => response.destroy(),
      async ({ url }) => {
        failures.push(await sentTo(url));
        expect(String(failures.at(-1))).toContain("the connection was reset");
      },
    );
    await withCaptureServer(
      (_, response) => response.end(),
      async (server) => {
        failures.push(await sentTo(server.url));
        expect(String(failures.at(-1))).toContain("its TLS certificate is not trusted");
        expect(server.requests).toEqual([]);
      },
      pair,
    );
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: "NotificationFailed", isRetryable: true });
      expect(String(failure)).not.toMatch(new RegExp(`${planted}|127\\.0\\.0\\.1`, "i"));
    }
  });

  it("is not asked at a link-local address, nor behind a name that leads to one [request-forgery]", async () => {
    const refusal = { message: "it leads to a link-local address, which is never asked", isRetryable: false };
    for (const host of ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "0xa9fea9fe", "2852039166"])
      expect(await sentTo(`http://${host}`)).toMatchObject(refusal);
    const resolve: LookupFunction = (_name, { all }, callback) =>
      all === true ? callback(null, [{ address: "169.254.169.254", family: 4 }]) : callback(null, "169.254.169.254", 4);
    expect(await failureOf(notifierAt("http://metadata.test", resolve).send(message(), signal))).toMatchObject(refusal);
  });

  it("is not asked with a secret that everybody can read, or that is not there", async () => {
    const url = "http://127.0.0.1:1";
    const open = secretFile(secretAt(url), 0o604);
    expect(await failureOf(notifierFor(target(url, open)).send(message(), signal))).toMatchObject({
      message: `cannot use ${open}: everybody can read or write it (chmod o-rwx it)`,
      isRetryable: true,
    });
    const missing = join(directory, "nowhere");
    expect(await failureOf(notifierFor(target(url, missing)).send(message(), signal))).toMatchObject({
      message: `cannot use ${missing}: there is no such file`,
    });
    const faulty = secretFile(`ü ${planted}`);
    const failure = await failureOf(notifierFor(target(url, faulty)).send(message(), signal));
    expect([failure, String(failure).includes(planted)]).toMatchObject([{ name: "NotificationFailed" }, false]);
  });

  it("gets a new secret without a restart", async () => {
    await answering(200, async (server) => {
      const file = secretFile("ü");
      const notifier = notifierFor(target(server.url, file));
      expect(await failureOf(notifier.send(message(), signal))).not.toBe("sent");
      writeFileSync(file, secretAt(server.url));
      expect(await failureOf(notifier.send(message(), signal))).toBe("sent");
    });
  });
});

describe("an incident that is notified", () => {
  it.each([
    ["pagerduty", ["/v2/enqueue", "/v2/enqueue"]],
    ["opsgenie", ["/v2/alerts", "/v2/alerts/steward%3Ahost%3Aalert%3ADiskSpaceLow/close?identifierType=alias"]],
  ] as const)("of %s is opened and ended under one key", async (service, paths) => {
    await withCaptureServer(
      (_, response) => response.writeHead(202).end(),
      async (server) => {
        const notifier = notifierFor(examples[service].target(server.url, secretFile(planted)));
        await notifier.send(message(), signal);
        await notifier.send(message({ kind: "alert_resolved", isGood: true }), signal);
        expect(server.requests.map(({ path }) => path)).toEqual(paths);
      },
    );
  });
});

describe("the webhook", () => {
  it("is sent headers whose values are in files", async () => {
    await withCaptureServer(
      (_, response) => response.end(),
      async (server) => {
        const headers = [
          { name: "Authorization", value: { file: secretFile(`Bearer ${planted}`) } },
          { name: "X-Team", value: "ops" },
          { name: "User-Agent", value: "mine" },
        ];
        const urlFile = secretFile(server.url);
        await notifierFor({ service: "webhook", urlFile, headers }).send(message(), signal);
        expect(server.requests[0]?.headers).toMatchObject({
          authorization: `Bearer ${planted}`,
          "x-team": "ops",
          "user-agent": "mine",
        });
      },
    );
  });
});

describe("the channel chat", () => {
  const chatBy = (webhookFile: string): Notifier => notifierFor({ service: "chat", webhookFile });
  /** What is posted to it. */
  const posted = async (sent: OutgoingMessage): Promise<CaptureServer["requests"]> => {
    const requests: CaptureServer["requests"][number][] = [];
    await withCaptureServer(
      (_, response) => response.end("ok"),
      async (server) => {
        await chatBy(secretFile(`${server.url}/services/T0/B0/x?y=z\n`)).send(sent, signal);
        requests.push(...server.requests);
      },
    );
    return requests;
  };

  it("is posted what Slack's webhooks take", async () => {
    expect(await posted(unhealthy())).toMatchObject([
      {
        ...{ method: "POST", path: "/services/T0/B0/x?y=z" },
        headers: { "content-type": expect.stringMatching(/^application\/json/) },
        body: { text: ":warning: `web is unhealthy on host`\nComponent: `web`\nReason: `it answers 500`" },
      },
    ]);
  });

  it("is posted no text of others that calls somebody, links, or ends what it stands in [alert-text]", async () => {
    const hostile = "<!channel> <@U1> @here `*bold*` & <https://evil.example|click> $(touch x) \\";
    const [request] = await posted(unhealthy({ facts: [["Reason", hostile]] }));
    const line = String((request?.body as { text?: string } | undefined)?.text).split("\n")[1] ?? "";
    expect(line).toBe(
      "Reason: `&lt;!channel&gt; &lt;@U1&gt; @here '*bold*' &amp; &lt;https://evil.example|click&gt; $(touch x) \\`",
    );
    expect(line.split("`")).toHaveLength(3);
  });

  it.each([
    ["", 0o600, "it is empty"],
    ["http://a/\nhttp://b/", 0o600, "it holds more than one line"],
    ["http://a/", 0o604, "everybody can read or write it (chmod o-rwx it)"],
    ["http://a/", 0o666, "everybody can read or write it (chmod o-rwx it)"],
    ["x".repeat(70_000), 0o600, "it is larger than 64 KiB"],
  ])("does not use a file of %j with the mode %o", async (content, mode, why) => {
    const webhookFile = secretFile(content, mode);
    const failure = await failureOf(chatBy(webhookFile).send(message(), signal));
    expect(failure).toMatchObject({ message: `cannot use ${webhookFile}: ${why}`, isRetryable: true });
  });

  it("does not use what is not a file, or not an address", async () => {
    const pipe = join(directory, "pipe");
    execFileSync("mkfifo", ["-m", "600", pipe]);
    for (const [webhookFile, why] of [
      [directory, "it is a directory, not a regular file"],
      [pipe, "it is a named pipe, not a regular file"],
      [join(directory, "nowhere"), "there is no such file"],
    ] as const) {
      const failure = await failureOf(chatBy(webhookFile).send(message(), signal));
      expect(failure).toMatchObject({ message: expect.stringContaining(why) });
    }
    for (const text of ["hooks.slack.com/x", "ftp://example.org/x", "file:///etc/passwd"]) {
      const failure = await failureOf(chatBy(secretFile(text)).send(message(), signal));
      expect(failure).toMatchObject({ message: "the webhook's file does not hold an address (http or https)" });
    }
  });
});

/** Header lines, unfolded, and the body. */
function partsOf(raw: string): { readonly headers: readonly string[]; readonly body: string } {
  const [head = "", ...rest] = raw.split("\r\n\r\n");
  return { headers: head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n"), body: rest.join("\r\n\r\n") };
}

type Server = MailSettings["server"];
const mailTo = (port: number, server: Partial<Server> = {}, settings: Partial<MailSettings> = {}): Notifier =>
  createEmailNotifier({
    settings: {
      server: { url: new URL(`smtp://127.0.0.1:${port}`), startTls: "off", ...server },
      ...{ from: "steward@example.org", to: ["ops@example.org"], ...settings },
    },
  });
const sendTo = async (
  options: MailServerOptions,
  server: (port: number) => Notifier,
  check: (result: unknown, mails: MailServer["mails"]) => void | Promise<void>,
  sent = unhealthy(),
): Promise<void> =>
  withMailServer(options, async ({ port, mails }) => {
    const result = await failureOf(server(port).send(sent, signal));
    await check(result, mails);
  });

describe("the channel email", () => {
  const byStartTls = () => ({ startTls: "required", caFile }) as const;

  it("is a plain text to every address, which no program answers", async () => {
    const to = ["ops@example.org", "night@example.org"];
    await sendTo(
      {},
      (port) => mailTo(port, {}, { to }),
      (result, mails) => {
        expect(result).toBe("sent");
        expect(mails).toMatchObject([{ from: "steward@example.org", to, isSecure: false, user: undefined }]);
        const { headers, body } = partsOf(mails[0]?.raw ?? "");
        expect(headers).toEqual(
          expect.arrayContaining([
            "From: steward@example.org",
            "To: ops@example.org, night@example.org",
            "Subject: web is unhealthy on host",
            "Message-ID: <0001-abcd.steward@example.org>",
            "Auto-Submitted: auto-generated",
            "Date: Thu, 01 Jan 2026 12:00:00 +0000",
          ]),
        );
        expect(headers.find((line) => line.startsWith("Content-Type:"))).toMatch(/^Content-Type: text\/plain/);
        expect(body.trim()).toBe("web is unhealthy on host\r\n\r\nComponent: web\r\nReason: it answers 500");
      },
    );
  });

  it("has no text of others in its headers [alert-text]", async () => {
    const title = "web\r\nBcc: thief@example.org\r\n\r\nbody";
    const hostile = unhealthy({ title, facts: [["Reason", "\r\n.\r\nMAIL FROM:<x@example.org>\r\n"]] });
    await sendTo(
      {},
      (port) => mailTo(port),
      (result, mails) => {
        expect([result, mails.length]).toEqual(["sent", 1]);
        expect(mails[0]?.to).toEqual(["ops@example.org"]);
        const { headers } = partsOf(mails[0]?.raw ?? "");
        expect(headers.filter((line) => /^bcc:/i.test(line))).toEqual([]);
        expect(headers.filter((line) => /^subject:/i.test(line))).toHaveLength(1);
      },
      hostile,
    );
  });

  it("goes by STARTTLS to a server whose certificate is trusted, with user and password", async () => {
    const login = { user: "steward", password: "s3cret words" };
    const own = { ...byStartTls(), login: { user: "steward", passwordFile: secretFile("s3cret words\n") } };
    await sendTo(
      { tls: pair, login },
      (port) => mailTo(port, own),
      (result, mails) => {
        expect(result).toBe("sent");
        expect(mails).toMatchObject([{ isSecure: true, user: "steward" }]);
      },
    );
  });

  it("goes by TLS from the first byte", async () => {
    await sendTo(
      { tls: pair, isSecure: true },
      (port) => mailTo(port, { url: new URL(`smtps://127.0.0.1:${port}`), caFile }),
      (result, mails) => {
        expect([result, mails[0]?.isSecure]).toEqual(["sent", true]);
      },
    );
  });

  it("is not sent where TLS is required and not offered, or nobody vouches for the certificate", async () => {
    for (const options of [{}, { tls: pair }])
      await sendTo(
        options,
        (port) => mailTo(port, { startTls: "required" }),
        (result, mails) => {
          expect(result).toMatchObject({ name: "NotificationFailed" });
          if ("tls" in options)
            expect(result).toMatchObject({
              isRetryable: true,
              message: expect.stringMatching(/^the mail server was not reached/),
            });
          expect(mails).toEqual([]);
        },
      );
  });

  it("never shows the password, even where the server repeats it", async () => {
    const own = { ...byStartTls(), login: { user: "steward", passwordFile: secretFile("hunter2") } };
    await sendTo(
      { tls: pair, login: { user: "steward", password: "another" } },
      (port) => mailTo(port, own),
      (result) => {
        expect(result).toMatchObject({ isRetryable: false, message: expect.stringContaining("535") });
        expect(String(result)).toContain("[redacted]");
        expect(String(result)).not.toContain("hunter2");
      },
    );
  });

  it.each([
    [450, true],
    [550, false],
  ])("refused with %s may be tried again: %s", async (code, isRetryable) => {
    await sendTo(
      { refuse: () => ({ code, message: "not now" }) },
      (port) => mailTo(port),
      (result) => expect(result).toMatchObject({ isRetryable, message: expect.stringContaining(String(code)) }),
    );
  });

  it("that is refused for some is not sent again to the others, which is reported", async () => {
    await sendTo(
      { refuse: (to) => (to.startsWith("gone") ? { code: 550, message: "no such user" } : undefined) },
      (port) => mailTo(port, {}, { to: ["ops@example.org", "gone@example.org"] }),
      (result, mails) => {
        expect(result).toMatchObject({ message: "refused for 1 of 2 addresses", isRetryable: false });
        expect(mails).toMatchObject([{ to: ["ops@example.org"] }]);
      },
    );
  });

  it("is tried again where nobody answers, and where the server says nothing until the sending is stopped", async () => {
    expect(await failureOf(mailTo(1).send(unhealthy(), signal))).toMatchObject({
      isRetryable: true,
      message: expect.stringMatching(/^the mail server was not reached: /),
    });
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = silent.address();
    const stop = new AbortController();
    const sending = failureOf(
      mailTo(typeof address === "object" && address !== null ? address.port : 0).send(unhealthy(), stop.signal),
    );
    stop.abort();
    expect(await sending).toMatchObject({ isRetryable: true });
    silent.close();
  });

  it("does not go to a link-local address", async () => {
    for (const host of ["169.254.169.254", "[fe80::1]", "2852039166"]) {
      const url = new URL(`smtp://${host}:25`);
      expect(await failureOf(mailTo(25, { url }).send(unhealthy(), signal))).toMatchObject({
        message: "it leads to a link-local address, which is never asked",
        isRetryable: false,
      });
    }
  });
});

/** A process with the outbox on the store of the stateDir: posts these kinds, lives for a while, and is killed. */
async function runAndKill(stateDir: string, kinds: readonly string[], until: "posted" | "sent"): Promise<void> {
  const program = `
    const [stateDir, kinds, until] = process.argv.slice(1);
    const { openAlertStore } = await import(${sourceOf("adapters/alert-store/index.ts")});
    const { createHttpNotifier } = await import(${sourceOf("adapters/notifier/http.ts")});
    const { httpService } = await import(${sourceOf("adapters/notifier/services.ts")});
    const { createOutbox } = await import(${sourceOf("domain/notifications/outbox.ts")});
    const { systemClock } = await import(${sourceOf("adapters/clock/index.ts")});
    const onTrouble = (error) => { throw error; };
    const target = { service: "webhook", urlFile: stateDir + "/url", headers: [] };
    const outbox = createOutbox({
      store: openAlertStore({ stateDir, onTrouble }).notifications,
      channels: new Map([["webhook", createHttpNotifier({ service: httpService(target, "web1") })]]),
      clock: systemClock, createId: () => crypto.randomUUID(), host: "web1", onEnd: () => {}, onTrouble,
    });
    outbox.start();
    for (const kind of JSON.parse(kinds))
      outbox.post({ kind, subject: kind + ".1", at: Date.now(), isGood: false, title: kind, facts: [] }, ["webhook"]);
    if (until === "sent")
      while (outbox.list().some(({ outcome }) => outcome === "queued")) await new Promise((wake) => setTimeout(wake, 10));
    process.kill(process.pid, "SIGKILL");`;
  await runUntilKilled(program, stateDir, JSON.stringify(kinds), until);
}

describe("notifications", () => {
  const stateDir = directoryWith();

  it("of each kind arrive once, whether the service is killed before or after they are sent", async () => {
    await withCaptureServer(
      (_, response) => void response.writeHead(204).end(),
      async ({ url, requests }) => {
        writeFileSync(join(stateDir, "url"), `${url}/told`, { mode: 0o600 });
        const notified = () => requests.map(({ body }) => (body as { readonly kind: string }).kind).toSorted();
        const kinds = [...notificationKinds].toSorted();
        await runAndKill(stateDir, kinds, "posted");
        expect(notified()).toEqual([]);
        await runAndKill(stateDir, [], "sent");
        expect(notified()).toEqual(kinds);
        await runAndKill(stateDir, [], "sent");
        expect(notified()).toEqual(kinds);
      },
    );
  });
});
