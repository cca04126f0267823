import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { InjectOptions } from "fastify";
import { ErrorBody } from "#contract/error-body.ts";
import { errorStatus, isErrorCode, isErrorStatus } from "#contract/errors.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { scopes } from "#contract/scopes.ts";
import { createExamples } from "#transports/http/openapi-examples.ts";
import { schemaName } from "#transports/http/openapi-schemas.ts";
import { pathOf, startTestService, type TestService } from "../../api/harness.ts";
import { leak } from "../../process/support/leak.ts";
import {
  createAnswerCheck,
  type Documented,
  type OpenapiDocument,
  operationsOf,
} from "../../process/support/openapi.ts";
import { decoded } from "../../support/decoded.ts";
import type { Random } from "../../support/random.ts";
import { wordsOfSchema } from "../schema-words.ts";
import { createValidator, expectThat, type FuzzTarget } from "../target.ts";

/*
 * An input is up to four requests, one after the other, as text: a request line, headers, an empty line, a body; `%%` on a line of
 * its own between them. `X-API-Key: @admin` stands for the text of a key, `@last` in a path for the id of the key that was made last.
 */

const mostRequests = 4;
export const separator = "\n%%\n";
/** A service is used for so many inputs: what they leave behind is not to be without end. */
const inputsPerService = 200;
/** How much of the service's time an answer may take. */
const answerMs = 2 * 60 * 60 * 1000;
const readScope = "system:read";
const notModified = 304;
const methods = ["GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE"] as const;

export interface Request {
  readonly method: (typeof methods)[number];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** @returns undefined for what no HTTP parser would hand on. */
export function parseRequest(text: string): Request | undefined {
  const end = text.indexOf("\n\n");
  const [first = "", ...lines] = (end < 0 ? text : text.slice(0, end)).split("\n");
  const [, word = "", path = ""] = /^([A-Z]+) (\/[!-~\x80-\xff]*)$/.exec(first) ?? [];
  const method = methods.find((each) => each === word);
  if (method === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t -~\x80-\xff]*)$/.exec(line) ?? [];
    if (name !== "" && !["content-length", "transfer-encoding", "upgrade", "connection"].includes(name.toLowerCase()))
      Object.defineProperty(headers, name.toLowerCase(), { value: value.trim(), enumerable: true, configurable: true });
  }
  return { method, path, headers, body: end < 0 ? undefined : Buffer.from(text.slice(end + 2), "latin1") };
}

const rows = Object.entries<Operation>(operations);
const byName = new Map(rows);
const examples = createExamples(schemaName);

function textOf(method: string, path: string, body?: unknown, key = "@admin"): string {
  const head = `${method} ${path}\nHost: localhost\nX-API-Key: ${key}`;
  return body === undefined ? head : `${head}\nContent-Type: application/json\n\n${JSON.stringify(body)}`;
}

/** Requests of an operation, with and without a query. */
function exampleRequests(operation: Operation): readonly string[] {
  const { method, body, query } = operation;
  const members = Object.entries(query === undefined ? {} : (examples.ofRequest(query) as object));
  const search = members.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  const example = body && examples.ofRequest(body);
  return ["", search === "" ? "" : `?${search}`].map((each) => textOf(method, `${pathOf(operation)}${each}`, example));
}

function seeds(): readonly Buffer[] {
  const alone = rows.flatMap(([, operation]) => exampleRequests(operation));
  const withBody = "X-API-Key: @admin\nIdempotency-Key: one\nContent-Type: application/json\n\n";
  const together = [
    [
      textOf("POST", "/api/v1/auth/keys", { name: "a", scopes: ["viewer", "services:restart:cron*"] }),
      textOf("DELETE", "/api/v1/auth/keys/@last"),
    ],
    [
      textOf("GET", "/api/v1/auth/whoami", undefined, "@read"),
      'POST /api/v1/auth/tokens\nAuthorization: Bearer @read\nContent-Type: application/json\n\n{"scopes":["system:read"],"expires_in":60}',
    ],
    [`POST /api/v1/updates/apply\n${withBody}{"packages":["editor"]}`, `POST /api/v1/updates/apply\n${withBody}{}`],
    [
      "POST /api/v1/system/services/cron.service/restart?dry_run=true\nX-API-Key: @admin\nPrefer: respond-async",
      "GET /api/v1/operations\nX-API-Key: @admin",
    ],
    [
      "GET /%\nHost: localhost",
      "GET /metrics\nX-Forwarded-For: 10.0.0.1",
      "OPTIONS /api/v1/health\nOrigin: http://evil.example",
    ],
  ].map((requests) => requests.join(separator));
  return [...alone, ...together].map((text) => Buffer.from(text, "latin1"));
}

