import { afterEach, describe, expect, it } from "vitest";
import { errorStatus } from "#contract/errors.ts";
import { type OperationName, operations } from "#contract/index.ts";
import { errorsOf, type Operation } from "#contract/operation.ts";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import { createFakeHostFacts } from "../fakes/host-facts.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { createFakeTokenLedger } from "../fakes/token-ledger.ts";
import { createFakeTraceStore } from "../fakes/trace-store.ts";
import { pathOf, send, type TestReply, type TestRequest } from "./harness.ts";
import { type MutableService, mutations, prepareMutation, startMutableService } from "./mutations.ts";

/** What the adapters throw of it, and what callers are to be told. */
const failures = {
  "a full disk": {
    error: () =>
      Object.assign(new Error("ENOSPC: no space left on device, write"), {
        code: "ENOSPC",
        errno: -28,
        path: "/var/lib/steward/file",
      }),
    error_body: {
      code: "UNAVAILABLE",
      message: expect.stringMatching(
        /^cannot .*no space left on \/var\/lib\/steward \(free some space there and try again\)/,
      ),
      details: { missing: "disk space", directory: "/var/lib/steward", retryable: true },
    },
  },
  "no system bus": {
    // As what asks root does: the bus is what starts root's side.
    error: () => new Error("cannot ask root", { cause: new UnitsUnavailable("the system bus does not answer", true) }),
    error_body: {
      code: "UNAVAILABLE",
      message: expect.stringMatching(/^cannot .*the system bus does not answer/),
      details: { missing: "systemd", retryable: true },
    },
  },
} as const;

interface Port {
  readonly port: object;
  /** How an adapter of its kind fails: at once, or by what it promises. */
  readonly how: "throws" | "rejects";
  /** Those of the fake alone, and those that a task calls that has begun: it goes on, and waits for room to write its end. */
  readonly except?: readonly string[];
}

/** Every port that writes or opens files, or speaks to systemd or to root's side. */
const portsOf = (service: MutableService, own: Pick<Started, "keys" | "ledger" | "facts" | "traces">) =>
  ({
    keys: { port: own.keys, how: "throws" },
    "token ledger": { port: own.ledger, how: "throws" },
    "host facts": { port: own.facts, how: "rejects" },
    traces: { port: own.traces, how: "rejects" },
    operations: { port: service.operationStore, how: "throws", except: ["read", "claim", "write"] },
    "task launcher": { port: service.launcher, how: "rejects", except: ["begin", "kill", "isAlive"] },
    "check history": { port: service.checkHistory, how: "throws" },
    alerts: { port: service.alertStore, how: "throws" },
    "enabled plugins": { port: service.plugins.enabled, how: "throws" },
    "plugin folders": { port: service.plugins.folders, how: "rejects", except: ["put", "touch", "remove"] },
    "plugin sandbox": { port: service.plugins.sandbox, how: "rejects", except: ["behave", "refuseStart"] },
    units: { port: service.units, how: "rejects" },
    journal: { port: service.journal, how: "rejects", except: ["append"] },
    "package manager": { port: service.packageManager, how: "rejects" },
    snapshots: { port: service.snapshots, how: "rejects" },
  }) as const satisfies Readonly<Record<string, Port>>;

interface Started {
  readonly service: MutableService;
  readonly keys: ReturnType<typeof createFakeKeyStore>;
  readonly ledger: ReturnType<typeof createFakeTokenLedger>;
  readonly facts: ReturnType<typeof createFakeHostFacts>;
  readonly traces: ReturnType<typeof createFakeTraceStore>;
}

/** The port for who takes its methods off it at the start. */
const lateBound = <T extends object>(port: T): T =>
  new Proxy(port, {
    get:
      (target, method) =>
      (...values: readonly unknown[]): unknown =>
        Reflect.apply(Reflect.get(target, method) as (...values: readonly unknown[]) => unknown, target, values),
  });

async function start(): Promise<Started> {
  const own = {
    keys: createFakeKeyStore(),
    ledger: createFakeTokenLedger(),
    facts: createFakeHostFacts(),
    traces: createFakeTraceStore(),
  };
  const { ledger: tokenLedger, facts: host, traces } = own;
  const store = lateBound(own.keys);
  return { ...own, service: await startMutableService({ store, tokenLedger, host, traces }) };
}

