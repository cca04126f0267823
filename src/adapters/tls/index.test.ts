import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fingerprintOf, lifetimeOf, namesOf, readClientTrust, readTlsPair } from "./index.ts";
import { selfSignedPair } from "./self-signed.ts";

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-tls-"));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const write = (name: string, content: string): string => {
  writeFileSync(join(stateDir, name), content, { mode: 0o600 });
  return join(stateDir, name);
};
const now = Date.parse("2026-01-01T00:00:00Z");
const names = { hostname: "Box", addresses: [] };
const makePair = (at = now) => selfSignedPair({ stateDir, now: at, names });

it("a TLS pair is read, unless everybody can read its key", async () => {
  const pair = await makePair();
  const files = { cert: join(stateDir, "tls-cert.pem"), key: join(stateDir, "tls-key.pem") };
  expect(readTlsPair(files)).toEqual(pair);
  chmodSync(files.key, 0o604);
  expect(() => readTlsPair(files)).toThrow(/everybody can read or write this private key/);
  expect(() => readTlsPair({ ...files, cert: "/nowhere" })).toThrow(/cannot read \/nowhere/);
});

it("a certificate has its names, and the chain the lifetime of its first", async () => {
  const first = await makePair();
  const second = await makePair(now + 400 * 86_400_000);
  expect(namesOf(first.cert)).toEqual(["localhost", "box"]);
  expect(fingerprintOf(first.cert)).toMatch(/^[0-9a-f]{64}$/);
  expect(lifetimeOf(`${second.cert}\n${first.cert}\n`)).toEqual({
    validFrom: now + 399 * 86_400_000,
    validTo: now + 397 * 86_400_000,
  });
});

it("client trust is refused with files without a certificate or CRL", async () => {
  const { cert, key } = await makePair();
  const ca = write("ca.pem", `subject=CN = Box\n${cert}`);
  const trust = (changes: Partial<Parameters<typeof readClientTrust>[0]>) =>
    readClientTrust({ ca, crl: undefined, ...changes });
  expect(trust({})).toMatchObject({ crl: undefined });
  expect(() => trust({ ca: write("empty.pem", "") })).toThrow(/empty\.pem: there is no certificate in it/);
  expect(() => trust({ ca: write("key.pem", key) })).toThrow(/key\.pem: there is no certificate in it/);
  expect(() => trust({ ca: write("cut.pem", cert.replace(/^M.{20}/m, "")) })).toThrow(/cannot use .*cut\.pem/);
  expect(() => trust({ crl: ca })).toThrow(/cannot use .*ca\.pem/);
  expect(() => trust({ crl: "/nowhere" })).toThrow(/cannot read \/nowhere/);
});
