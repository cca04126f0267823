import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createGzip, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { answerJson, sse, withCaptureServer } from "./support/capture-server.ts";
import { answers } from "./support/provider-answers.ts";
import { ask, collect, everyProvider, failureOf, never, plantedKey, providerAt, textOf } from "./support/providers.ts";

const call = ask("question");
const short = { headersMs: 300, idleMs: 300, connectMs: 1000 };
const compatible = { provider: "openai-compatible" } as const;
const mebibyte = 1024 * 1024;

const beginEvents = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { "content-type": "text/event-stream" });
const chunk = (content: string): string =>
  sse({ id: "c1", created: 1, model: "served-1", choices: [{ index: 0, delta: { content }, finish_reason: null }] });

/** Writes until it has written so much, or nobody reads any more. */
async function pour(response: ServerResponse, piece: Buffer, total: number, gone: Promise<void>): Promise<void> {
  let isGone = false;
  void gone.then(() => {
    isGone = true;
  });
  for (let sent = 0; sent < total && !isGone; sent += piece.length) {
    if (!response.write(piece)) await Promise.race([once(response, "drain"), gone]);
  }
  if (!isGone) response.end();
}

/** So many MiB of blanks, compressed without ever being in memory. */
async function blanks(count: number): Promise<Buffer> {
  const piece = Buffer.alloc(mebibyte, " ");
  const pieces = Readable.from(Array.from({ length: count }, () => piece));
  const packed: Buffer[] = [];
  for await (const each of pieces.pipe(createGzip())) packed.push(Buffer.from(each));
  return Buffer.concat(packed);
}

describe.each(everyProvider)("an answer of $title that is too much", ({ entry }) => {
  it("is cut off early, whole or as a stream", () =>
    withCaptureServer(
      async ({ gone }, response) => {
        response.writeHead(200, { "content-type": "application/json" }).write('{"x":"');
        await pour(response, Buffer.alloc(64 * 1024, "a"), 20 * mebibyte, gone);
      },
      async ({ url, requests }) => {
        const provider = providerAt(url, entry);
        for (const work of [() => provider.chat(call, never), () => collect(provider.stream(call, never))]) {
          const failure = await failureOf(work());
          expect(failure).toMatchObject({ failure: "unreadable", isRetryable: false, status: null });
          expect(failure.message).toContain("more than the 8388608 bytes");
        }
        // The server sees that nobody reads the rest.
        await Promise.all(requests.map(({ gone }) => gone));
      },
    ));
});

describe("an answer that is too much", () => {
  it("may be small on the wire", async () => {
    const bomb = gzipSync(await blanks(400));
    expect(bomb.length).toBeLessThan(mebibyte);
    await withCaptureServer(
      (_, response) => {
        const type = { "content-type": "application/json", "content-encoding": "gzip, gzip" };
        response.writeHead(200, type).end(bomb);
      },
      async ({ url }) => {
        const before = process.memoryUsage().external;
        let most = before;
        const timer = setInterval(() => {
          most = Math.max(most, process.memoryUsage().external);
        }, 1);
        const failure = await failureOf(providerAt(url, compatible).chat(call, never));
        clearInterval(timer);
        expect(failure.message).toContain("more than the 8388608 bytes");
        expect(Math.max(most, process.memoryUsage().external) - before).toBeLessThan(64 * mebibyte);
      },
    );
  });

  it("may be one event without an end", () =>
    withCaptureServer(
      async ({ gone }, response) => {
        beginEvents(response).write("data: ");
        await pour(response, Buffer.from("data: aaaaaaaaaaaa\n".repeat(4096)), 20 * mebibyte, gone);
      },
      async ({ url }) => {
        const failure = await failureOf(collect(providerAt(url, compatible).stream(call, never)));
        expect(failure).toMatchObject({ failure: "unreadable", isRetryable: false });
      },
    ));

  it("may be a stream of events without an end", () =>
    withCaptureServer(
      async ({ gone }, response) => {
        beginEvents(response);
        await pour(response, Buffer.from(chunk("x".repeat(1000)).repeat(16)), 4 * mebibyte, gone);
      },
      async ({ url }) => {
        const provider = providerAt(url, compatible, { streamBytes: mebibyte });
        let length = 0;
        const failure = await failureOf(
          (async () => {
            for await (const part of provider.stream(call, never))
              length += part.kind === "text" ? part.text.length : 0;
          })(),
        );
        expect(failure).toMatchObject({ failure: "unreadable" });
        expect(length).toBeGreaterThan(mebibyte / 2);
        expect(length).toBeLessThan(mebibyte);
      },
    ));

  it("is passed on as far as it goes where it is a refusal", () =>
    withCaptureServer(
      async ({ gone }, response) => {
        response.writeHead(429, { "content-type": "application/json", "retry-after": "3" });
        await pour(response, Buffer.alloc(64 * 1024, "a"), 20 * mebibyte, gone);
      },
      async ({ url }) => {
        const failure = await failureOf(providerAt(url, compatible).chat(call, never));
        expect(failure).toMatchObject({ failure: "refused", status: 429, retryAfterMs: 3000 });
        expect(failure.message.length).toBeLessThan(600);
      },
    ));
});

