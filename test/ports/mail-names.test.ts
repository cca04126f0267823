import { once } from "node:events";
import type { LookupFunction } from "node:net";
import { hostname } from "node:os";
import { SMTPServer } from "smtp-server";
import { afterEach, expect, it } from "vitest";
import { createEmailNotifier } from "#adapters/notifier/email.ts";
import type { Notifier } from "#domain/ports/notifications.ts";

const message = { id: "1", title: "disk full", facts: [], at: Date.now() } as unknown as Parameters<
  Notifier["send"]
>[0];
const { signal } = new AbortController();

const greetings: string[] = [];
let refusal: Error | undefined;
let server: SMTPServer | undefined;
afterEach(() => {
  server?.close();
  greetings.length = 0;
  refusal = undefined;
});

/** Mails to a name that has these addresses, of which the last has a server. */
async function send(addresses: readonly string[], ehloName?: string): Promise<void> {
  const smtp = new SMTPServer({
    disabledCommands: ["STARTTLS", "AUTH"],
    authOptional: true,
    disableReverseLookup: true,
    onMailFrom(_, session, callback) {
      greetings.push(session.hostNameAppearsAs);
      callback(refusal);
    },
    onData(stream, _, callback) {
      stream.resume().on("end", () => callback());
    },
  });
  server = smtp;
  const listening = smtp.listen(0, addresses.at(-1));
  await once(listening, "listening");
  const address = listening.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const resolve: LookupFunction = (_host, _options, callback) =>
    callback(
      null,
      addresses.map((each) => ({ address: each, family: each.includes(":") ? 6 : 4 })),
    );
  const settings = {
    server: {
      url: new URL(`smtp://mail.example.org:${port}`),
      startTls: "off" as const,
      ...(ehloName !== undefined && { ehloName }),
    },
    from: "steward@example.org",
    to: ["ops@example.org"],
  };
  await createEmailNotifier({ settings, resolve }).send(message, signal);
}

it("mail goes to the next address of a name where nobody listens at the first", async () => {
  await send(["127.0.0.2", "127.0.0.1"]);
  expect(greetings).toHaveLength(1);
});

it("mail is not sent to another address of a name once a server has refused it", async () => {
  refusal = Object.assign(new Error("try later"), { responseCode: 421 });
  await expect(send(["127.0.0.1", "127.0.0.1"])).rejects.toThrow("the mail server says: 421 try later");
  expect(greetings).toHaveLength(1);
});

it("a mail server is greeted with a name that has a domain, or with that of the settings", async () => {
  await send(["127.0.0.1"]);
  server?.close();
  await send(["127.0.0.1"], "web1.example.net");
  const own = hostname();
  expect(greetings).toEqual([own.includes(".") ? own : `${own}.example.org`, "web1.example.net"]);
});
