import { readFileSync } from "node:fs";
import { Agent, request as requestHttp } from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { errorStatus, isErrorCode } from "#contract/errors.ts";
import { errnoCode } from "#kernel/errors.ts";
import { decoded } from "../support/decoded.ts";
import type { CredentialKind, FuzzRequest } from "./support/fuzz-requests.ts";
import { fuzzRequests, madeKeyId } from "./support/fuzz-requests.ts";
import { leak } from "./support/leak.ts";
import type { Documented, OpenapiDocument } from "./support/openapi.ts";
import { createAnswerCheck, operationsOf } from "./support/openapi.ts";
import type { RawAnswer } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const perRound = 20;
const rounds = 1000;
/** Far above what the service needs, far below what a leak of requests would take. */
const growthBytes = 300 * 1024 * 1024;

const workspace = createWorkspace();
let service: RunningService;
let operations: readonly Documented[];
let check: ReturnType<typeof createAnswerCheck>;
let scopelessKey: string;
const madeIds: string[] = [];

beforeAll(async () => {
  service = await startService(workspace, { checks: true, environment: { STEWARD_RATE_LIMITS: "off" } });
  const document = (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as OpenapiDocument;
  operations = operationsOf(document);
  check = createAnswerCheck(document);
  const client = createClient({ url: service.url, key: service.adminKey });
  scopelessKey = (await client.createKey({ body: { name: "scopeless", scopes: [] } })).key;
  for (let count = 0; count < 5; count += 1) {
    madeIds.push((await client.createKey({ body: { name: "to be revoked", scopes: [] } })).id);
  }
});
afterAll(async () => {
  for (const agent of agents) agent.destroy();
  await workspace.dispose();
});

// Failed logins are counted for each address: many addresses, so that most refusals are those of a wrong key.
const agents = Array.from({ length: 250 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
const keyAgent = new Agent({ keepAlive: true, maxSockets: 8 });
agents.push(keyAgent);
let turn = 0;

function credentialHeaders(kind: CredentialKind): readonly (readonly [string, string])[] {
  const { adminKey } = service;
  const wrong = adminKey.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  switch (kind) {
    case "admin":
      return [["X-API-Key", adminKey]];
    case "bearer":
      return [["Authorization", `bearer ${adminKey}`]];
    case "both":
      return [
        ["X-API-Key", adminKey],
        ["Authorization", `Bearer ${adminKey}`],
      ];
    case "differing":
      return [
        ["X-API-Key", adminKey],
        ["Authorization", `Bearer ${scopelessKey}`],
      ];
    case "scopeless":
      return [["X-API-Key", scopelessKey]];
    case "wrong":
      return [["X-API-Key", wrong]];
    case "malformed":
      return [
        ["X-API-Key", adminKey],
        ["X-API-Key", adminKey],
      ];
    case "none":
      return [];
  }
}

const isAdmitted = (kind: CredentialKind): boolean => ["admin", "bearer", "both", "scopeless"].includes(kind);

function send(request: FuzzRequest): Promise<RawAnswer> {
  const body = request.body === undefined ? undefined : Buffer.from(request.body, "utf8");
  const length = body === undefined ? [] : [["Content-Length", String(body.length)] as const];
  const framing = body !== undefined && request.isChunked ? [["Transfer-Encoding", "chunked"] as const] : length;
  const path = request.path.replace(madeKeyId, madeIds.at(turn % madeIds.length) ?? "none");
  turn += 1;
  const at = isAdmitted(request.credential) ? undefined : turn % (agents.length - 1);
  return new Promise((resolve, reject) => {
    const outgoing = requestHttp({
      host: "127.0.0.1",
      port: service.port,
      ...(at !== undefined && { localAddress: `127.0.1.${at + 1}` }),
      agent: (at === undefined ? keyAgent : agents[at]) ?? keyAgent,
      method: request.method,
      path,
      headers: [...request.headers, ...credentialHeaders(request.credential), ...framing].flat(),
      timeout: 30_000,
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer within 30 s")));
    outgoing.on("error", (error) => {
      // The service closes a connection that nobody used for a while; a request that crosses with that was not taken.
      if (outgoing.reusedSocket && errnoCode(error) === "ECONNRESET") return resolve(send(request));
      reject(new Error(`${request.method} ${path.slice(0, 200)}: ${error.message}`));
    });
    outgoing.on("response", (response) => {
      const received: Buffer[] = [];
      response.on("data", (part: Buffer) => received.push(part));
      const headers = Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
      );
      response.on("end", () => {
        const body = Buffer.concat(received);
        // For HEAD the header is there without a body.
        const text = body.length === 0 ? "" : decoded(body, headers["content-encoding"]).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers, body: text });
      });
      response.on("error", reject);
    });
    outgoing.end(body);
  });
}

/** Refusals that come before the operation is looked at, and therefore from all of them. */
function isGuardRefusal({ status, body }: RawAnswer, isHead: boolean): boolean {
  if (status !== errorStatus.VALIDATION_ERROR && status !== errorStatus.FORBIDDEN) return false;
  return isHead || /"field":"(Host|Origin)"/.test(body);
}

/** All operations of a path: `/packages/purge` is one of its own, and the package of that name. */
function operationsAt({ path }: FuzzRequest): readonly Documented[] {
  const segments = path.split("?")[0]?.split("/") ?? [];
  return operations.filter(({ template }) => {
    const parts = template.split("/");
    return parts.length === segments.length && parts.every((part, at) => part.startsWith("{") || part === segments[at]);
  });
}

/** The operation that a request meets by its path with another method: `GET /packages/purge` asks for a package of that name. */
const operationAt = (request: FuzzRequest): Documented | undefined =>
  operationsAt(request).find(({ method }) => method === (request.method === "HEAD" ? "GET" : request.method));

/** Whose answers have paths of this machine in good right: command lines of processes. */
const tellsPaths: readonly string[] = ["getMetrics", "listProcesses"];

/** What is wrong with the answer; undefined when nothing is. */
function fault(request: FuzzRequest, answer: RawAnswer): string | undefined {
  const { status, headers, body } = answer;
  const { credential } = request;
  const operation = request.operation ?? operationAt(request);
  const isHead = request.method === "HEAD";
  const seen = `${status} ${body.slice(0, 300)}`;
  if (!headers["x-request-id"]) return `no X-Request-Id: ${seen}`;
  if (status === 204 || status === 304) {
    const isRight = status === 204 ? request.method === "OPTIONS" && headers["allow"] !== undefined : headers["etag"];
    return isRight && body === "" ? undefined : `not an answer without a body: ${seen}`;
  }
  if (headers["content-type"]?.startsWith("application/json") !== true && operation?.name !== "getMetrics")
    return `content type ${headers["content-type"]}: ${seen}`;
  if (status >= errorStatus.INTERNAL_ERROR && status !== errorStatus.UNAVAILABLE) return `server error: ${seen}`;
  if (!tellsPaths.includes(operation?.name ?? "") && (leak.test(body) || body.includes(service.stateDir)))
    return `a leak: ${seen}`;
  if (!isHead && status >= errorStatus.VALIDATION_ERROR) {
    const { error } = JSON.parse(body) as { error: { code: string } };
    if (!isErrorCode(error.code) || errorStatus[error.code] !== status) return `code does not go with status: ${seen}`;
  }
  if (isGuardRefusal(answer, isHead)) return operation === undefined ? undefined : check(operation, answer, isHead);
  // Without a key where the path takes none.
  const isOpenPath = request.method === "OPTIONS" && operationsAt(request).some(({ isOpen }) => isOpen);
  if (isOpenPath) return undefined;
  if (operation?.isOpen !== true && !isAdmitted(credential) && ![401, 429].includes(status)) return `let in: ${seen}`;
  // A stream takes a key from the query too, and two that differ are none.
  const isContradicted = operation?.name.endsWith("Stream") === true && request.path.includes("api_key=");
  if (operation?.isOpen !== true && isAdmitted(credential) && !isContradicted && status === 401)
    return `a good key was refused: ${seen}`;
  if (operation === undefined) return [400, 401, 404, 429].includes(status) ? undefined : `unknown path: ${seen}`;
  return check(operation, answer, isHead);
}

const rssBytes = (): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, "utf8"))?.[1]) * 1024;

