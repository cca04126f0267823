import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { selfSignedPair } from "./self-signed.ts";

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-tls-"));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const machine = { hostname: "box", addresses: ["127.0.0.1", "::1", "192.0.2.7", "2001:db8::7", "fe80::1%eth0"] };
const pairAt = (now: number, names = machine, looksAtNames = true) =>
  selfSignedPair({ stateDir, now, names, looksAtNames });

it("a self-signed pair has the names and addresses of the machine, and is kept until it nearly expires", async () => {
  const now = Date.now();
  const pair = await pairAt(now);
  const certificate = new X509Certificate(pair.cert);
  expect(["localhost", "box"].map((name) => certificate.checkHost(name))).toEqual(["localhost", "box"]);
  for (const address of ["127.0.0.1", "::1", "192.0.2.7", "2001:db8::7"]) {
    expect(certificate.checkIP(address)).toBe(address);
  }
  expect(certificate.ca).toBe(false);
  expect(await pairAt(now + 366 * 86_400_000)).toEqual(pair);
  expect(await pairAt(now + 368 * 86_400_000)).not.toEqual(pair);
});

it("a self-signed pair is made again when a crash left halves of two", async () => {
  const first = await pairAt(Date.now());
  rmSync(join(stateDir, "tls-key.pem"));
  const second = await pairAt(Date.now());
  expect(second.key).not.toBe(first.key);
  writeFileSync(join(stateDir, "tls-cert.pem"), first.cert);
  const third = await pairAt(Date.now());
  expect([first.cert, second.cert]).not.toContain(third.cert);
});

it.each([
  ["another name", { ...machine, hostname: "other_box" }],
  ["a further IPv4 address", { ...machine, addresses: [...machine.addresses, "198.51.100.9"] }],
])("a self-signed pair is made again for %s, and then kept", async (_, changed) => {
  const now = Date.now();
  const before = await pairAt(now);
  expect(await pairAt(now, changed, false)).toEqual(before);
  const after = await pairAt(now, changed);
  expect(after.cert).not.toBe(before.cert);
  expect(await pairAt(now, changed)).toEqual(after);
});

it.each([
  ["fewer addresses", { ...machine, addresses: ["127.0.0.1"] }],
  ["a further IPv6 address", { ...machine, addresses: [...machine.addresses, "2001:db8::99"] }],
])("a self-signed pair is kept with %s", async (_, changed) => {
  const before = await pairAt(Date.now());
  expect(await pairAt(Date.now(), changed)).toEqual(before);
});
