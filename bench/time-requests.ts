import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { decoded } from "../test/support/decoded.ts";
import { median } from "./harness.ts";

/** Latency of requests that are made one after another over one connection. */
export interface RequestTimes {
  readonly medianMs: number;
  /** Of each request, in milliseconds. */
  readonly times: readonly number[];
  readonly body: string;
}

type Headers = Readonly<Record<string, string>>;

interface Received {
  /** As it was sent. */
  readonly bytes: number;
  readonly body: Buffer;
}

function receive(agent: Agent, url: string, headers: Headers): Promise<Received> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const body = Buffer.concat(chunks);
        const { statusCode, headers: received } = response;
        if (statusCode === 200) resolve({ bytes: body.length, body: decoded(body, received["content-encoding"]) });
        else reject(new Error(`cannot get ${url}: HTTP ${response.statusCode}: ${body.toString("utf8", 0, 200)}`));
      });
    });
    sent.on("error", reject);
  });
}

const request = async (agent: Agent, url: string, headers: Headers): Promise<Buffer> =>
  (await receive(agent, url, headers)).body;

/** How many bytes one answer has as it is sent. @throws Error unless it is a 200. */
export async function fetchSize(url: string, headers: Headers): Promise<number> {
  const agent = new Agent();
  try {
    return (await receive(agent, url, headers)).bytes;
  } finally {
    agent.destroy();
  }
}

/** One answer. @throws Error unless it is a 200. */
export async function fetchBody(url: string, headers: Headers): Promise<string> {
  const agent = new Agent();
  try {
    return (await request(agent, url, headers)).toString("utf8");
  } finally {
    agent.destroy();
  }
}

/**
 * Times `count` requests, each from the first byte that is sent to the last that is read.
 * @param pauseMs how long to wait between two, for a load that leaves the processor to others.
 * @throws Error when an answer is not a 200.
 */
export async function timeRequests(url: string, headers: Headers, count: number, pauseMs = 0): Promise<RequestTimes> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  let body: Buffer | undefined;
  try {
    for (let index = 0; index < count; index += 1) {
      if (pauseMs > 0) await sleep(pauseMs);
      const startedAt = performance.now();
      body = await request(agent, url, headers);
      times.push(performance.now() - startedAt);
    }
    return { medianMs: median(times), times, body: body?.toString("utf8") ?? "" };
  } finally {
    agent.destroy();
  }
}

/**
 * Median latency of different requests, one after another over one connection.
 * @throws Error when an answer is not a 200.
 */
export async function timeEach(
  requests: readonly { readonly url: string; readonly headers: Headers }[],
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  try {
    for (const { url, headers } of requests) {
      const startedAt = performance.now();
      await request(agent, url, headers);
      times.push(performance.now() - startedAt);
    }
    return median(times);
  } finally {
    agent.destroy();
  }
}
