import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { errorStatus } from "#contract/errors.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { leak } from "../../process/support/leak.ts";
import { partOf } from "../../support/breadth.ts";
import type { HostileRequest, Place } from "./hostile-requests.ts";
import type { HostileText } from "./hostile-texts.ts";

export interface Target {
  readonly url: string;
  readonly key: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What came of an attack. */
export interface Damage {
  /** One line for each answer that is not as it should be. */
  readonly faults: readonly string[];
  readonly statuses: ReadonlyMap<number, number>;
}

const patienceMs = 300_000;

/** Sends a request as it is written: no client library makes its path or its headers over. */
export function sendTo(
  { url, key }: Target,
  { method, path, headers, body }: HostileRequest,
  agent?: Agent,
): Promise<Reply> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    const outgoing = request({
      host: hostname,
      port,
      method,
      path,
      headers: { Host: "localhost", "X-API-Key": key, ...headers, ...length },
      timeout: patienceMs,
      ...(agent !== undefined && { agent }),
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${patienceMs} ms`)));
    outgoing.on("error", (error) => reject(new Error(`${method} ${path.slice(0, 200)}: ${error.message}`)));
    outgoing.on("response", (response) => {
      const names = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
      text(response).then(
        (received) => resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(names), body: received }),
        reject,
      );
    });
    outgoing.end(body);
  });
}

const rows = new Map<string, Operation>(Object.entries(operations));

/** What an operation may answer with; errors are JSON. */
function mediaTypesOf(name: string): readonly string[] {
  const { mediaType, mediaTypes = {} }: Pick<Operation, "mediaType" | "mediaTypes"> = rows.get(name) ?? {};
  const own = [mediaType ?? [], Object.keys(mediaTypes)].flat();
  return ["application/json", ...own.map((each) => each.split(";")[0] ?? "")];
}

/** What is wrong with an answer to hostile text; undefined when nothing is. */
function faultOf(place: Place, hostile: string, { status, headers, body }: Reply): string | undefined {
  const mediaType = headers["content-type"]?.split(";")[0];
  if (mediaType === undefined || !mediaTypesOf(place.operation).includes(mediaType))
    return `the answer is ${headers["content-type"]}`;
  if (status === errorStatus.INTERNAL_ERROR || status > errorStatus.UNAVAILABLE) return "it broke something";
  if (mediaType === "application/json" && leak.test(body)) return "the answer shows the program";
  if (/root:[^"]*:0:/.test(body)) return "the answer has a file of the host";
  if (place.isClosed(hostile) && status !== errorStatus.VALIDATION_ERROR) return "it was taken";
  return undefined;
}

/** Puts texts into every place ({@link partOf} says which), those of one operation one after the other. */
export async function attack(target: Target, places: readonly Place[], texts: readonly HostileText[]): Promise<Damage> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const statuses = new Map<number, number>();
  const faults: string[] = [];
  const one = async (place: Place, hostile: string): Promise<void> => {
    const reply = await sendTo(target, place.request(hostile), agent);
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    const fault = faultOf(place, hostile, reply);
    if (fault === undefined) return;
    const where = `${place.operation} ${place.name} = ${JSON.stringify(hostile)}`;
    faults.push(`${where}: ${fault}: ${reply.status} ${reply.body.slice(0, 300)}`);
  };
  const numbered = places.map((place, at) => ({ place, texts: partOf(texts, at) }));
  const byOperation = Map.groupBy(numbered, ({ place }) => place.operation);
  try {
    await Promise.all(
      [...byOperation.values()].map(async (group) => {
        for (const { place, texts: own } of group) for (const { text: hostile } of own) await one(place, hostile);
      }),
    );
  } finally {
    agent.destroy();
  }
  return { faults, statuses };
}
