import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createConntrack } from "#adapters/procfs/conntrack.ts";
import type { Conntrack } from "#domain/ports/conntrack.ts";
import { createFakeConntrack } from "../fakes/conntrack.ts";

const dir = mkdtempSync(join(tmpdir(), "steward-proc-"));
afterAll(() => rmSync(dir, { recursive: true }));
const procWith = (maximum: number): string => {
  const procDir = join(dir, String(maximum));
  mkdirSync(join(procDir, "sys/net/netfilter"), { recursive: true });
  writeFileSync(join(procDir, "sys/net/netfilter/nf_conntrack_count"), "12\n");
  writeFileSync(join(procDir, "sys/net/netfilter/nf_conntrack_max"), `${maximum}\n`);
  return procDir;
};

describe.each([
  ["fake", createFakeConntrack({ entries: 12, maximum: 262_144 }), createFakeConntrack()],
  ["procfs", createConntrack({ procDir: procWith(262_144) }), createConntrack({ procDir: "/nonexistent" })],
] as const)("tracked connections: %s", (_, present: Conntrack, absent: Conntrack) => {
  it("are counted, with how many there may be", async () => {
    expect(await present.usage()).toEqual({ entries: 12, maximum: 262_144 });
  });

  it("are undefined where there are none", async () => {
    expect(await absent.usage()).toBeUndefined();
  });
});

it("tracked connections: procfs without a limit says nothing", async () => {
  expect(await createConntrack({ procDir: procWith(0) }).usage()).toBeUndefined();
});
