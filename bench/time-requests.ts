import { Agent, get } from "node:http";
import { median } from "./harness.ts";

/** Latency of requests that are made one after another over one connection. */
export interface RequestTimes {
  readonly medianMs: number;
  readonly body: string;
}

type Headers = Readonly<Record<string, string>>;

function request(agent: Agent, url: string, headers: Headers): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`cannot get ${url}: HTTP ${response.statusCode}: ${body.slice(0, 200)}`));
      });
    });
    sent.on("error", reject);
  });
}

/** One answer. @throws Error unless it is a 200. */
export async function fetchBody(url: string, headers: Headers): Promise<string> {
  const agent = new Agent();
  try {
    return await request(agent, url, headers);
  } finally {
    agent.destroy();
  }
}

/**
 * Times `count` requests, each from the first byte that is sent to the last that is read.
 * @throws Error when an answer is not a 200.
 */
export async function timeRequests(url: string, headers: Headers, count: number): Promise<RequestTimes> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  let body = "";
  try {
    for (let index = 0; index < count; index += 1) {
      const startedAt = performance.now();
      body = await request(agent, url, headers);
      times.push(performance.now() - startedAt);
    }
    return { medianMs: median(times), body };
  } finally {
    agent.destroy();
  }
}
