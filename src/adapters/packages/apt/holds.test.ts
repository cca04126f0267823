import { expect, it } from "vitest";
import type { PresentPackage } from "#domain/ports/packages.ts";
import { LockHeld, type Transaction, TransactionFailed } from "../common/transactions.ts";
import { createHolds } from "./holds.ts";
import { aptPaths } from "./words.ts";

const { signal } = new AbortController();
const present = (name: string, architecture: string, state: PresentPackage["state"] = "installed"): PresentPackage => ({
  name,
  architecture,
  version: "1",
  isManual: true,
  isHeld: false,
  state,
});
const web = { name: "web", architecture: "all" };

function open(failure?: Error) {
  const begun: Transaction[] = [];
  const transact = (transaction: Transaction): Promise<string> => {
    begun.push(transaction);
    return failure === undefined ? Promise.resolve("web set on hold.") : Promise.reject(failure);
  };
  const packages = [present("web", "all"), present("lib", "i386"), present("gone", "amd64", "configuration")];
  return { set: createHolds({ transact, paths: aptPaths, present: () => Promise.resolve(packages) }), begun };
}

it("names packages with their architectures, after the end of the options, and waits for both locks of dpkg", async () => {
  const { set, begun } = open();
  expect(await set({ isHeld: true, packages: [web, { name: "lib", architecture: "i386" }] }, signal)).toEqual({
    isDone: true,
    reason: "",
  });
  expect(await set({ isHeld: false, packages: [web] }, signal)).toMatchObject({ isDone: true });
  expect(begun.map(({ argv }) => argv.slice(argv.indexOf("--") - 1))).toEqual([
    ["hold", "--", "web:all", "lib:i386"],
    ["unhold", "--", "web:all"],
  ]);
  expect(begun.map(({ locks }) => locks)).toEqual(
    Array.from({ length: 2 }, () => ["/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock"]),
  );
});

it("begins nothing for no package, and nothing at all where one of them is not installed", async () => {
  const { set, begun } = open();
  expect(await set({ isHeld: true, packages: [] }, signal)).toMatchObject({ isDone: true });
  for (const name of ["absent", "gone", "-o", "web -o", "web+", "WEB", ""])
    await expect(set({ isHeld: true, packages: [web, { name, architecture: "amd64" }] }, signal)).rejects.toThrow(
      `${name}:amd64 is not installed`,
    );
  expect(begun).toEqual([]);
});

it("says who has the lock, and what failed", async () => {
  const holder = { pid: 7, program: "apt-get" };
  await expect(
    open(new LockHeld("apt-get has it", holder)).set({ isHeld: true, packages: [web] }, signal),
  ).rejects.toMatchObject({ name: "PackagesLocked", holder });
  const failed = open(new TransactionFailed("no space left"));
  expect(await failed.set({ isHeld: true, packages: [web] }, signal)).toEqual({
    isDone: false,
    reason: "no space left",
  });
});
