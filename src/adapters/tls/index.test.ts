import { X509Certificate } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readTlsPair, selfSignedPair } from "./index.ts";

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-tls-"));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const write = (name: string, content: string): string => {
  writeFileSync(join(stateDir, name), content, { mode: 0o600 });
  return join(stateDir, name);
};
const pairAt = (now: number) => selfSignedPair({ stateDir, now, write });

it("makes a pair for this machine's names and addresses, and keeps it until it nearly expires", async () => {
  const now = Date.now();
  const pair = await pairAt(now);
  const certificate = new X509Certificate(pair.cert);
  expect(certificate.checkHost("localhost")).toBe("localhost");
  expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(certificate.ca).toBe(false);
  expect(await pairAt(now + 366 * 86_400_000)).toEqual(pair);
  expect(await pairAt(now + 368 * 86_400_000)).not.toEqual(pair);
});

it("makes a new pair where a crash left halves of two", async () => {
  const first = await pairAt(Date.now());
  rmSync(join(stateDir, "tls-key.pem"));
  const second = await pairAt(Date.now());
  expect(second.key).not.toBe(first.key);
  writeFileSync(join(stateDir, "tls-cert.pem"), first.cert);
  const third = await pairAt(Date.now());
  expect([first.cert, second.cert]).not.toContain(third.cert);
});

it("reads a given pair and refuses a key that everybody can read", async () => {
  const pair = await pairAt(Date.now());
  const files = { cert: join(stateDir, "tls-cert.pem"), key: join(stateDir, "tls-key.pem") };
  expect(readTlsPair(files)).toEqual(pair);
  chmodSync(files.key, 0o604);
  expect(() => readTlsPair(files)).toThrow(/everybody can read or write this private key/);
  expect(() => readTlsPair({ ...files, cert: "/nowhere" })).toThrow(/cannot read \/nowhere/);
});
