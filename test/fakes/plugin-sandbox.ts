import type { PluginCall, PluginEnd, PluginSandbox } from "#domain/ports/plugins.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";

type Behaviour = (call: PluginCall, signal: AbortSignal) => PluginEnd | Promise<PluginEnd>;

export interface FakePluginSandbox extends PluginSandbox {
  /** Calls in their order. */
  readonly calls: PluginCall[];
  /** What a plugin does when it is called; one that nobody said anything of ends with 0 and says nothing. */
  readonly behave: (name: string, behaviour: Behaviour | Partial<PluginEnd>) => void;
  /** Why the sandbox of a plugin cannot be made; undefined again: it can. */
  readonly refuseStart: (name: string, reason: string | undefined) => void;
}

const silent: PluginEnd = { exitCode: 0, stdout: "", stderr: "", isTruncated: false };
const cancelled = (): PluginNotRun =>
  new PluginNotRun("it was killed with all processes that it had started: its caller is gone");

/** Plugins that exist on paper alone. */
export function createFakePluginSandbox(): FakePluginSandbox {
  const behaviours = new Map<string, Behaviour>();
  const refusals = new Map<string, string | undefined>();
  const calls: PluginCall[] = [];
  return {
    description: "Nothing runs.",
    calls,
    behave(name, behaviour) {
      behaviours.set(name, typeof behaviour === "function" ? behaviour : () => ({ ...silent, ...behaviour }));
    },
    refuseStart: (name, reason) => void refusals.set(name, reason),
    async tryStart({ manifest: { name } }, signal) {
      await Promise.resolve();
      if (signal.aborted) throw cancelled();
      const reason = refusals.get(name);
      if (reason !== undefined) throw new PluginNotRun(reason);
    },
    async run(call, signal) {
      if (signal.aborted) throw cancelled();
      calls.push(call);
      const gone = Promise.withResolvers<never>();
      const onAbort = (): void => gone.reject(cancelled());
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        const behaviour = behaviours.get(call.manifest.name) ?? (() => silent);
        return await Promise.race([behaviour(call, signal), gone.promise]);
      } finally {
        signal.removeEventListener("abort", onAbort);
        gone.promise.catch(() => undefined);
      }
    },
  };
}