/** Has one method of a port fail. @returns what repairs it. */
function breakMethod({ port, how }: Port, method: string, failure: () => Error): () => void {
  const before: unknown = Reflect.get(port, method);
  const fail = (): Promise<never> => {
    if (how === "throws") throw failure();
    return Promise.reject(failure());
  };
  Reflect.set(port, method, fail);
  return () => void Reflect.set(port, method, before);
}

const methodsOf = ({ port, except = [] }: Port): readonly string[] =>
  Object.keys(port).filter((name) => typeof Reflect.get(port, name) === "function" && !except.includes(name));

const readParams = { check_id: "plain", name: "cron", snapshot_id: "20260101-000000", trace_id: `${"0".repeat(31)}1` };
const isMutation = (name: OperationName): boolean => mutations.some(([mutation]) => mutation === name);

/** A call of the operation that can succeed. */
async function requestOf(service: MutableService, name: OperationName): Promise<TestRequest> {
  const mutation = mutations.find(([each]) => each === name)?.[0];
  if (mutation !== undefined) return { key: service.admin, ...(await prepareMutation(service, mutation)) };
  const operation: Operation = operations[name];
  return { method: operation.method, path: pathOf(operation, readParams), key: service.admin };
}

describe.each(Object.entries(failures))("on a host with %s", (_, { error, error_body: expected }) => {
  let started: Started | undefined;
  afterEach(async () => {
    await started?.service.app.close();
    started = undefined;
  });

  const refused = new Set<string>();

  it.each(Object.keys(operations) as OperationName[])(
    "%s is never answered with an internal error, and the same request succeeds later",
    async (name) => {
      started = await start();
      const { service } = started;
      for (const [portName, port] of Object.entries<Port>(portsOf(service, started))) {
        for (const method of methodsOf(port)) {
          const where = `${name} without ${portName}.${method}`;
          const request = await requestOf(service, name);
          const repair = breakMethod(port, method, error);
          let reply: TestReply;
          try {
            reply = await send(service, request);
          } finally {
            repair();
          }
          expect({ where, status: reply.status, body: reply.text }).not.toMatchObject({ status: 500 });
          if (reply.status !== errorStatus.UNAVAILABLE) continue;
          refused.add(`${name} ${portName}`);
          expect(errorsOf(operations[name])).toContain("UNAVAILABLE");
          expect({ where, ...(reply.json as object) }).toMatchObject({ where, error: expected });
          if (!isMutation(name)) continue;
          const again = await send(service, request);
          expect({ where, status: again.status, body: again.text }).toMatchObject({
            status: expect.toSatisfy((status: number) => status < 300),
          });
        }
      }
    },
  );

  it("a key is revoked even if its tokens cannot be removed, and what it holds open ends", async () => {
    started = await start();
    const { service, keys } = started;
    const text = service.key(["system:read"]);
    const made = await send(service, { method: "POST", path: "/api/v1/auth/tokens", key: text, body: {} });
    const { token } = made.json as { token: string };
    const ended: string[] = [];
    service.service.keyring.onRevoked((id) => void ended.push(id));
    const id = text.slice(4, 12);
    const repair = breakMethod({ port: keys, how: "throws" }, "deleteTokens", error);
    const request: TestRequest = { method: "DELETE", path: `/api/v1/auth/keys/${id}`, key: service.admin };
    expect(await send(service, request)).toMatchObject({ status: 503, json: { error: expected } });
    repair();
    expect(ended).toEqual([id]);
    for (const key of [text, token])
      expect(await send(service, { path: "/api/v1/auth/whoami", key })).toMatchObject({ status: 401 });
    expect((await send(service, request)).status).toBe(200);
  });

  it("has been met by those that write", () => {
    expect([...refused]).toEqual(
      expect.arrayContaining([
        "createKey keys",
        "revokeKey keys",
        "createToken keys",
        "createSnapshot operations",
        "createSnapshot snapshots",
        "applyUpdates operations",
        "applyUpdates package manager",
        "applyUpdates snapshots",
        "silenceAlert alerts",
        "enablePlugin enabled plugins",
        "restartService units",
        "listServices units",
      ]),
    );
  });
});
