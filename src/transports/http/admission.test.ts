import { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { describe, expect, it } from "vitest";
import type { Caller } from "#contract/operation.ts";
import { createAdmission } from "./admission.ts";
import { relayFor } from "./relayed.ts";
import { createRequestRecord } from "./request-record.ts";
import { createSessionCookies } from "./sessions.ts";

const caller: Caller = { keyId: "k", keyName: "n", credential: "key", scopes: ["health:read"], expiresAt: null };
const certified: Caller = { ...caller, credential: "certificate" };

const { admit } = createAdmission({
  authenticate: (credential) => (credential === "good" ? caller : undefined),
  identify: () => ({ keyId: "k", caller: certified }),
  cookies: createSessionCookies(""),
  sessions: { authenticate: () => undefined, redeemTicket: () => undefined },
  hasEnded: ({ keyId }) => keyId === "revoked",
  certificates: { of: () => ({ sha256: "0", validTo: 0 }), isOutdated: () => false },
  localPeers: { of: () => undefined },
  takeBudget: undefined,
  takeFailure: () => ({ allowed: true }) as ReturnType<Parameters<typeof createAdmission>[0]["takeFailure"]>,
  mayPropose: () => false,
  metricsPublic: "never",
  clock: { now: () => 0 },
});

function callerOf(foreignOrigin: string | undefined, headers: Record<string, string>): Caller | undefined {
  const record = { ...createRequestRecord(), foreignOrigin };
  const request = { record, headers, raw: { socket: {} }, params: {}, query: {} } as unknown as FastifyRequest;
  return admit(request, {} as FastifyReply, { scope: "health:read" });
}

describe("a client certificate", () => {
  it("is a credential of programs and of pages of the service", () => {
    expect(callerOf(undefined, {})).toBe(certified);
  });

  it("is not accepted from a page of another origin", () => {
    expect(() => callerOf("https://console.example.org", {})).toThrow("invalid or missing API key");
    expect(callerOf("https://console.example.org", { "x-api-key": "good" })).toBe(caller);
  });
});

describe("a call that is relayed", () => {
  it.each([
    ["k", "n"],
    ["revoked", "the credential expired or was revoked after the call began"],
  ])("for the key %s is admitted without a credential of its own, unless that has ended", async (keyId, said) => {
    const via = { transport: "mcp", client: "probe" } as const;
    const socket = new Socket();
    const relayed = {
      caller: { ...caller, keyId, keyName: "n", via },
      socket,
      signal: new AbortController().signal,
      isCounted: true,
    };
    const request = { headers: {}, query: {}, raw: {}, record: createRequestRecord() } as unknown as FastifyRequest;
    const admitted = relayFor(relayed, () => Promise.resolve(admit(request, {} as FastifyReply, undefined)?.keyName));
    expect(await admitted.catch((error: Error) => error.message)).toBe(said);
    expect(request.record.caller).toMatchObject({ keyId, via });
  });
});
