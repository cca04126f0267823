import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type LookupFunction } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEmailNotifier, createHttpNotifier, httpService, type MailSettings } from "#adapters/notifier/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import type { Notifier, OutgoingMessage } from "#domain/ports/notifications.ts";
import { createFakeNotifier } from "../fakes/notifier.ts";
import { type CaptureServer, withCaptureServer } from "./support/capture-server.ts";
import { type MailServer, type MailServerOptions, withMailServer } from "./support/mail-server.ts";

const { signal } = new AbortController();
const message = (changes: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  id: "0001-abcd",
  kind: "component_down",
  subject: "web",
  at: Date.parse("2026-01-01T12:00:00Z"),
  isGood: false,
  title: "web is unhealthy on host",
  facts: [
    ["Component", "web"],
    ["Reason", "it answers 500"],
  ],
  ...changes,
});

let folder: string;
let pair: { readonly cert: string; readonly key: string };
let caFile: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "steward-notifier-"));
  pair = await selfSignedPair({ stateDir: folder, now: Date.now() });
  caFile = join(folder, "ca.pem");
  writeFileSync(caFile, pair.cert);
});
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const secretFile = (content: string, mode = 0o600): string => {
  files += 1;
  const path = join(folder, `secret-${files}`);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
};
const chatBy = (webhookFile: string, resolve?: LookupFunction): Notifier =>
  createHttpNotifier({ service: httpService({ service: "chat", webhookFile }, "host"), resolve });
const chatTo = (address: string, resolve?: LookupFunction): Notifier => chatBy(secretFile(`${address}\n`), resolve);
type Server = MailSettings["server"];
const mailTo = (port: number, server: Partial<Server> = {}, settings: Partial<MailSettings> = {}): Notifier =>
  createEmailNotifier({
    settings: {
      server: { url: new URL(`smtp://127.0.0.1:${port}`), startTls: "off", ...server },
      from: "steward@example.org",
      to: ["ops@example.org"],
      ...settings,
    },
  });
const failureOf = (sending: Promise<void>): Promise<unknown> =>
  sending.then(
    () => "sent",
    (error: unknown) => error,
  );
const textOf = ({ requests }: CaptureServer): string =>
  String((requests[0]?.body as { text?: string } | undefined)?.text);

/** Runs the test with a channel of each kind, and what it has taken. */
type WithNotifier = (test: (notifier: Notifier, taken: () => number) => Promise<void>) => Promise<void>;
const withFake: WithNotifier = async (test) => {
  const fake = createFakeNotifier();
  await test(fake, () => fake.taken.length);
};
const withChat: WithNotifier = (test) =>
  withCaptureServer(
    (_, response) => response.end("ok"),
    (server) => test(chatTo(`${server.url}/services/T0/B0/x`), () => server.requests.length),
  );
const withMail: WithNotifier = (test) =>
  withMailServer({}, (server) => test(mailTo(server.port), () => server.mails.length));

describe.each([
  ["fake", withFake],
  ["chat", withChat],
  ["email", withMail],
] as const)("notifier: %s", (_, withNotifier) => {
  it("sends a message", async () => {
    await withNotifier(async (notifier, taken) => {
      await notifier.send(message(), signal);
      expect(taken()).toBe(1);
    });
  });

  it("sends nothing once it is stopped", async () => {
    await withNotifier(async (notifier, taken) => {
      await expect(notifier.send(message(), AbortSignal.abort())).rejects.toThrow();
      expect(taken()).toBe(0);
    });
  });
});

