import { expect, it } from "vitest";
import { parseDevices } from "#adapters/block-devices/index.ts";
import { describeCases, uncovered } from "./cases.ts";

/** Devices in the order of lsblk: kernel name, type, size in bytes. All four are lists, in which nothing stands below another. */
const devices: Readonly<Record<string, readonly string[]>> = {
  "ironic-many-kinds": [
    "sda disk 3116853504",
    "sdb disk 10737418240",
    "sdc disk 1765517033472",
    "sdd disk 1765517033472",
    "loop0 loop 109109248",
    "zram0 disk 0",
    ...[0, 1, 2, 3].map((at) => `ram${at} disk 8388608`),
    "fd1 disk 4096",
    "sdf disk 0",
    // A string, as lsblk of util-linux before 2.33 prints numbers.
    "dm-0 mpath 1765517033472",
  ],
  "ironic-raid": [
    "sda disk 1765517033472",
    "sda1 part 107373133824",
    // Twice in the list: the place is that of the last.
    "sdb disk 1765517033472",
    "sdb1 part 107373133824",
    "md0p1 md 107236818944",
    "md0 raid1 1765517033470",
    "md1 raid1 0",
  ],
  "simple-lvm": [
    ...[0, 1, 2, 3].map((at) => `loop${at} loop 10485760`),
    "sda disk 240057409536",
    "sda1 part 209715200",
    "sda2 part 209715200",
    "sda3 part 139912544256",
    "sda4 part 53687091200",
    "sda5 part 37648072704",
    "sda6 part 8388608000",
    "sdb disk 80026361856",
    "sdb1 part 80025313280",
    "dm-0 lvm 33554432",
    "nvme0n1 disk 240057409536",
    "nvme0n1p1 part 8355053568",
    "nvme0n1p2 part 214748364800",
    "nvme0n1p3 part 16952925696",
  ],
  "simple-nvme": [
    "sda disk 240057409536",
    "sda1 part 209715200",
    "sda2 part 209715200",
    "sda3 part 139912544256",
    "sda4 part 53687091200",
    "sda5 part 37648072704",
    "sda6 part 8388608000",
    "sdb disk 80026361856",
    "sdb1 part 80025313280",
    "nvme0n1 disk 240057409536",
    "nvme0n1p1 part 8355053568",
    "nvme0n1p2 part 214748364800",
    "nvme0n1p3 part 16952925696",
  ],
};

const unread = {
  "text-jc-ubuntu-allcols.txt": "lsblk is asked for JSON: its columns cannot be told apart where they are empty",
  "text-rhel-lvm.txt": "lsblk is asked for JSON",
};

describeCases("lsblk", ({ text, files }) => {
  const read = (file: string) => parseDevices(text(`${file}.json`)) ?? [];
  const device = (file: string, kname: string) => read(file).find(({ name }) => name === kname);

  it("every file is read below or has a reason why not", () => {
    const names = Object.keys(devices).map((name) => `${name}.json`);
    expect(uncovered(files(), { read: names, unread })).toEqual([]);
  });

  it.each(Object.entries(devices))("%s: each device once, with its type and size", (file, expected) => {
    expect(read(file).map(({ name, type, sizeBytes }) => `${name} ${type} ${sizeBytes}`)).toEqual(expected);
  });

  it("models, transports and what turns", () => {
    expect(device("ironic-many-kinds", "sda")).toMatchObject({
      path: "/dev/sda",
      model: "TinyUSB Drive",
      transport: "sas",
      isRotational: false,
    });
    expect(device("ironic-many-kinds", "loop0")).toMatchObject({ model: null, transport: null, isRotational: true });
    expect(device("simple-nvme", "nvme0n1")).toMatchObject({ model: "KINGSTON SKC1000240G", transport: "nvme" });
    expect(device("simple-nvme", "sda")).toMatchObject({ model: "KINGSTON SH103S3", transport: null });
    expect(device("simple-lvm", "dm-0")).toMatchObject({
      path: "/dev/mapper/vg_foo.4059-lv_foo.4059",
      number: "253:0",
      content: null,
    });
  });
});