// It works all the time: on a busy machine for many minutes.
it("20,000 random requests get answers that the document allows", { timeout: 2_400_000 }, async () => {
  const statuses = new Map<number, number>();
  const round = async (requests: readonly FuzzRequest[]): Promise<void> => {
    const answers = await Promise.all(requests.map(send));
    const faults = requests.flatMap((request, at) => {
      const answer = answers[at];
      if (answer === undefined) return ["no answer"];
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      const wrong = fault(request, answer);
      return wrong === undefined ? [] : [`${request.method} ${request.path} (${request.credential}): ${wrong}`];
    });
    expect(faults).toEqual([]);
  };
  const requests = fc.array(fuzzRequests(operations), { minLength: perRound, maxLength: perRound });
  await fc.assert(fc.asyncProperty(requests, round), { numRuns: 25 });
  const before = rssBytes();
  await fc.assert(fc.asyncProperty(requests, round), { numRuns: rounds });

  // The requests have been everywhere: let in, refused for each reason, and asked what is not there.
  for (const status of [200, 201, 400, 401, 403, 404]) {
    expect(statuses.get(status) ?? 0, `answers with ${status}`).toBeGreaterThan(20);
  }
  expect(rssBytes() - before).toBeLessThan(growthBytes);
  const client = createClient({ url: service.url, key: service.adminKey });
  await expect(client.whoami()).resolves.toMatchObject({ name: "admin" });
  expect(service.stderr()).not.toMatch(/Warning|Error/);
});
