import type { Static, TSchema } from "typebox";
import { type OperationName, operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import type { PasskeyCreationOptions } from "#contract/passkeys.ts";
import { keptSpan } from "#domain/traces/span.ts";
import { createAuthenticator } from "./authenticator.ts";
import { pathOf, send, type TestRequest } from "./harness.ts";
import { type MutableService, type MutationName, mutations, prepareMutation } from "./mutations.ts";
import { elevatedSession, fromPage, pageOrigin } from "./passkeys.ts";

type Params = Readonly<Record<string, string>>;
type Request = Partial<TestRequest>;

/** How an operation succeeds that is not a mutation of a key. */
interface Call {
  readonly params?: Params | ((service: MutableService, key: string) => Params | Promise<Params>);
  readonly query?: string | ((service: MutableService) => string);
  /** Instead of the key. */
  readonly as?: (service: MutableService, key: string) => Request | Promise<Request>;
}

type Answer = Readonly<Record<string, unknown>>;

/** Parameters in the answer to a mutation. */
const madeBy =
  (name: MutationName, read: (answer: Answer) => Params) =>
  async (service: MutableService): Promise<Params> => {
    const { json } = await send(service, { key: service.admin, ...(await prepareMutation(service, name)) });
    return read(json as Answer);
  };

const ofCheck: Call = { params: { check_id: "plain" } };
const snapshotMade = madeBy("createSnapshot", ({ id }) => ({ snapshot_id: String(id) }));
const ofSnapshot: Call = { params: snapshotMade };
const inSession: Call = { as: async (service, key) => ({ headers: await elevatedSession(service, key) }) };

const someSpan = {
  traceId: `${"0".repeat(31)}1`,
  spanId: `${"0".repeat(15)}1`,
  parentSpanId: "",
  traceState: "",
  scope: "library",
  name: "work",
  kind: "server",
  startNs: 1_800_000_000_000_000_000n,
  endNs: 1_800_000_000_001_000_000n,
  status: "ok",
  statusMessage: "",
  attributes: {},
  droppedAttributes: 0,
  events: [],
  droppedEvents: 0,
  links: [],
  droppedLinks: 0,
} as const;

type Other = Exclude<OperationName, MutationName>;
type WithParams = {
  [Name in Other]: (typeof operations)[Name] extends { readonly params: unknown } ? Name : never;
}[Other];

type WithQuery = {
  [Name in Other]: (typeof operations)[Name] extends { readonly query: infer Query extends TSchema }
    ? Record<never, never> extends Static<Query>
      ? never
      : Name
    : never;
}[Other];

/** One with parameters, or a query that it needs, does not compile where it is forgotten; others need nothing unless they are here. */
const calls: Readonly<Partial<Record<Other, Call>> & Record<WithParams | WithQuery, Call>> = {
  getCheck: ofCheck,
  getCheckHistory: ofCheck,
  getCheckMetrics: { query: "check=plain" },
  getService: { params: { name: "cron.service" } },
  getDiskUsage: { query: "path=/srv" },
  getLogContext: {
    query: ({ journal }) => `cursor=${encodeURIComponent(journal.write({ message: "found again" }))}`,
  },
  listLogFieldValues: { params: { name: "_COMM" } },
  getRunbook: { params: { id: "cron" } },
  getPackage: { params: { name: "editor" } },
  getSnapshot: ofSnapshot,
  diffSnapshot: ofSnapshot,
  diffSnapshotFile: {
    params(service) {
      Object.assign(service.snapshots.host.files, { hosts: "127.0.0.1 localhost" });
      return snapshotMade(service);
    },
    query: "path=/etc/hosts",
  },
  getOperation: { params: madeBy("applyUpdates", ({ operation_id: id }) => ({ id: String(id) })) },
  getConnector: { params: { name: "local" } },
  getPlugin: { params: madeBy("enablePlugin", ({ name }) => ({ name: String(name) })) },
  canI: { query: "operation=restartService" },
  getKey: { params: (_, key) => ({ id: key.slice(4, 12) }) },
  createSession: { as: (_, key) => ({ body: { key } }) },
  elevateSession: {
    as: async (service, key) => ({ headers: await elevatedSession(service, key), body: { key } }),
  },
  createTicket: inSession,
  getPasskeyRequestOptions: { as: () => ({ headers: { origin: pageOrigin } }) },
  getPasskeyCreationOptions: inSession,
  createPasskey: {
    async as(service, key) {
      const headers = await elevatedSession(service, key);
      const { json } = await fromPage(service, "/auth/passkeys/creation-options", undefined, headers);
      const credential = createAuthenticator(pageOrigin).create(json as PasskeyCreationOptions);
      return { headers, body: { name: "laptop", credential } };
    },
  },
  getApproval: { params: madeBy("cancelApproval", ({ id }) => ({ id: String(id) })) },
  getAlert: { params: { name: "DiskSpaceLow" } },
  getSilence: { params: madeBy("silenceAlert", ({ id }) => ({ id: String(id) })) },
  getTrace: {
    async params({ traces }) {
      const span = keptSpan(someSpan);
      await traces.add([{ service: "shop", resource: "{}", spans: [span] }], 1000);
      return { trace_id: span.traceId };
    },
  },
};

const isMutation = (name: OperationName): name is MutationName => mutations.some(([mutation]) => mutation === name);

/** A call that succeeds, by this key or by a session of it, once what it needs was made by the admin. */
export async function callOf(
  service: MutableService,
  name: OperationName,
  key: string = service.admin,
): Promise<TestRequest> {
  if (isMutation(name)) return { key, ...(await prepareMutation(service, name)) };
  const operation: Operation = operations[name];
  const { params, query = "", as }: Call = calls[name] ?? {};
  const path = pathOf(operation, typeof params === "function" ? await params(service, key) : params);
  const credential = as === undefined ? { key } : await as(service, key);
  const asked = typeof query === "function" ? query(service) : query;
  return { method: operation.method, path: asked === "" ? path : `${path}?${asked}`, ...credential };
}
