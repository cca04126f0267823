import { ApiError, createClient } from "#client/index.ts";
import type { RunningService } from "./service.ts";

/** What the service has acknowledged, over all its lives. */
export interface Ledger {
  /** Names that a key was asked for with. */
  readonly asked: Set<string>;
  /** Acknowledged keys by id. */
  readonly keys: Map<string, { readonly key: string; revocation: "none" | "asked" | "acknowledged" }>;
}

export const createLedger = (): Ledger => ({ asked: new Set(), keys: new Map() });

const clients = 4;

/**
 * Makes and revokes keys as fast as it goes until the service is gone.
 * @returns a function that waits for the end, once the service has been killed.
 * @throws Error from it when the service refused a call.
 */
export function startTraffic(service: RunningService, ledger: Ledger, random: () => number): () => Promise<void> {
  const client = createClient({ url: service.url, key: service.adminKey });

  const step = async (): Promise<void> => {
    const known = [...ledger.keys].filter(([, { revocation }]) => revocation === "none");
    const [id, entry] = known[Math.floor(random() * known.length)] ?? [];
    if (id !== undefined && entry !== undefined && random() < 0.4) {
      entry.revocation = "asked";
      await client.revokeKey({ params: { id } });
      entry.revocation = "acknowledged";
      return;
    }
    const name = `key ${ledger.asked.size}`;
    ledger.asked.add(name);
    const made = await client.createKey({ body: { name, scopes: ["system:read"] } });
    ledger.keys.set(made.id, { key: made.key, revocation: "none" });
  };

  const run = async (): Promise<void> => {
    for (;;) {
      try {
        await step();
      } catch (error) {
        if (error instanceof ApiError) throw error;
        return;
      }
    }
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  running.catch(() => undefined);
  return async () => {
    await running;
  };
}
