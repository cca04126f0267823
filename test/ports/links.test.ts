import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createLinks } from "#adapters/routes/links.ts";
import type { Links } from "#domain/ports/network-state.ts";
import { createFakeLinks, fakeLink } from "../fakes/links.ts";

const root = mkdtempSync(join(tmpdir(), "steward-links-"));
afterAll(() => rmSync(root, { recursive: true }));
const made = join(root, "class/net/steward-x");
mkdirSync(made, { recursive: true });
const values = {
  ...{ ifindex: "7", operstate: "up", flags: "0x1003", carrier: "1", mtu: "1500", address: "02:00:00:00:00:01" },
  ...{ speed: "-1", type: "1", uevent: "INTERFACE=steward-x\nIFINDEX=7\nDEVTYPE=vlan\n" },
};
for (const [name, value] of Object.entries(values)) writeFileSync(join(made, name), `${value}\n`);
symlinkSync("../br0", join(made, "master"));
// No link: a file that the driver of bonds has there.
writeFileSync(join(root, "class/net/bonding_masters"), "\n");
writeFileSync(join(root, "route"), "Iface\nsteward-x\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");

const missing = createFakeLinks();
missing.isMissing = true;

describe.each<[string, Links, Links]>([
  ["fake", createFakeLinks([fakeLink("steward-x", { kind: "vlan", master: "br0" })]), missing],
  ["sysfs", createLinks({ sysDir: root, procNet: root }), createLinks({ sysDir: join(root, "nothing") })],
])("links: %s", (_, able, unable) => {
  it("are listed, with routes", async () => {
    expect(await able.links()).toEqual([fakeLink("steward-x", { kind: "vlan", master: "br0" })]);
    expect(await able.routes()).toMatchObject([{ destination: "default", gateway: "192.0.2.1" }]);
  });

  it("are not where the kernel does not show them, and it is said what is missing", async () => {
    await expect(unable.links()).rejects.toMatchObject({
      details: { missing: expect.stringContaining("class/net"), retryable: false },
    });
  });
});

it("links of the machine have the loopback among them", async () => {
  expect(await createLinks().links()).toContainEqual(
    expect.objectContaining({ name: "lo", kind: "loopback", mac: null }),
  );
});
