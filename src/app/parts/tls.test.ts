import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fingerprintOf } from "#adapters/tls/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import type { Config } from "#config/load.ts";
import { createLogs } from "#telemetry/logger.ts";
import type { ServerTls } from "#transports/http/tls.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { tlsPart } from "./tls.ts";

const dayMs = 86_400_000;

let stateDir: string;
let clock: FakeClock;
let lines: Record<string, unknown>[];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-host-tls-"));
  clock = createFakeClock();
  lines = [];
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const write = (name: string, content: string): string => {
  writeFileSync(join(stateDir, name), content, { mode: 0o600 });
  return join(stateDir, name);
};
const logs = () =>
  createLogs({
    level: "info",
    writer: { write: (text) => void lines.push(JSON.parse(text) as Record<string, unknown>) },
  });
const messages = () => lines.map(({ msg }) => msg);

/** Puts a pair of 397 days into the state directory, as if it had been made at that time. */
const makeGiven = async (madeAt: number) => {
  const directory = mkdtempSync(join(stateDir, "pair-"));
  return selfSignedPair({ stateDir: directory, now: madeAt, names: { hostname: "given", addresses: [] } });
};
const given: { cert: string; key: string } = { cert: "", key: "" };
const install = (pair: { cert: string; key: string }) => {
  given.cert = write("given.pem", pair.cert);
  given.key = write("given-key.pem", pair.key);
};

async function open(tls: Config["tls"]) {
  const host = await tlsPart({ config: { tls, stateDir }, clock, log: logs().log });
  const replaced: ServerTls[] = [];
  const dispose = host.watch((next) => replaced.push(next));
  /** Moves time on, and looks as often as a service would that is asleep for most of it. */
  const pass = async (durationMs: number, stepMs = durationMs): Promise<void> => {
    for (let passed = 0; passed < durationMs; passed += stepMs) {
      clock.set(clock.now() + stepMs);
      await host.look();
    }
  };
  return { host, replaced, dispose, pass };
}

it("a self-signed TLS pair is renewed before its end while the service runs", async () => {
  const { host, replaced, pass } = await open("auto");
  const first = host.current();
  await pass(360 * dayMs);
  expect(replaced).toEqual([]);
  await pass(8 * dayMs);
  expect(replaced).toHaveLength(1);
  expect(host.current()).toEqual(replaced[0]);
  expect(host.current()?.cert).not.toBe(first?.cert);
  expect(messages()).toEqual(["TLS certificate replaced"]);
});

it("a TLS pair of the settings is picked up when its files change", async () => {
  install(await makeGiven(clock.now()));
  const { host, replaced } = await open(given);
  const renewed = await makeGiven(clock.now() + dayMs);
  install(renewed);
  await clock.advance(3_599_999);
  expect(replaced).toEqual([]);
  await clock.advance(1);
  await expect.poll(() => replaced).toEqual([renewed]);
  await host.look();
  expect(host.current()).toEqual(renewed);
  expect(lines).toMatchObject([{ msg: "TLS certificate replaced", cert_sha256: fingerprintOf(renewed.cert) }]);
  expect(host.names()).toEqual(["localhost", "given"]);
});

it("a TLS pair of the settings that expires is reported once a day", async () => {
  install(await makeGiven(clock.now()));
  const { pass, dispose } = await open(given);
  await pass(382 * dayMs);
  expect(messages()).toEqual([]);
  await pass(2 * dayMs, dayMs / 24);
  expect(lines).toMatchObject([
    { level: "warn", msg: "TLS certificate expires soon", paths: [given.cert] },
    { msg: "TLS certificate expires soon" },
  ]);
  lines = [];
  await pass(15 * dayMs, dayMs);
  expect(messages()).toHaveLength(15);
  expect(messages().at(-1)).toBe("TLS certificate has expired");
  dispose();
  lines = [];
  await clock.advance(2 * dayMs);
  expect(messages()).toEqual([]);
});

it("a TLS pair in use is kept while its files are unusable", async () => {
  const before = await makeGiven(clock.now());
  install(before);
  const { host, replaced, pass } = await open(given);
  write("given.pem", (await makeGiven(clock.now())).cert);
  await pass(3_600_000);
  expect(lines).toMatchObject([{ level: "error", msg: "cannot reload TLS: the previous certificate stays in use" }]);
  expect([host.current(), replaced]).toEqual([before, []]);
});

it("client certificates of the settings take effect with a restart alone", async () => {
  const ca = write("ca.pem", (await makeGiven(clock.now())).cert);
  const pair = await makeGiven(clock.now());
  install(pair);
  const { host, replaced } = await open({ ...given, client_ca: ca });
  await host.reload({ tls: { ...given, client_ca: ca, client_certs: "required" }, stateDir });
  await host.reload({ tls: given, stateDir });
  await host.reload({ tls: "off", stateDir });
  expect(messages()).toEqual(Array.from({ length: 3 }, () => "settings changed that take effect with a restart"));
  expect(host.current()?.clients?.isRequired).toBe(false);
  expect(replaced).toEqual([]);
  const off = await open("off");
  await off.host.reload({ tls: "auto", stateDir });
  expect([off.host.current(), messages().length]).toEqual([undefined, 4]);
});
