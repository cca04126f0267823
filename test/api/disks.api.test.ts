import { describe, expect, it } from "vitest";
import type { DiskList } from "#contract/disks.ts";
import { fakeDevice } from "../fakes/block-devices.ts";
import { fakeVolume } from "../fakes/mount-table.ts";
import { createFakeRaidArrays, fakeRaidArray } from "../fakes/raid-arrays.ts";
import { send, startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward } = useSteward(async () => {
  service = await startTestService({ raidArrays: createFakeRaidArrays([fakeRaidArray({ workingDevices: 1 })]) });
  return service;
});

const read = async (): Promise<DiskList> => {
  const { status, json } = await send(service, { path: "/api/v1/system/disks", key: service.key(["system:read"]) });
  expect(status).toBe(200);
  return json as DiskList;
};

const parts = (type: string) => ({ type: "part", content: { type, label: "host:0", uuid: "u" } });

function buildHost(): void {
  service.blockDevices.devices = [
    fakeDevice("sda", { number: "8:0", model: "Disk", transport: "sata" }),
    fakeDevice("sda1", { ...parts("linux_raid_member"), number: "8:1", parents: ["sda"] }),
    fakeDevice("sdb", { number: "8:16" }),
    fakeDevice("sdb1", { ...parts("linux_raid_member"), number: "8:17", parents: ["sdb"] }),
    fakeDevice("md0", { type: "raid1", number: "9:0", parents: ["sda1", "sdb1"] }),
    fakeDevice("dm-0", {
      ...{ type: "lvm", number: "253:0", parents: ["md0"], path: "/dev/mapper/vg-root" },
      content: { type: "ext4", label: "ro\u001b[2Jot", uuid: "u-1" },
    }),
    fakeDevice("sdc", { number: "8:32", content: { type: "btrfs", label: null, uuid: "b" } }),
    fakeDevice("sdd", { number: "8:48", content: { type: "btrfs", label: null, uuid: "b" } }),
    fakeDevice("sde", { number: "8:64", content: { type: "zfs_member", label: "tank", uuid: "z" } }),
  ];
  service.mountTable.volumes = [
    fakeVolume("/", { number: "253:0", source: "/dev/mapper/vg-root" }),
    fakeVolume("/srv", { number: "0:30", source: "/dev/sdd", type: "btrfs" }),
    fakeVolume("/tank", { number: "0:31", source: "tank/data", type: "zfs" }),
    fakeVolume("/mnt", { number: "0:32", source: "server:/x", type: "nfs4", isRemote: true, sizes: "it is not asked" }),
  ];
}

describe("disks", () => {
  it("are listed with arrays, file systems and usage", async () => {
    buildHost();
    const { devices, file_systems: fileSystems, notes } = await read();
    expect(devices.map(({ name }) => name)).toEqual(service.blockDevices.devices.map(({ name }) => name));
    expect(devices[4]).toMatchObject({
      parents: ["sda1", "sdb1"],
      array: { level: "raid1", is_active: true, devices: 2, working_devices: 1, rebuild_percent: null },
    });
    expect(fileSystems).toMatchObject([
      { source: "/dev/mapper/vg-root", devices: ["dm-0"], uuid: "u-1", pool: null, usage_unknown: null },
      { source: "server:/x", devices: [], is_remote: true, usage: null, usage_unknown: "it is not asked" },
      { source: "/dev/sdd", devices: ["sdc", "sdd"] },
      { source: "tank/data", devices: ["sde"], pool: "tank", label: null },
    ]);
    expect(fileSystems[0]?.usage).toEqual({
      ...{ size_bytes: 1_000_000, used_bytes: 500_000, available_bytes: 450_000, percent_used: 52.6 },
      ...{ inodes: 1_000, inodes_used: 100 },
    });
    expect(notes).toEqual([]);
  });

  it("have notes for a private mount namespace, and for file systems that are left out", async () => {
    service.mountTable.isOwnView = true;
    service.mountTable.leftOut = 3;
    expect((await read()).notes).toEqual([
      expect.stringContaining("sandbox"),
      expect.stringContaining("3 file systems"),
    ]);
  });

  it("are printed as a tree", async () => {
    buildHost();
    service.mountTable.swaps = [{ path: "/dev/sdb", type: "partition", sizeBytes: 1, usedBytes: 0, priority: 1 }];
    const { code, out, err } = await steward("disks");
    expect([code, err]).toEqual([0, "steward: not shown: usage of /mnt: it is not asked\n"]);
    const lines = out.split("\n").map((line) => line.replaceAll(/ {2,}/g, "  "));
    expect(lines[1]).toMatch(/^sda {2}disk {2}954 MiB/);
    expect(lines[2]).toMatch(/^└─sda1 {2}part/);
    expect(lines[3]).toMatch(/^ {2}└─md0 {2}raid1 1\/2/);
    expect(lines[4]).toMatch(/^ {2}└─vg-root {2}lvm {2}954 MiB {2}488 KiB {2}439 KiB {2}53 % {2}\/ {2}ext4 {2}10 %/);
    expect(lines[5]).toMatch(/^sdb .*\[swap\]/);
    expect(out).not.toContain("\u001b");
    const json = await steward("disks --json");
    expect(JSON.parse(json.out)).toEqual(await read());
  });
});
