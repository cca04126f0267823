import { beforeEach, describe, expect, it } from "vitest";
import type { HookEvent } from "#contract/plugins.ts";
import { createHooks } from "./hooks.ts";
import type { PluginHook } from "./plugin-kind.ts";

interface Called {
  readonly name: string;
  readonly message: unknown;
}

let called: Called[];
let failures: { readonly hook: string; readonly event: HookEvent; readonly error: unknown }[];
let hooks: ReturnType<typeof createHooks>;
beforeEach(() => {
  called = [];
  failures = [];
  hooks = createHooks({ clock: { now: () => 0 }, onFailure: (failure) => failures.push(failure) });
});

const hook = (name: string, rest: Partial<PluginHook> = {}): PluginHook => ({
  name,
  events: ["pre_fix", "post_fix"],
  onFailure: "allow",
  call(_event, message) {
    called.push({ name, message: JSON.parse(message) });
    return Promise.resolve(undefined);
  },
  ...rest,
});
const names = () => called.map(({ name }) => name);

describe("hooks", () => {
  it("are notified one after the other, of one event after the other", async () => {
    const releases: (() => void)[] = [];
    const slow: PluginHook["call"] = (_event, message) => {
      called.push({ name: "slow", message: JSON.parse(message) });
      return new Promise((resolve) => releases.push(() => resolve(undefined)));
    };
    hooks.add(hook("a", { call: slow }));
    hooks.add(hook("b"));
    const both = Promise.all([hooks.notify("post_fix", { at: 1 }), hooks.notify("post_fix", { at: 2 })]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(names()).toEqual(["slow"]);
    releases.pop()?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect(names()).toEqual(["slow", "b", "slow"]);
    releases.pop()?.();
    await both;
    expect(called).toMatchObject([
      { name: "slow", message: { subject: { at: 1 } } },
      { name: "b", message: { subject: { at: 1 } } },
      { name: "slow", message: { subject: { at: 2 } } },
      { name: "b", message: { subject: { at: 2 } } },
    ]);
  });

  it("miss events beyond 100 that wait, which is reported", async () => {
    const held = Promise.withResolvers<undefined>();
    hooks.add(hook("a", { call: () => held.promise }));
    const notified = Array.from({ length: 101 }, () => hooks.notify("post_fix", {}));
    await notified.at(-1);
    expect(failures).toMatchObject([{ hook: "a", error: { message: "100 events wait already" } }]);
    held.resolve(undefined);
    await Promise.all(notified);
    expect(failures).toHaveLength(1);
  });
});