const odd: readonly unknown[] = [
  ...[null, true, 0, -1, 1e21, 0.5, [], {}, ["*"]],
  ...["", "a", "\u0000", "\ud800", "__proto__", "*", "2026-01-01T00:00:00Z"],
];

/** A value with a member changed, taken out, added or nested. */
function changed(value: unknown, random: Random, words: readonly string[]): unknown {
  const oddValue = (): unknown => (random.chance(0.5) ? random.pick(odd) : random.pick(words));
  if (typeof value !== "object" || value === null || random.chance(0.1)) {
    return random.chance(0.1) ? [value] : oddValue();
  }
  if (Array.isArray(value)) {
    const items: unknown[] = [...value];
    const at = random.integer(items.length + 1);
    if (random.chance(0.3)) items.splice(at, 1);
    else items.splice(at, random.integer(2), changed(items[at], random, words));
    return items;
  }
  const entries = Object.entries(value);
  const at = random.integer(entries.length + 1);
  const entry = entries[at];
  if (entry === undefined) entries.push([random.pick(words), oddValue()]);
  else if (random.chance(0.2)) entries.splice(at, 1);
  else entries[at] = [entry[0], changed(entry[1], random, words)];
  return Object.fromEntries(entries);
}

let words: readonly string[] | undefined;
const dictionary = (): readonly string[] => {
  words ??= [
    ...new Set(rows.flatMap(([, { params, query, body }]) => [params, query, body].flatMap(wordsOfSchema))),
    ...rows.map(([, operation]) => pathOf(operation)),
    ..."cron.service broken.service some-id plain vital repair editor @admin @read @last viewer admin".split(" "),
    ...[
      "\nX-API-Key: ",
      "\nAuthorization: Bearer ",
      "\nIdempotency-Key: a",
      "\nPrefer: respond-async",
      "\nPrefer: wait=1",
    ],
    ...["\nOrigin: null", "\nHost: ", "\nAccept: text/event-stream", "\nAccept-Encoding: gzip, br;q=0.5"],
    ...["\nIf-None-Match: *", "\nX-Forwarded-For: ", "\nTraceparent: ", "\nContent-Type: application/json", separator],
    ...["?dry_run=true", "&", "%00", "%2e%2e%2f", "..%2f", "%", "__proto__", "*", "services:restart:*", ...scopes],
  ];
  return words;
};

