import type { Passkey, PasskeyCreationOptions } from "#contract/passkeys.ts";
import type { CreatedSession } from "#contract/sessions.ts";
import { type AnswerFaults, createAuthenticator } from "./authenticator.ts";
import { send, type TestReply, type TestService } from "./harness.ts";

export const pageOrigin = "http://localhost";
const ownPage = { origin: pageOrigin, "sec-fetch-site": "same-origin" };

type Headers = Readonly<Record<string, string>>;

/** What a page sends of a session. */
export function sessionHeaders(reply: TestReply): Headers {
  const [cookie = ""] = reply.headers["set-cookie"]?.split(";") ?? [];
  return { ...ownPage, cookie, "x-steward-session": (reply.json as CreatedSession).secret };
}

export const fromPage = (
  service: Pick<TestService, "app">,
  path: string,
  body?: unknown,
  headers: Headers = {},
): Promise<TestReply> =>
  send(service, { method: "POST", path: `/api/v1${path}`, body, headers: { ...ownPage, ...headers } });

/** A session of a key that may change something. */
export async function elevatedSession(service: TestService, key: string = service.admin): Promise<Headers> {
  const headers = sessionHeaders(await fromPage(service, "/auth/sessions", { key }));
  return sessionHeaders(await fromPage(service, "/auth/sessions/elevate", { key }, headers));
}

export const challengeOf = async (service: Pick<TestService, "app">): Promise<{ challenge: string }> =>
  (await fromPage(service, "/auth/passkeys/request-options")).json as { challenge: string };

/** Registers a passkey for a key. */
export async function registerPasskey(
  service: TestService,
  { key = service.admin, name = "laptop", faults = {} }: { key?: string; name?: string; faults?: AnswerFaults } = {},
) {
  const session = await elevatedSession(service, key);
  const options = await fromPage(service, "/auth/passkeys/creation-options", undefined, session);
  const authenticator = createAuthenticator(pageOrigin);
  const credential = authenticator.create(options.json as PasskeyCreationOptions, faults);
  const body = { name, credential };
  const reply = await fromPage(service, "/auth/passkeys", body, session);
  return { id: (reply.json as Passkey).id, reply, session, authenticator, body };
}
