import { chownSync, readdirSync, readFileSync } from "node:fs";
import { request as requestHttp } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { errorStatus } from "#contract/errors.ts";
import { mutate } from "../fuzz/mutate.ts";
import { createRouter, parseRequest, type Request, separator, target } from "../fuzz/targets/http-request.ts";
import { decoded } from "../support/decoded.ts";
import { createRandom, type Random } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { createAnswerCheck, type OpenapiDocument, operationsOf } from "./support/openapi.ts";
import type { RawAnswer } from "./support/raw-socket.ts";
import { makeDirectory, type RunningService, root, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const wanted = 20_000;
const atOnce = 16;
const nobody = 65_534;

const workspace = createWorkspace();
let service: RunningService;
let keys: Readonly<Record<string, string>>;
let lastId = "none";

beforeAll(async () => {
  const stateDir = makeDirectory(workspace, "state");
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(stateDir, nobody, nobody);
  service = await startService(workspace, {
    stateDir,
    environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: makeDirectory(workspace, "journal", 0o755) },
    // So that what slips through does nothing to the machine of the tests.
    ...(isRoot && { uid: nobody }),
  });
  const client = createClient({ url: service.url, key: service.adminKey });
  const make = async (...scopes: string[]) => (await client.createKey({ body: { name: "fuzz", scopes } })).key;
  keys = { "@admin": service.adminKey, "@read": await make("system:read"), "@none": await make() };
});
afterAll(workspace.dispose);

/** What these change is in the workspace alone. */
const harmless = /^\/api\/v1\/auth\/(?:tokens|keys(?:\/[\w@-]+)?)$/;

/** The service has the machine of the tests in its hands: it is only asked for plans, and not to wait. */
function planned(request: Request): Request {
  const path = request.path.replaceAll(/wait=\w*/g, "wait=1");
  if (["GET", "HEAD", "OPTIONS", "TRACE"].includes(request.method) || harmless.test(path)) return { ...request, path };
  // What a fragment hides would not be seen.
  const [before = ""] = path.split(/[#;]/);
  return { ...request, path: `${before}${before.includes("?") ? "&" : "?"}dry_run=true` };
}

/** @returns undefined for what the client of Node does not send. */
function send({ method, path, headers, body }: Request, random: Random): Promise<RawAnswer> | undefined {
  const fill = (value: string): string => value.replaceAll(/@(admin|read|none)\b/g, (name) => keys[name] ?? name);
  const options = {
    ...{ host: "127.0.0.1", port: service.port, agent: false, timeout: 60_000, method },
    // Failed logins are counted for each address.
    localAddress: `127.0.${1 + random.integer(200)}.${1 + random.integer(200)}`,
    path: path.replaceAll("@last", lastId),
    headers: {
      host: "localhost",
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)])),
      // Node leaves it out for GET.
      ...(body !== undefined && { "content-length": body.length }),
    },
  };
  let outgoing: ReturnType<typeof requestHttp>;
  try {
    outgoing = requestHttp(options);
  } catch {
    return undefined;
  }
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new Error(`${method} ${path}: ${error.message}`));
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer within a minute"))).on("error", fail);
    outgoing.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part)).on("error", fail);
      response.on("end", () => {
        const { statusCode: status = 0, headers: received } = response;
        const bytes = Buffer.concat(parts);
        const text = bytes.length === 0 ? "" : decoded(bytes, received["content-encoding"]).toString("utf8");
        const lines = Object.entries(received).map(([name, value]) => [name, String(value)]);
        resolve({ status, headers: Object.fromEntries(lines), body: text });
      });
    });
    outgoing.end(body);
  });
}

it("20,000 fuzzed requests over sockets get answers that the document allows", { timeout: 1_800_000 }, async () => {
  const document = (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as OpenapiDocument;
  const [check, route] = [createAnswerCheck(document), createRouter(operationsOf(document))];
  const random = createRandom(seed);
  const corpus = join(root, "test/fuzz/corpus/http-request");
  const inputs = [...target.seeds(), ...readdirSync(corpus).map((name) => readFileSync(join(corpus, name)))];
  const words = target.dictionary().map((word) => Buffer.from(word));
  const statuses = new Map<number, number>();
  let count = 0;

  const faultOf = ({ method, path }: Request, answer: RawAnswer): string | undefined => {
    const { status, headers, body } = answer;
    if (headers["x-request-id"] === undefined) return `${status} without X-Request-Id`;
    if (status >= errorStatus.INTERNAL_ERROR && status !== errorStatus.UNAVAILABLE) return `${status} ${body}`;
    const operation = route(method, path);
    const isOfGuard = /"field":"(Host|Origin)"/.test(body);
    if (operation === undefined || method === "HEAD" || isOfGuard || status === 304) return undefined;
    if (operation.name === "createKey" && status === 201) lastId = (JSON.parse(body) as { readonly id: string }).id;
    return check(operation, answer);
  };

  const work = async (): Promise<void> => {
    while (count < wanted) {
      const [input, other] = [random.pick(inputs), random.pick(inputs)];
      const { maxBytes } = target;
      const formal = random.chance(0.5) ? target.mutate?.(input, random) : undefined;
      const mutated = formal ?? (random.chance(0.2) ? input : mutate(input, random, { words, other, maxBytes }));
      for (const text of mutated.toString("latin1").split(separator).slice(0, 4)) {
        const parsed = parseRequest(text);
        const request = parsed && planned(parsed);
        const answer = request && (await send(request, random));
        if (answer === undefined) continue;
        count += 1;
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        expect([request, faultOf(request as Request, answer)]).toEqual([request, undefined]);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));

  // They have been everywhere: let in, refused for each reason, and asked what is not there.
  for (const status of [200, 201, 400, 401, 403, 404])
    expect([status, (statuses.get(status) ?? 0) > 20]).toEqual([status, true]);
  expect(await createClient({ url: service.url, key: service.adminKey }).whoami()).toMatchObject({ name: "admin" });
  expect(service.stderr()).not.toMatch(/Warning|Error/);
});
