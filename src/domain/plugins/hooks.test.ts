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
  it("are called in the order of their names, for the events that they want", async () => {
    hooks.add(hook("b"));
    hooks.add(hook("c", { events: ["pre_update"] }));
    hooks.add(hook("a"));
    expect(hooks.names("pre_fix")).toEqual(["a", "b"]);
    expect(await hooks.ask("pre_fix", { check_id: "x" })).toBeUndefined();
    expect(called).toEqual(
      ["a", "b"].map((name) => ({
        name,
        message: { event: "pre_fix", at: "1970-01-01T00:00:00.000Z", subject: { check_id: "x" } },
      })),
    );
  });

  it("are there until they are taken away", async () => {
    const remove = hooks.add(hook("a"));
    hooks.add(hook("b"));
    remove();
    await hooks.ask("pre_fix", {});
    expect([names(), hooks.names("post_fix"), hooks.names("pre_check")]).toEqual([["b"], ["b"], []]);
  });

  it("end at the first veto", async () => {
    hooks.add(hook("a", { call: () => Promise.resolve("not today") }));
    hooks.add(hook("b"));
    expect(await hooks.ask("pre_fix", {})).toEqual({ hook: "a", reason: "not today" });
    expect(called).toEqual([]);
  });

  it("without an answer let it pass or not, as they say, and are reported", async () => {
    const error = new Error("broken");
    const call = () => Promise.reject(error);
    hooks.add(hook("a", { call }));
    expect(await hooks.ask("pre_fix", {})).toBeUndefined();
    expect(failures).toEqual([{ hook: "a", event: "pre_fix", error }]);
    hooks.add(hook("b", { call, onFailure: "veto" }));
    expect(await hooks.ask("pre_fix", {})).toEqual({
      hook: "b",
      reason: "it has no answer, and objects then: broken",
    });
  });

  it("are told one after the other, of one event after the other", async () => {
    const releases: (() => void)[] = [];
    const slow: PluginHook["call"] = (_event, message) => {
      called.push({ name: "slow", message: JSON.parse(message) });
      return new Promise((resolve) => releases.push(() => resolve(undefined)));
    };
    hooks.add(hook("a", { call: slow }));
    hooks.add(hook("b"));
    const both = Promise.all([hooks.tell("post_fix", { at: 1 }), hooks.tell("post_fix", { at: 2 })]);
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

  it("miss events, and are reported, where too many wait already", async () => {
    const held = Promise.withResolvers<undefined>();
    hooks.add(hook("a", { call: () => held.promise }));
    const told = Array.from({ length: 101 }, () => hooks.tell("post_fix", {}));
    await told.at(-1);
    expect(failures).toMatchObject([{ hook: "a", error: { message: "100 events wait to be told already" } }]);
    held.resolve(undefined);
    await Promise.all(told);
    expect(failures).toHaveLength(1);
  });
});
