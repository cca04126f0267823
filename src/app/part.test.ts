import { describe, expect, it } from "vitest";
import { handlersOf, lifecycleOf, noParts, type PartContext } from "./part.ts";

const context = { version: "1.2.3" } as PartContext;

const calls: string[] = [];
const store = (_context: unknown, _earlier: unknown, read = (): string => "of the host") => ({
  read,
  handlers: { getOne: () => read() },
  start: () => void calls.push("start store"),
  dispose: () => void calls.push("dispose store"),
});
const late = ({ version }: Pick<PartContext, "version">) => Promise.resolve({ version, handlers: { getTwo: () => 2 } });
const reader = (_context: unknown, earlier: { readonly store: { readonly read: () => string } }) => ({
  found: earlier.store.read(),
  start: () => void calls.push("start reader"),
  reload: () => ({ found: earlier.store.read() }),
  dispose: () => {
    calls.push("dispose reader");
    throw new Error("it is gone");
  },
});
const list = noParts
  .add("store", store)
  .add("late", late)
  .add("absent", () => undefined)
  .add("reader", reader);

describe("a list of parts", () => {
  it("gives each part those before it, and the adapters of the host unless others are given", async () => {
    const host = await list.build(context);
    expect(host.reader.found).toBe("of the host");
    expect(host.late.version).toBe("1.2.3");
    const faked = await list.build(context, { store: () => "of a test" });
    expect(faked.reader.found).toBe("of a test");
  });

  it("does not compile where a part names one that is not before it", async () => {
    // @ts-expect-error the store comes after it
    const wrong = noParts.add("reader", reader).add("store", store);
    await expect(wrong.build(context)).rejects.toThrow(TypeError);
  });

  it("has the handlers of all parts, and does not compile where one is wanted that none has", async () => {
    const handlers = handlersOf(await list.build(context));
    const { getOne, getTwo }: { getOne: () => string; getTwo: () => number } = handlers;
    expect([getOne(), getTwo()]).toEqual(["of the host", 2]);
    // @ts-expect-error no part has it
    const { getThree }: { getThree: () => number } = handlers;
    expect(getThree).toBeUndefined();
  });

  it("starts, reloads and ends its parts; one that cannot end does not keep others from it", async () => {
    const errors: string[] = [];
    const lifecycle = lifecycleOf(await list.build(context), {
      error: (fields: object, message?: string) => void errors.push(`${String(message)} ${Object.keys(fields).join()}`),
    });
    calls.length = 0;
    await lifecycle.start();
    await lifecycle.ready();
    expect(await lifecycle.reload(context.config)).toEqual({ found: "of the host" });
    await lifecycle.stop();
    await lifecycle.dispose();
    expect(calls).toEqual(["start store", "start reader", "dispose reader", "dispose store"]);
    expect(errors).toEqual(["cannot close a part err"]);
  });
});
