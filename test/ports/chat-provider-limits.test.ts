import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { Readable } from "node:stream";
import { createGzip, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import type { ChatPart, ProviderFailed } from "#domain/ports/connectors.ts";
import { answerJson, sse, withCaptureServer } from "./support/capture-server.ts";
import { directoryPerTest } from "./support/directories.ts";
import { answers, spoken } from "./support/provider-answers.ts";
import { ask, collect, everyProvider, failureOf, never, plantedKey, providerAt, textOf } from "./support/providers.ts";

type Answer = Parameters<typeof withCaptureServer>[0];
const call = ask("question");
const short = { headersMs: 300, idleMs: 300, connectMs: 1000 };
const compatible = { provider: "openai-compatible" } as const;
const at = directoryPerTest();
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

describe.each(everyProvider)("an answer of $title that is too large", ({ entry }) => {
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

describe("an answer that is too large", () => {
  it("is a failure although it is small on the wire, before it fills the memory", async () => {
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

  it("is a failure where it is one event without an end", () =>
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

  it("is a failure where it is a stream of events without an end, after what fits", () =>
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

  it("is passed on as far as it fits where it is a refusal", () =>
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
  const begins: readonly ((response: ServerResponse) => unknown)[] = [
    () => undefined,
    (response) => response.writeHead(200, { "content-type": "application/json" }).flushHeaders(),
    (response) => beginEvents(response).write(chunk("He")),
  ];

  // All at the same time: Node's client looks for what is late once a second.
  it.concurrent("is a failure, whether no header, no byte or no further event comes", async ({ expect }) => {
    const silent = { failure: "silent", isRetryable: true, status: null };
    await Promise.all(
      begins.map((begin) =>
        withCaptureServer(
          (_, response) => begin(response),
          async ({ url }) => {
            const provider = providerAt(url, compatible, short);
            const work = [provider.chat(call, never), collect(provider.stream(call, never)), provider.probe(never)];
            const [whole, stream] = await Promise.all(work.map(failureOf));
            expect([whole, stream]).toMatchObject([silent, silent]);
          },
        ),
      ),
    );
  });

  it.concurrent("is a failure when its headers come byte by byte", async ({ expect }) => {
    const server = createServer((socket) => {
      const letters =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".split("");
      const timer = setInterval(() => socket.write(letters.shift() ?? "a"), 50);
      socket.on("close", () => clearInterval(timer)).on("error", () => socket.destroy());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const provider = providerAt(`http://127.0.0.1:${port}`, compatible, short);
    expect(await failureOf(provider.chat(call, never))).toMatchObject({ failure: "silent" });
    server.close();
  });

  it("is a failure when nothing listens there", async () => {
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

  it("is a failure when there is no such name", async () => {
    const provider = providerAt("http://nobody.invalid", compatible);
    expect(await failureOf(provider.chat(call, never))).toMatchObject({ failure: "unreachable" });
  });
});

describe.each(everyProvider)("a chat with $title", ({ entry, speaks }) => {
  /** Of a server that answers so: each call whole and as a stream. */
  const failuresAt = async (answer: Answer, text = "question") => {
    const failures: ProviderFailed[] = [];
    await withCaptureServer(answer, async ({ url }) => {
      const provider = providerAt(url, entry);
      const work = [provider.chat(ask(text), never), collect(provider.stream(ask(text), never))];
      failures.push(...(await Promise.all(work.map(failureOf))));
    });
    return failures;
  };

  it.each([
    [400, false, null],
    [401, false, null],
    [403, false, null],
    [404, false, null],
    [429, true, 7000],
    [500, true, null],
    [503, true, null],
  ])("that is refused with %s may be tried again: %s, after %s ms", async (status, isRetryable, retryAfterMs) => {
    const headers = status === 429 ? { "retry-after": "7" } : {};
    const body = { error: { message: `no, ${status}, with ${plantedKey}` } };
    for (const failure of await failuresAt((_, response) => answerJson(response, body, status, headers))) {
      expect(failure).toMatchObject({ failure: "refused", status, isRetryable, retryAfterMs });
      expect(failure.message).not.toContain(plantedKey.slice(0, 10));
      expect(failure.cause).toBeUndefined();
    }
  });

  it("fails where the answer is cut or not JSON", async () => {
    for (const failure of await failuresAt((_, response) => response.destroy()))
      expect(failure).toMatchObject({ failure: "unreachable", isRetryable: true, status: null });
    const malformed: Answer = ({ body, path }, response) => {
      const isStream = JSON.stringify(body).includes('"stream":true') || path.includes("stream");
      const type = isStream ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": type }).end(isStream ? "data: {malformed\n\n" : "{malformed");
    };
    for (const failure of await failuresAt(malformed))
      expect(failure).toMatchObject({ failure: "unreadable", isRetryable: false });
  });

  it("fails where a stream breaks off, after what it said", () =>
    withCaptureServer(
      (_, response) => {
        // The connection ends once what was said has arrived.
        beginEvents(response).write(answers[speaks].events.slice(0, -3).join(""), () => response.destroy());
      },
      async ({ url }) => {
        const parts: ChatPart[] = [];
        const read = async () => {
          for await (const part of providerAt(url, entry).stream(call, never)) parts.push(part);
        };
        expect(await failureOf(read())).toMatchObject({ failure: "unreachable", isRetryable: true });
        expect(spoken.text.startsWith(textOf(parts))).toBe(true);
        expect(parts.filter(({ kind }) => kind === "end")).toEqual([]);
      },
    ));

  it("ends at the provider too when the caller gives up, with the caller's reason", () =>
    withCaptureServer(
      (_, response) => {
        // All but the end, so that the answer is still under way.
        beginEvents(response).write(answers[speaks].events.slice(0, -2).join(""));
      },
      async ({ url, requests }) => {
        const provider = providerAt(url, entry);
        const over = new AbortController();
        const reason = new Error("gone");
        const work = (async () => {
          for await (const part of provider.stream(call, over.signal)) if (part.kind === "text") over.abort(reason);
        })();
        await expect(work).rejects.toBe(reason);
        await requests[0]?.gone;
        for (const started of [provider.chat(call, over.signal), provider.probe(over.signal)])
          await expect(started).rejects.toBe(reason);
      },
    ));
});

it("a stream that the caller reads no further ends at the provider too", () =>
  withCaptureServer(
    (_, response) => beginEvents(response).write(chunk("He")),
    async ({ url, requests }) => {
      for await (const part of providerAt(url, compatible).stream(call, never)) {
        expect(part).toEqual({ kind: "text", text: "He" });
        break;
      }
      await requests[0]?.gone;
    },
  ));

describe("addresses that no provider is asked at [request-forgery]", () => {
  it.each([
    "http://169.254.169.254/latest",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://[fe80::1]",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[fd00:ec2::254]",
    "http://[64:ff9b::a9fe:a9fe]",
  ])("are link-local ones: %s", async (url) => {
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
  ])("are not led to by a redirect: %s to %s [request-forgery]", (status, location) =>
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

describe("a provider over TLS", () => {
  it("is not sent anything where nobody vouches for its certificate", async () => {
    const tls = await selfSignedPair({ stateDir: at(), now: Date.now() });
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
  });

  it("is a failure where the server does not speak TLS", () =>
    withCaptureServer(
      () => undefined,
      async ({ port }) => {
        const failure = await failureOf(providerAt(`https://127.0.0.1:${port}`, compatible).chat(call, never));
        expect(failure).toMatchObject({ failure: "unreachable", isRetryable: false });
        expect(failure.message).toContain("failed in the TLS handshake");
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
        // What no model takes is not a figure.
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
