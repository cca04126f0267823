import { createFakeHostFacts } from "../fakes/host-facts.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { createFakeTokenLedger } from "../fakes/token-ledger.ts";
import { createFakeTraceStore } from "../fakes/trace-store.ts";
import { type MutableService, startMutableService } from "./mutations.ts";

export interface Port {
  readonly port: object;
  /** How an adapter of its kind fails: at once, or by what it promises. */
  readonly how: "throws" | "rejects";
  /** Those of the fake alone, and those that a task calls that has started: it continues, and waits for space to write its end. */
  readonly except?: readonly string[];
}

/** Every port that writes or opens files, or speaks to systemd or to root's side. */
export const portsOf = (service: MutableService, own: Pick<Started, "keys" | "ledger" | "facts" | "traces">) =>
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
    "plugin directories": { port: service.plugins.directories, how: "rejects", except: ["put", "touch", "remove"] },
    "plugin sandbox": { port: service.plugins.sandbox, how: "rejects", except: ["behave", "refuseStart"] },
    units: { port: service.units, how: "rejects" },
    journal: { port: service.journal, how: "rejects", except: ["append"] },
    runbooks: { port: service.runbooks, how: "rejects" },
    "package manager": { port: service.packageManager, how: "rejects" },
    snapshots: { port: service.snapshots, how: "rejects" },
  }) as const satisfies Readonly<Record<string, Port>>;

export interface Started {
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

export async function startOnPorts(): Promise<Started> {
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
export function breakMethod({ port, how }: Port, method: string, failure: () => Error): () => void {
  const before: unknown = Reflect.get(port, method);
  const fail = (): Promise<never> => {
    if (how === "throws") throw failure();
    return Promise.reject(failure());
  };
  Reflect.set(port, method, fail);
  return () => void Reflect.set(port, method, before);
}

export const methodsOf = ({ port, except = [] }: Port): readonly string[] =>
  Object.keys(port).filter((name) => typeof Reflect.get(port, name) === "function" && !except.includes(name));