/** Changes the JSON of one of the requests. */
function mutate(input: Buffer, random: Random): Buffer | undefined {
  const requests = input.toString("latin1").split(separator);
  const at = random.integer(requests.length);
  const text = requests[at] ?? "";
  const end = text.indexOf("\n\n");
  if (end < 0) return undefined;
  try {
    const body: unknown = JSON.parse(Buffer.from(text.slice(end + 2), "latin1").toString("utf8"));
    const json = Buffer.from(JSON.stringify(changed(body, random, dictionary()))).toString("latin1");
    requests[at] = text.slice(0, end + 2) + json;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  return Buffer.from(requests.join(separator), "latin1");
}

const project = join(import.meta.dirname, "../../..");

/** Which operation of the table a request is for. */
export function createRouter(
  documented: readonly Documented[],
): (method: string, path: string) => Documented | undefined {
  const routes = documented.map((operation) => ({
    operation,
    pattern: new RegExp(`^${operation.template.replaceAll(/[.]/g, "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));
  return (method, path) => {
    const [plain = ""] = path.split("?");
    const wanted = method === "HEAD" ? "GET" : method;
    const found = routes.filter(({ operation, pattern }) => operation.method === wanted && pattern.test(plain));
    // Of two, the one that names more of it: /auth/keys/{id} is not /auth/keys/me.
    return found.toSorted((a, b) => a.operation.template.split("{").length - b.operation.template.split("{").length)[0]
      ?.operation;
  };
}

interface Session {
  readonly service: TestService;
  readonly keys: Readonly<Record<string, string>>;
  last: string;
}

async function startSession(): Promise<Session> {
  const service = await startTestService();
  return {
    service,
    keys: { "@admin": service.admin, "@read": service.key([readScope]), "@none": service.key([]) },
    last: "none",
  };
}

/** An answer, with time passing for the service until it comes. */
async function answerOf({ service }: Session, request: InjectOptions & { readonly url: string }) {
  let isDone = false;
  const reply = service.app.inject(request).finally(() => {
    isDone = true;
  });
  // So that a rejection has somebody who hears of it meanwhile.
  reply.catch(() => undefined);
  for (let passed = 0; !isDone && passed < answerMs; ) {
    // At first only what is ready to run, then ever longer.
    const step = passed === 0 ? 0 : Math.min(60_000, passed);
    for (let turn = 0; turn < 20 && !isDone; turn += 1) await service.clock.advance(turn === 0 ? step : 0);
    passed += Math.max(step, 1);
  }
  expectThat(isDone, `no answer to ${request.method} ${request.url} within two hours of the service's time`);
  return reply;
}

export const target: FuzzTarget = {
  maxBytes: 8 * 1024,
  maxSteps: 3_000_000,
  dictionary,
  seeds,
  mutate,
  async open() {
    const document = JSON.parse(readFileSync(join(project, "docs/reference/openapi.json"), "utf8")) as OpenapiDocument;
    const check = createAnswerCheck(document);
    const route = createRouter(operationsOf(document));
    const isErrorBody = createValidator<ErrorBody>(ErrorBody);
    let session = await startSession();
    let inputs = 0;

    const run = async (request: Request): Promise<void> => {
      const { keys } = session;
      const fill = (value: string): string => value.replaceAll(/@(admin|read|none)\b/g, (name) => keys[name] ?? name);
      const { method, body } = request;
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, fill(value)]));
      const path = request.path.replaceAll("@last", session.last);
      const reply = await answerOf(session, {
        method,
        url: path,
        remoteAddress: "192.0.2.1",
        headers: { host: "localhost", ...headers },
        ...(body !== undefined && { payload: body }),
      });
      const { statusCode: status, rawPayload } = reply;
      const isEmpty = rawPayload.length === 0;
      const text = isEmpty ? "" : decoded(rawPayload, reply.headers["content-encoding"]).toString("utf8");
      const seen = `${method} ${path} was answered with ${status}: ${text.slice(0, 500)}`;
      const type = String(reply.headers["content-type"]);
      const operation = route(method, path);
      expectThat(
        status < errorStatus.INTERNAL_ERROR || status === errorStatus.UNAVAILABLE,
        `a failure of ${operation?.name}: ${seen}`,
      );
      expectThat(reply.headers["x-request-id"] !== undefined, `no X-Request-Id: ${seen}`);
      // What the request itself says may come back, such as the name of an unknown field.
      const shown = operation?.name === "getMetrics" ? undefined : leak.exec(text)?.[0];
      const asked = `${path} ${String(body)} ${JSON.stringify(headers)}`.replaceAll(/\W+/g, "");
      const isEcho = shown !== undefined && asked.includes(shown.replaceAll(/\W+/g, ""));
      expectThat(shown === undefined || isEcho, `the program's inside: ${seen}`);
      if (isErrorStatus(status) && method !== "HEAD") {
        const value: unknown = JSON.parse(text);
        expectThat(isErrorBody(value), `not the body of an error: ${seen}`);
        const { code } = value.error;
        expectThat(isErrorCode(code) && errorStatus[code] === status, `a code of another status: ${seen}`);
      }
      const isRefusedEarly = status === errorStatus.VALIDATION_ERROR || status === errorStatus.FORBIDDEN;
      if (operation === undefined) return;
      if (status === notModified) expectThat(isEmpty, `a body with ${seen}`);
      else if (!(isRefusedEarly && /"field":"(Host|Origin)"/.test(text)) && method !== "HEAD") {
        const fault = check(operation, { status, headers: { "content-type": type }, body: text });
        expectThat(fault === undefined, `${fault}`);
      }
      if (isErrorStatus(status)) return;
      judgeAccess(operation, headers, seen);
      if (operation.name === "createKey") session.last = String((JSON.parse(text) as { id?: unknown }).id);
    };

    /** What was done must be what the key may do. */
    const judgeAccess = (
      { name, isOpen }: Documented,
      headers: Readonly<Record<string, string>>,
      seen: string,
    ): void => {
      const { scope, alsoNeeds = [] } = byName.get(name) ?? { scope: "public" };
      const { keys } = session;
      const presented = [headers["x-api-key"], /^bearer +(.*)$/i.exec(headers["authorization"] ?? "")?.[1]];
      const has = (key: string): boolean => presented.includes(keys[key] ?? key);
      const needs = [scope, ...alsoNeeds].filter((each) => each !== "self" && each !== "public");
      if (has("@none")) expectThat(isOpen || needs.length === 0, `without any scope: ${seen}`);
      if (has("@read"))
        expectThat(isOpen || needs.every((each) => each === readScope), `with ${readScope} alone: ${seen}`);
      const isAnonymous = !Object.values(keys).some((key) => presented.includes(key));
      expectThat(isOpen || !isAnonymous, `without a key: ${seen}`);
    };

    return {
      async run(input) {
        inputs += 1;
        try {
          for (const text of input.toString("latin1").split(separator).slice(0, mostRequests)) {
            const request = parseRequest(text);
            if (request !== undefined) await run(request);
          }
        } catch (error) {
          // What comes next is not to suffer from it.
          inputs = 0;
          throw error;
        } finally {
          if (inputs % inputsPerService === 0) {
            await session.service.app.close();
            session = await startSession();
          }
        }
      },
      close: () => session.service.app.close(),
    };
  },
};
