import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { LookupFunction } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHttpNotifier, type HttpTarget, httpService } from "#adapters/notifier/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import type { Notifier, OutgoingMessage } from "#domain/ports/notifications.ts";
import { type CaptureServer, withCaptureServer } from "./support/capture-server.ts";

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

let folder: string;
let pair: { readonly cert: string; readonly key: string };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "steward-services-"));
  pair = await selfSignedPair({ stateDir: folder, now: Date.now() });
});
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function secretFile(content: string, mode = 0o600): string {
  files += 1;
  const path = join(folder, `secret-${files}`);
  writeFileSync(path, `${content}\n`);
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

describe.each(Object.entries(examples))("the service %s", (_, { target, secretAt, wire }) => {
  const notifierAt = (url: string, resolve?: LookupFunction): Notifier =>
    notifierFor(target(url, secretFile(secretAt(url))), resolve);
  const sentTo = (url: string, sent = message()) => failureOf(notifierAt(url).send(sent, signal));
  const answering = (status: number, test: (server: CaptureServer) => Promise<void>) =>
    withCaptureServer((request, response) => {
      // What a service may repeat of a request.
      const headers = { location: `/${planted}`, "x-echo": planted };
      response.writeHead(status, planted, headers).end(`${planted} ${JSON.stringify(request.body)}`);
    }, test);

  it("takes a message, and has its severity", async () => {
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

  it("is sent the same when a message is sent again", async () => {
    await answering(200, async (server) => {
      const notifier = notifierAt(server.url);
      await notifier.send(message(), signal);
      await notifier.send(message(), signal);
      const [first, second] = server.requests.map(({ method, path, body }) => ({ method, path, body }));
      expect(second).toEqual(first);
    });
  });

  it("is sent nothing once that is stopped", async () => {
    await answering(200, async (server) => {
      await expect(notifierAt(server.url).send(message(), AbortSignal.abort())).rejects.toThrow();
      expect(server.requests).toEqual([]);
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
    [308, false],
    [400, false],
    [401, false],
    [404, false],
    [429, true],
    [500, true],
    [503, true],
  ])("answers %s, which may be tried again: %s", async (status, isRetryable) => {
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

  it("may be tried again where it cannot be reached, cuts the connection, or is not trusted", async () => {
    const failures = [await sentTo("http://127.0.0.1:1"), await sentTo(`http://${planted.toLowerCase()}.invalid`)];
    expect(String(failures[0])).toContain("the connection was refused");
    await withCaptureServer(
      (_, response) => response.destroy(),
      async ({ url }) => {
        failures.push(await sentTo(url));
        expect(String(failures.at(-1))).toContain("the connection was cut");
      },
    );
    await withCaptureServer(
      (_, response) => response.end(),
      async (server) => {
        failures.push(await sentTo(server.url));
        expect(String(failures.at(-1))).toContain("its TLS is not to be trusted");
        expect(server.requests).toEqual([]);
      },
      pair,
    );
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: "NotificationFailed", isRetryable: true });
      expect(String(failure)).not.toMatch(new RegExp(`${planted}|127\\.0\\.0\\.1`, "i"));
    }
  });

  it("is not asked at a link-local address, nor behind a name that leads to one", async () => {
    const refusal = { message: "it leads to a link-local address, which is never asked", isRetryable: false };
    for (const url of ["http://169.254.169.254", "http://[fe80::1]", "http://2852039166"])
      expect(await sentTo(url)).toMatchObject(refusal);
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
    const missing = join(folder, "nowhere");
    expect(await failureOf(notifierFor(target(url, missing)).send(message(), signal))).toMatchObject({
      message: `cannot use ${missing}: there is no such file`,
    });
    const faulty = secretFile(`ü ${planted}`);
    const failure = await failureOf(notifierFor(target(url, faulty)).send(message(), signal));
    expect([failure, String(failure).includes(planted)]).toMatchObject([{ name: "NotificationFailed" }, false]);
  });

  it("is asked with a new secret without a restart", async () => {
    await answering(200, async (server) => {
      const file = secretFile("ü");
      const notifier = notifierFor(target(server.url, file));
      expect(await failureOf(notifier.send(message(), signal))).not.toBe("sent");
      writeFileSync(file, secretAt(server.url));
      expect(await failureOf(notifier.send(message(), signal))).toBe("sent");
    });
  });
});

describe("an incident", () => {
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
