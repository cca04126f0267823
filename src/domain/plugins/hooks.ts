import type { HookEvent } from "#contract/plugins.ts";
import type { HookSubject, Hooks, PostEvent } from "#domain/common/hooks.ts";
import { type Clock, type Dispose, toTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { PluginHook } from "./plugin-kind.ts";

/** Limits the events that wait to be delivered. */
const maxWaiting = 100;

const nobody: readonly PluginHook[] = [];
/** The hooks, called one after the other in the order of their names. */
export function createHooks(ports: {
  readonly clock: Pick<Clock, "now">;
  readonly onFailure: (failure: { readonly hook: string; readonly event: HookEvent; readonly error: unknown }) => void;
}): Hooks & { readonly add: (hook: PluginHook) => Dispose } {
  const { clock, onFailure } = ports;
  let all: readonly PluginHook[] = [];
  let byEvent: ReadonlyMap<HookEvent, readonly PluginHook[]> = new Map();
  let names: ReadonlyMap<HookEvent, readonly string[]> = new Map();
  let waiting = 0;
  let last = Promise.resolve();

  const place = (hooks: readonly PluginHook[]): void => {
    all = hooks.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const events = [...new Set(all.flatMap((hook) => hook.events))];
    byEvent = new Map(events.map((event) => [event, all.filter((hook) => hook.events.includes(event))]));
    names = new Map([...byEvent].map(([event, each]) => [event, each.map(({ name }) => name)]));
  };
  const wanting = (event: HookEvent): readonly PluginHook[] => byEvent.get(event) ?? nobody;
  const messageOf = (event: HookEvent, subject: HookSubject): string =>
    `${JSON.stringify({ event, at: toTimestamp(clock.now()), subject })}\n`;

  const call = async (hook: PluginHook, event: HookEvent, message: string): Promise<string | undefined> => {
    try {
      return await hook.call(event, message);
    } catch (error) {
      onFailure({ hook: hook.name, event, error });
      return hook.onFailure === "veto" ? `it has no answer, and objects then: ${errorMessage(error)}` : undefined;
    }
  };

  const notifyAll = async (event: PostEvent, message: string): Promise<void> => {
    for (const hook of wanting(event)) await call(hook, event, message);
  };

  return {
    add(hook) {
      place([...all, hook]);
      return () => place(all.filter((each) => each !== hook));
    },
    names: (event) => names.get(event) ?? [],
    async ask(event, subject) {
      const hooks = wanting(event);
      if (hooks.length === 0) return undefined;
      const message = messageOf(event, subject);
      for (const hook of hooks) {
        const reason = await call(hook, event, message);
        if (reason !== undefined) return { hook: hook.name, reason };
      }
      return undefined;
    },
    async notify(event, subject) {
      const hooks = wanting(event);
      if (hooks.length === 0) return;
      if (waiting >= maxWaiting) {
        const error = new Error(`${waiting} events wait already`);
        for (const { name } of hooks) onFailure({ hook: name, event, error });
        return;
      }
      const message = messageOf(event, subject);
      waiting += 1;
      last = last
        .then(() => notifyAll(event, message))
        .finally(() => {
          waiting -= 1;
        });
      await last;
    },
  };
}