describe("chat", () => {
  it("posts what Slack's webhooks take", async () => {
    await withCaptureServer(
      (_, response) => response.end("ok"),
      async (server) => {
        await chatTo(`${server.url}/services/T0/B0/x?y=z`).send(message(), signal);
        const [request] = server.requests;
        expect(request).toMatchObject({ method: "POST", path: "/services/T0/B0/x?y=z" });
        expect(request?.headers["content-type"]).toMatch(/^application\/json/);
        expect(request?.body).toEqual({
          text: ":warning: `web is unhealthy on host`\nComponent: `web`\nReason: `it answers 500`",
        });
      },
    );
  });

  it("lets no text of others call, link, or end what it stands in", async () => {
    const hostile = "<!channel> <@U1> @here `*bold*` & <https://evil.example|click> $(touch x) \\";
    await withCaptureServer(
      (_, response) => response.end("ok"),
      async (server) => {
        await chatTo(server.url).send(message({ facts: [["Reason", hostile]] }), signal);
        const line = textOf(server).split("\n")[1] ?? "";
        expect(line).toBe(
          "Reason: `&lt;!channel&gt; &lt;@U1&gt; @here '*bold*' &amp; &lt;https://evil.example|click&gt; $(touch x) \\`",
        );
        expect(line.split("`")).toHaveLength(3);
      },
    );
  });

  it("is sent no halves of characters, which strict readers of JSON refuse", async () => {
    await withCaptureServer(
      (_, response) => response.end("ok"),
      async (server) => {
        await chatTo(server.url).send(message({ facts: [["Reason", "a\ud83d"]] }), signal);
        expect(textOf(server).split("\n")[1]).toBe("Reason: `a\ufffd`");
      },
    );
  });

  it.each([
    [500, true],
    [503, true],
    [429, true],
    [408, true],
    [400, false],
    [404, false],
    [410, false],
    [301, false],
    [307, false],
  ])("status %s may be tried again: %s", async (status, isRetryable) => {
    await withCaptureServer(
      (_, response) => response.writeHead(status, { location: "/elsewhere" }).end("invalid_token"),
      async (server) => {
        const failure = await failureOf(chatTo(`${server.url}/secret`).send(message(), signal));
        expect(failure).toMatchObject({ name: "NotificationFailed", isRetryable });
        expect(String(failure)).toContain(String(status));
        // No redirect is followed.
        expect(server.requests).toHaveLength(1);
      },
    );
  });

  it("never shows its address, whatever goes wrong", async () => {
    const refused = await failureOf(chatTo("http://127.0.0.1:1/secret-path").send(message(), signal));
    expect(refused).toMatchObject({
      message: "the webhook was not reached: the connection was refused",
      isRetryable: true,
    });
    const unknown = await failureOf(chatTo("http://secret-name.invalid/").send(message(), signal));
    expect(unknown).toMatchObject({ isRetryable: true });
    await withCaptureServer(
      (_, response) => response.end("ok"),
      async ({ url }) => {
        const failure = await failureOf(chatTo(`${url}/secret-path`).send(message(), signal));
        expect(failure).toMatchObject({ message: expect.stringMatching(/its TLS is not to be trusted/) });
      },
      pair,
    );
    for (const failure of [refused, unknown]) expect(String(failure)).not.toMatch(/secret|127\.0\.0\.1/);
  });

  it.each([
    ["http://169.254.169.254/latest"],
    ["http://[fe80::1]/"],
    ["http://[::ffff:169.254.169.254]/"],
    ["http://0xa9fea9fe/"],
    ["http://2852039166/"],
  ])("does not ask a link-local address: %s", async (address) => {
    expect(await failureOf(chatTo(address).send(message(), signal))).toMatchObject({
      message: "it leads to a link-local address, which is never asked",
      isRetryable: false,
    });
  });

  it("does not ask one behind a name", async () => {
    const resolve: LookupFunction = (_, { all }, callback) =>
      all === true ? callback(null, [{ address: "169.254.169.254", family: 4 }]) : callback(null, "169.254.169.254", 4);
    expect(await failureOf(chatTo("http://metadata.test/", resolve).send(message(), signal))).toMatchObject({
      message: expect.stringContaining("link-local"),
      isRetryable: false,
    });
  });

  it.each([
    ["", 0o600, "it is empty"],
    ["http://a/\nhttp://b/", 0o600, "it holds more than one line"],
    ["http://a/", 0o604, "everybody can read or write it (chmod o-rwx it)"],
    ["http://a/", 0o666, "everybody can read or write it (chmod o-rwx it)"],
    ["x".repeat(70_000), 0o600, "it is larger than 64 KiB"],
  ])("does not use a file with %j and mode %o", async (content, mode, why) => {
    const webhookFile = secretFile(content, mode);
    const chat = chatBy(webhookFile);
    expect(await failureOf(chat.send(message(), signal))).toMatchObject({
      message: `cannot use ${webhookFile}: ${why}`,
      isRetryable: true,
    });
  });

  it("does not use what is no file, or no address", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", ["-m", "600", pipe]);
    for (const [webhookFile, why] of [
      [folder, "it is a directory, not a regular file"],
      [pipe, "it is a named pipe, not a regular file"],
      [join(folder, "nowhere"), "there is no such file"],
    ] as const) {
      const chat = chatBy(webhookFile);
      expect(await failureOf(chat.send(message(), signal))).toMatchObject({ message: expect.stringContaining(why) });
    }
    for (const text of ["hooks.slack.com/x", "ftp://example.org/x", "file:///etc/passwd"]) {
      expect(await failureOf(chatTo(text).send(message(), signal))).toMatchObject({
        message: "the webhook's file does not hold an address (http or https)",
      });
    }
  });

  it("picks up a new address without a restart", async () => {
    await withCaptureServer(
      (_, response) => response.end("ok"),
      async (server) => {
        const webhookFile = secretFile("http://127.0.0.1:1/");
        const chat = chatBy(webhookFile);
        expect(await failureOf(chat.send(message(), signal))).not.toBe("sent");
        writeFileSync(webhookFile, server.url);
        expect(await failureOf(chat.send(message(), signal))).toBe("sent");
      },
    );
  });
});

