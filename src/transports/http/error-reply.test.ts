import { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { describe, expect, it } from "vitest";
import type { Caller } from "#contract/operation.ts";
import { createLogs } from "#telemetry/logger.ts";
import { createErrorBody } from "./error-reply.ts";
import { relayFor } from "./relayed.ts";

const caller: Caller = { keyId: "k", keyName: "n", credential: "key", scopes: [], expiresAt: null };

describe("work that is aborted in a relayed call", () => {
  it.each([
    ["is that of a client that has gone", AbortSignal.abort(), "UNAVAILABLE", 0],
    ["is an internal error while the client waits", new AbortController().signal, "INTERNAL_ERROR", 1],
  ])("%s", async (_, signal, code, logged) => {
    const lines: string[] = [];
    const { log } = createLogs({ level: "info", writer: { write: (line) => void lines.push(line) } });
    const toBody = createErrorBody(log, new AbortController().signal);
    const request = { id: "1", raw: { socket: {} } } as FastifyRequest;
    const error = new DOMException("aborted", "AbortError");
    const body = await relayFor({ caller, socket: new Socket(), signal, isCounted: true }, () =>
      Promise.resolve(toBody(error, request)),
    );
    expect([body.error.code, lines.length]).toEqual([code, logged]);
  });
});
