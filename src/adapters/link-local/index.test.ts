import type { LookupFunction } from "node:net";
import { describe, expect, it } from "vitest";
import { guardedLookup, isLinkLocal } from "./index.ts";

it.each([
  ...["169.254.0.0", "169.254.169.254", "169.254.255.255", "fe80::1", "febf:ffff::1", "[fe80::1]", "fe80::1%eth0"],
  ...["::ffff:169.254.169.254", "[::ffff:a9fe:a9fe]", "64:ff9b::169.254.169.254", "fd00:ec2::254", "fd20:ce::254"],
])("%s is link-local", (address) => {
  expect(isLinkLocal(address)).toBe(true);
});

it.each([
  ...["127.0.0.1", "169.253.255.255", "169.255.0.0", "10.0.0.1", "::1", "fec0::1", "fe7f::1", "::ffff:127.0.0.1"],
  ...["64:ff9b::8.8.8.8", "fd00::1", "169.254.169.254.example.org", "localhost", ""],
])("%j is not link-local", (address) => {
  expect(isLinkLocal(address)).toBe(false);
});

const resolving =
  (...addresses: readonly string[]): LookupFunction =>
  (_, { all }, callback) =>
    all === true
      ? callback(
          null,
          addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        )
      : callback(null, addresses[0] ?? "", 4);
const failing: LookupFunction = (host, _, callback) => callback(new Error(`no such name: ${host}`), "");

const answer = (resolve: LookupFunction, all: boolean): Promise<unknown> =>
  new Promise((settle) => {
    const lookup = guardedLookup((address) => new Error(`refused: ${address}`), resolve);
    lookup("name", { all }, (error, found) => settle(error === null ? found : error.message));
  });

describe("a lookup that skips link-local addresses", () => {
  it("leaves out the addresses where nobody is asked", async () => {
    expect(await answer(resolving("169.254.169.254", "10.0.0.1", "fe80::1"), true)).toEqual([
      { address: "10.0.0.1", family: 4 },
    ]);
    expect(await answer(resolving("10.0.0.1"), false)).toBe("10.0.0.1");
  });

  it.each([true, false])("refuses a name that has no other address, all: %s", async (all) => {
    expect(await answer(resolving("fe80::1"), all)).toBe("refused: fe80::1");
  });

  it("refuses a name without an address, and passes on the error of the resolver", async () => {
    expect(await answer(resolving(), true)).toBe("refused: name");
    expect(await answer(failing, true)).toBe("no such name: name");
  });
});