/** Header lines, unfolded, and the body. */
function partsOf(raw: string): { readonly headers: readonly string[]; readonly body: string } {
  const [head = "", ...rest] = raw.split("\r\n\r\n");
  return { headers: head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n"), body: rest.join("\r\n\r\n") };
}

const sendTo = async (
  options: MailServerOptions,
  server: (port: number) => Notifier,
  check: (result: unknown, mails: MailServer["mails"]) => void | Promise<void>,
  sent = message(),
): Promise<void> =>
  withMailServer(options, async ({ port, mails }) => {
    const result = await failureOf(server(port).send(sent, signal));
    await check(result, mails);
  });

describe("email", () => {
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

  it("lets no text of others into its headers", async () => {
    const title = "web\r\nBcc: thief@example.org\r\n\r\nbody";
    const hostile = message({ title, facts: [["Reason", "\r\n.\r\nMAIL FROM:<x@example.org>\r\n"]] });
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
    const own = {
      startTls: "required",
      caFile,
      login: { user: "steward", passwordFile: secretFile("s3cret words\n") },
    } as const;
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

  it("is not sent in the clear where TLS is required and not offered", async () => {
    await sendTo(
      {},
      (port) => mailTo(port, { startTls: "required" }),
      (result, mails) => {
        expect(result).toMatchObject({ name: "NotificationFailed" });
        expect(mails).toEqual([]);
      },
    );
  });

  it("is not sent to a server whose certificate nobody vouches for", async () => {
    await sendTo(
      { tls: pair },
      (port) => mailTo(port, { startTls: "required" }),
      (result, mails) => {
        expect(result).toMatchObject({
          isRetryable: true,
          message: expect.stringMatching(/^the mail server was not reached/),
        });
        expect(mails).toEqual([]);
      },
    );
  });

  it("never shows the password, even where the server repeats it", async () => {
    const own = {
      startTls: "required",
      caFile,
      login: { user: "steward", passwordFile: secretFile("hunter2") },
    } as const;
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

  it("that some are refused is told, and not sent again to the others", async () => {
    await sendTo(
      { refuse: (to) => (to.startsWith("gone") ? { code: 550, message: "no such user" } : undefined) },
      (port) => mailTo(port, {}, { to: ["ops@example.org", "gone@example.org"] }),
      (result, mails) => {
        expect(result).toMatchObject({ message: "refused for 1 of 2 addresses", isRetryable: false });
        expect(mails).toMatchObject([{ to: ["ops@example.org"] }]);
      },
    );
  });

  it("is tried again where nobody answers, and where nobody speaks", async () => {
    expect(await failureOf(mailTo(1).send(message(), signal))).toMatchObject({
      isRetryable: true,
      message: expect.stringMatching(/^the mail server was not reached: /),
    });
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = silent.address();
    const stop = new AbortController();
    const sending = failureOf(
      mailTo(typeof address === "object" && address !== null ? address.port : 0).send(message(), stop.signal),
    );
    stop.abort();
    expect(await sending).toMatchObject({ isRetryable: true });
    silent.close();
  });

  it("does not go to a link-local address", async () => {
    for (const host of ["169.254.169.254", "[fe80::1]", "2852039166"]) {
      const url = new URL(`smtp://${host}:25`);
      expect(await failureOf(mailTo(25, { url }).send(message(), signal))).toMatchObject({
        message: "it leads to a link-local address, which is never asked",
        isRetryable: false,
      });
    }
  });
});
