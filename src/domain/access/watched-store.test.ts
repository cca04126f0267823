import { expect, it } from "vitest";
import type { KeyStore } from "#domain/ports/access.ts";
import { watchedStore } from "./keyring.ts";

it("a key store reports once that it cannot be written, and once that it can be again", () => {
  let isFull = false;
  const write = (): void => {
    if (isFull) throw new Error("no space left on device");
  };
  const store: KeyStore = {
    keys: () => [],
    tokens: () => [],
    insertKey: write,
    revokeKey: write,
    insertToken: write,
    deleteTokens: write,
    touchKeys: write,
  };
  const turns: boolean[] = [];
  const watched = watchedStore(store, () => turns.push(!isFull));
  watched.revokeKey("a", 1);
  expect(turns).toEqual([]);
  isFull = true;
  expect(() => watched.revokeKey("b", 1)).toThrow("no space left");
  expect(() => watched.deleteTokens(["c"])).toThrow("no space left");
  expect(turns).toEqual([false]);
  isFull = false;
  watched.touchKeys(new Map());
  watched.revokeKey("d", 1);
  expect(turns).toEqual([false, true]);
});
