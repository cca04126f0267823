import { isRecord, parseJsonObject } from "#kernel/values.ts";
import { CommandFailed } from "./command.ts";
import type { Exec } from "./index.ts";

/** Calls a method on the system bus. @returns the values of the answer. @throws what `fail` makes of a message of busctl. */
export type BusCall = (signal: AbortSignal, ...words: readonly string[]) => Promise<readonly unknown[]>;

export interface Busctl {
  /** Words as busctl takes them: destination, object, interface, member, signature, arguments. */
  readonly call: BusCall;
  /** Destination, object, interface, property. @returns its value. */
  readonly property: (signal: AbortSignal, ...words: readonly string[]) => Promise<unknown>;
  /** All properties of an interface, by name. */
  readonly properties: (
    signal: AbortSignal,
    destination: string,
    object: string,
    ofInterface: string,
  ) => Promise<ReadonlyMap<string, unknown>>;
}

export function createBusctl({ exec, fail }: { readonly exec: Exec; readonly fail: (why: string) => Error }): Busctl {
  const run = async (words: readonly string[], signal: AbortSignal): Promise<unknown> => {
    const options = ["--system", "--json=short", "--timeout=20", "--"];
    const { exitCode, stdout, stderr } = await exec(["busctl", ...options, ...words], {
      signal,
      timeoutMs: 30_000,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error instanceof CommandFailed ? fail(error.message) : error;
    });
    if (exitCode !== 0) throw fail(stderr.trim() || `busctl ended with ${exitCode}`);
    return stdout.trim() === "" ? [] : parseJsonObject(stdout)?.["data"];
  };
  const call: BusCall = async (signal, ...words) => {
    const data = await run(["call", ...words], signal);
    if (!Array.isArray(data)) throw fail("unexpected answer of busctl");
    return data;
  };
  return {
    call,
    property: (signal, ...words) => run(["get-property", ...words], signal),
    async properties(signal, destination, object, ofInterface) {
      const to = [destination, object, "org.freedesktop.DBus.Properties", "GetAll", "s", ofInterface];
      const [found] = await call(signal, ...to);
      if (!isRecord(found)) throw fail("unexpected answer of busctl");
      return new Map(Object.entries(found).map(([name, value]) => [name, isRecord(value) ? value["data"] : undefined]));
    },
  };
}