describe("an answer that does not come", () => {
  it("fails, whether no header, no byte or no further event comes", async () => {
    for (const begin of [
      () => undefined,
      (response: ServerResponse) => response.writeHead(200, { "content-type": "application/json" }).flushHeaders(),
      (response: ServerResponse) => beginEvents(response).write(chunk("He")),
    ]) {
      await withCaptureServer(
        (_, response) => begin(response),
        async ({ url }) => {
          const provider = providerAt(url, compatible, short);
          for (const work of [() => provider.chat(call, never), () => collect(provider.stream(call, never))]) {
            expect(await failureOf(work())).toMatchObject({ failure: "silent", isRetryable: true, status: null });
          }
          await failureOf(provider.probe(never));
        },
      );
    }
  });

  it("fails when its headers come byte by byte", async () => {
    const server = createServer((socket) => {
      const letters =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".split("");
      const timer = setInterval(() => socket.write(letters.shift() ?? "a"), 50);
      socket.on("close", () => clearInterval(timer)).on("error", () => socket.destroy());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const provider = providerAt(`http://127.0.0.1:${port}`, compatible, short);
      expect(await failureOf(provider.chat(call, never))).toMatchObject({ failure: "silent" });
    } finally {
      server.close();
    }
  });

  it("fails when nothing listens there", async () => {
    let port = 0;
    await withCaptureServer(
      () => undefined,
      (server) => {
        port = server.port;
        return Promise.resolve();
      },
    );
    const provider = providerAt(`http://127.0.0.1:${port}`, compatible);
    for (const work of [() => provider.chat(call, never), () => provider.probe(never)]) {
      const failure = await failureOf(work());
      expect(failure).toMatchObject({ failure: "unreachable", isRetryable: true, status: null });
      expect(failure.message).toBe(`the server cannot be reached at 127.0.0.1:${port} (ECONNREFUSED)`);
    }
  });

  it("fails when there is no such name", async () => {
    const provider = providerAt("http://nobody.invalid", compatible);
    expect(await failureOf(provider.chat(call, never))).toMatchObject({ failure: "unreachable" });
  });
});

describe("whoever stops listening", () => {
  it("stops the provider as well", async () => {
    let isGone = false;
    await withCaptureServer(
      async ({ gone }, response) => {
        beginEvents(response).write(chunk("He"));
        await gone;
        isGone = true;
      },
      async ({ url, requests }) => {
        for await (const part of providerAt(url, compatible).stream(call, never)) {
          expect(part).toEqual({ kind: "text", text: "He" });
          break;
        }
        await requests[0]?.gone;
      },
    );
    expect(isGone).toBe(true);
  });

  it.each(everyProvider)("stops $title as well", ({ entry, speaks }) =>
    withCaptureServer(
      (_, response) => {
        // All but the end, so that the answer is still under way.
        beginEvents(response).write(answers[speaks].events.slice(0, -2).join(""));
      },
      async ({ url, requests }) => {
        const over = new AbortController();
        const reason = new Error("gone");
        const work = (async () => {
          for await (const part of providerAt(url, entry).stream(call, over.signal)) {
            if (part.kind === "text") over.abort(reason);
          }
        })();
        await expect(work).rejects.toBe(reason);
        await requests[0]?.gone;
      },
    ),
  );
});

describe("addresses that are never asked", () => {
  it.each([
    "http://169.254.169.254/latest",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://[fe80::1]",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[fd00:ec2::254]",
    "http://[64:ff9b::a9fe:a9fe]",
  ])("%s is one", async (url) => {
    const provider = providerAt(url, compatible, { connectMs: 500 });
    for (const work of [() => provider.chat(call, never), () => provider.probe(never)]) {
      const failure = await failureOf(work());
      expect(failure).toMatchObject({ failure: "unreachable", isRetryable: false, status: null });
      expect(failure.message).toMatch(/is a link-local address, which is never asked$/);
    }
  });

  it.each([
    [301, "http://169.254.169.254/"],
    [302, "/v1/elsewhere"],
    [307, "https://example.org/"],
    [308, "http://127.0.0.1:1/"],
    [304, ""],
  ])("are not led to by a redirect: %s to %s", (status, location) =>
    withCaptureServer(
      (_, response) => response.writeHead(status, { location }).end(),
      async ({ url, requests }) => {
        const provider = providerAt(url, compatible);
        const tries = [
          () => provider.chat(call, never),
          () => collect(provider.stream(call, never)),
          () => provider.probe(never),
        ];
        for (const work of tries) {
          expect(await failureOf(work())).toMatchObject({ failure: "refused", status, isRetryable: false });
        }
        expect(requests).toHaveLength(tries.length);
      },
    ),
  );
});

describe("TLS", () => {
  it("is refused with a certificate that nobody vouches for", async () => {
    const folder = mkdtempSync(join(tmpdir(), "steward-llm-"));
    try {
      const tls = await selfSignedPair({ stateDir: folder, now: Date.now() });
      await withCaptureServer(
        (_, response) => answerJson(response, answers.chatCompletions.whole),
        async ({ url, requests }) => {
          const provider = providerAt(url, compatible);
          for (const work of [() => provider.chat(call, never), () => provider.probe(never)]) {
            const failure = await failureOf(work());
            expect(failure).toMatchObject({ failure: "unreachable", isRetryable: false, status: null });
            expect(failure.message).toMatch(
              /certificate of the server at 127\.0\.0\.1:\d+ cannot be trusted \([A-Z_]+\)$/,
            );
          }
          expect(requests).toEqual([]);
        },
        tls,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("is refused where none is spoken", () =>
    withCaptureServer(
      () => undefined,
      async ({ port }) => {
        const failure = await failureOf(providerAt(`https://127.0.0.1:${port}`, compatible).chat(call, never));
        expect(failure).toMatchObject({ failure: "unreachable", isRetryable: false });
        expect(failure.message).toContain("does not speak TLS");
      },
    ));
});

describe("what a provider says in an answer", () => {
  it("is passed on without the key, although it repeats it, whole or in pieces", async () => {
    const spoken = `I was sent ${plantedKey}. Well`;
    const pieces = [spoken.slice(0, 16), spoken.slice(16, 30), spoken.slice(30)];
    const usage = { prompt_tokens: 1e15, completion_tokens: -1, total_tokens: 0 };
    const whole = {
      id: "c1",
      created: 1,
      model: `tiny ${plantedKey}`,
      choices: [{ index: 0, message: { role: "assistant", content: spoken }, finish_reason: "stop" }],
      usage,
    };
    const end = { ...whole, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    await withCaptureServer(
      ({ body }, response) => {
        if (!JSON.stringify(body).includes('"stream":true')) return answerJson(response, whole);
        const part = (content: string) => sse({ ...whole, choices: [{ index: 0, delta: { content } }] });
        beginEvents(response).end(`${pieces.map(part).join("")}${sse(end)}data: [DONE]\n\n`);
      },
      async ({ url }) => {
        const provider = providerAt(url, { ...compatible, key: { from: "environment", name: "OPENAI_API_KEY" } });
        const reply = await provider.chat(call, never);
        expect(reply).toMatchObject({ content: "I was sent [redacted]. Well", model: "tiny [redacted]" });
        // What no model takes is no figure.
        expect(reply.usage.inputTokens).toBeNull();
        const parts = await collect(provider.stream(call, never));
        expect(textOf(parts)).toBe("I was sent [redacted]. Well");
        expect(JSON.stringify(parts)).not.toContain(plantedKey.slice(0, 16));
        expect(parts.at(-1)).toMatchObject({ kind: "end", model: "tiny [redacted]" });
      },
    );
  });
});

describe("what a provider says of a refusal", () => {
  const failureFor = async (
    body: unknown,
    status = 400,
    headers = {},
    provider: "openai" | "google" | "ollama" = "openai",
  ) => {
    const failures: Awaited<ReturnType<typeof failureOf>>[] = [];
    await withCaptureServer(
      (_, response) => answerJson(response, body, status, headers),
      async ({ url }) => {
        failures.push(await failureOf(providerAt(url, { provider }).chat(call, never)));
      },
    );
    const [failure] = failures;
    if (failure === undefined) throw new Error("there was none");
    return failure;
  };

  it.each([
    [{ error: { message: "too long", type: "x", code: "y" } }],
    [{ error: "too long" }],
    [{ message: "too long" }],
    [{ detail: "too long" }],
    [{ detail: [{ loc: ["body"], msg: "too long" }] }],
    ["too long"],
  ])("is passed on from %j", async (body) => {
    expect((await failureFor(body)).message).toBe("OpenAI refuses this (400): too long");
  });

  it("is passed on without the key, whole or partly shown", async () => {
    const { message } = await failureFor(
      {
        error: {
          message: `Incorrect API key provided: ${plantedKey.slice(0, 8)}*******${plantedKey.slice(-4)}. See ${plantedKey}`,
        },
      },
      401,
    );
    expect(message).toBe("OpenAI does not accept the key (401): Incorrect API key provided: [redacted] See [redacted]");
  });

  it("is not to try again when the quota is used up", async () => {
    const body = { error: { message: "no quota", type: "insufficient_quota", code: "insufficient_quota" } };
    expect(await failureFor(body, 429)).toMatchObject({ isRetryable: false });
    expect(await failureFor({}, 429, { "x-should-retry": "false" })).toMatchObject({ isRetryable: false });
    expect(await failureFor({}, 400, { "x-should-retry": "true" })).toMatchObject({ isRetryable: true });
  });

  it("is how long to wait, in a header or in the body", async () => {
    expect(await failureFor({}, 429, { "retry-after-ms": "1500", "retry-after": "9" })).toMatchObject({
      retryAfterMs: 1500,
    });
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
    const body = { error: { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details } };
    expect(await failureFor(body, 429, {}, "google")).toMatchObject({ retryAfterMs: 34_500 });
  });

  it("is what to do when Ollama has no such model", async () => {
    expect((await failureFor({ error: { message: "model not found" } }, 404, {}, "ollama")).message).toContain(
      "(ollama pull model-1)",
    );
  });

  it.each(everyProvider)("in the middle of a stream is a failure: $title", ({ entry, speaks }) =>
    withCaptureServer(
      (_, response) => {
        const error = {
          message: `overloaded ${plantedKey}`,
          type: "overloaded_error",
          code: 503,
          status: "UNAVAILABLE",
        };
        const event = speaks === "anthropic" ? sse({ type: "error", error }, "error") : sse({ type: "error", error });
        beginEvents(response).end([...answers[speaks].events.slice(0, -2), event].join(""));
      },
      async ({ url }) => {
        const failure = await failureOf(collect(providerAt(url, entry).stream(call, never)));
        expect(failure.message).not.toContain(plantedKey);
        expect(["refused", "unreadable"]).toContain(failure.failure);
      },
    ),
  );
});
