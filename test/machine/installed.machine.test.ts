import { expect, it } from "vitest";
import type { HealthCheckResult } from "#contract/checks.ts";
import { readAll } from "./reads.ts";
import { describeOnMachine, inTime } from "./support.ts";

/** What the machine has none of, and what a page or a client with a cursor asks. */
const ofNothing = [
  "diffSnapshot",
  "diffSnapshotFile",
  "getApproval",
  "getConnector",
  "getKey",
  "getLogContext",
  "getOperation",
  "getPlugin",
  "getSilence",
  "getSnapshot",
  "getTrace",
];

const mebibyte = 2 ** 20;
const disks = [
  { id: "nvme0", kind: "nvme", sizeBytes: 64 * mebibyte },
  { id: "ahci0", kind: "ahci", sizeBytes: 64 * mebibyte },
  { id: "raid0", kind: "virtio", sizeBytes: 256 * mebibyte },
  { id: "raid1", kind: "virtio", sizeBytes: 256 * mebibyte },
  { id: "leaves", kind: "scsi", sizeBytes: 256 * mebibyte },
  { id: "goes", kind: "scsi", sizeBytes: 64 * mebibyte },
] as const;

describeOnMachine("a machine with a kernel of its own", disks, (session) => {
  const shell = (line: string): Promise<string> => session.machine.shell(line);
  const check = async (id: string): Promise<HealthCheckResult> =>
    (await session.api()).getCheck({ params: { check_id: id } });
  const member = (id: string): string => `/dev/disk/by-id/virtio-${id}`;

  it("runs every check, and none fails itself", async () => {
    const api = await session.api();
    const { results } = await inTime(() => api.listChecks());
    const rows = results.map(({ check_id: id, status, message }) => `${id.padEnd(24)} ${status.padEnd(5)} ${message}`);
    process.stdout.write(`${rows.join("\n")}\n`);
    expect(rows.filter((row) => /itself failed|EACCES|EPERM|did not end within|still hang/.test(row))).toEqual([]);
  });

  it("answers every read of the table of operations", async () => {
    const answers = await readAll(session);
    const without = answers.filter(({ status }) => status !== 200);
    process.stdout.write(
      `${answers.length} reads, not 200: ${JSON.stringify(without.map(({ name, status }) => [name, status]))}\n`,
    );
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    expect(without.map(({ name }) => name).sort()).toEqual(ofNothing);
  });

  it("has the unit in its profile of AppArmor, which denies nothing that the service asks for", async () => {
    expect(await shell("cat /proc/$(systemctl show --property MainPID --value steward)/attr/current")).toBe(
      "steward-service (enforce)\n",
    );
    const said = await shell("journalctl --dmesg --output cat --grep apparmor=");
    expect(said).toContain('name="steward-service"');
    expect(said).not.toContain("DENIED");
  });

  it("has disks with SMART, by NVMe and by AHCI", async () => {
    const { status, details } = await check("smart");
    expect([status, details]).toEqual([
      "pass",
      expect.objectContaining({
        disks: expect.arrayContaining([
          expect.objectContaining({ kind: "nvme", healthy: true, model: "QEMU NVMe Ctrl" }),
          expect.objectContaining({ healthy: true, model: "QEMU HARDDISK", reallocated_sectors: 0 }),
        ]),
      }),
    ]);
  });

  it("has a RAID array that loses a member", async () => {
    const members = `${member("raid0")} ${member("raid1")}`;
    await shell(`yes | mdadm --create /dev/md0 --level 1 --raid-devices 2 --assume-clean ${members} 2>&1`);
    expect(await check("raid_status")).toMatchObject({ status: "pass", message: "The RAID array is healthy" });
    await shell(`mdadm /dev/md0 --fail ${member("raid1")} 2>&1`);
    expect(await check("raid_status")).toMatchObject({
      status: "fail",
      message: "md0 has 1 of 2 devices: replace the failed devices",
      details: { arrays: [{ level: "raid1", active: true, devices: 2, working_devices: 1 }] },
    });
  });

  it("has a thin pool of LVM on the array, which fills up", async () => {
    const create = `lvcreate --quiet --config 'global/thin_check_executable=""'`;
    await shell(
      [
        "pvcreate --quiet /dev/md0 && vgcreate --quiet group /dev/md0",
        `${create} --type thin-pool --extents 40 --name pool --zero n group`,
        `${create} --thin --virtualsize 1g --name thin group/pool`,
      ].join(" && "),
    );
    expect(await check("lvm_thin")).toMatchObject({ status: "pass" });
    await shell("dd if=/dev/urandom of=/dev/group/thin bs=1M count=140 oflag=direct status=none");
    expect(await check("lvm_thin")).toMatchObject({
      status: "warn",
      details: { pools: [{ name: "group/pool", data_percent: 87.5 }] },
    });
    await shell("vgremove --quiet --force group 2>&1");
  });

  it("has a firewall of nftables", async () => {
    expect(await check("firewall")).toMatchObject({ status: "warn" });
    const chain = "add chain inet filter input { type filter hook input priority 0; policy drop; }";
    const rules = ["iif lo accept", "tcp dport 22 accept"].map((rule) => `add rule inet filter input ${rule}`);
    await shell(`nft '${["add table inet filter", chain, ...rules].join("; ")}'`);
    // Root's side is asked for it now and then alone.
    await inTime(async () => expect(await check("firewall")).toMatchObject({ status: "pass" }));
  });

  it("measures the pressure on its processor", async () => {
    const { details } = await check("pressure");
    expect(details).toMatchObject({ cpu_some_avg300_percent: expect.any(Number) });
    expect(Object.entries(details).find(([name]) => name === "cpu_some_avg300_percent")?.[1]).toBeGreaterThan(0);
  });

  it("kills a process that outgrows its memory, which the check says", async () => {
    const outgrow = `python3 -c 'memory = bytearray(256 << 20)'`;
    await shell(`! systemd-run --quiet --wait --property MemoryMax=32M ${outgrow}`);
    await inTime(async () =>
      expect(await check("oom_kills")).toMatchObject({ status: "warn", details: { kills: [{ process: "python3" }] } }),
    );
  });

  it("has file systems on disks that go away, which the checks say while everything is answered", async () => {
    const api = await session.api();
    const device = (id: string): string => `/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_${id}`;
    const make = (id: string, type: string): string =>
      `mkfs.${type} -q ${device(id)} && mkdir /srv/${id} && mount ${device(id)} /srv/${id}`;
    await shell(`${make("leaves", "btrfs")} && ${make("goes", "ext4")}`);
    const statuses = async (): Promise<readonly string[]> =>
      (await Promise.all(["read_only_filesystems", "kernel_errors"].map(check))).map(({ status }) => status);
    const ofBoth = async () => {
      const { status, message, details } = await check("filesystem_health");
      const all = Reflect.get(details, "file_systems") as readonly { path: string }[];
      return { status, message, found: ["leaves", "goes"].map((id) => all.find(({ path }) => path === `/srv/${id}`)) };
    };
    expect(await statuses()).toEqual(["pass", "pass"]);
    const whole = { errors: {}, missing_devices: 0 };
    expect(await ofBoth()).toMatchObject({ status: "pass", found: [whole, whole] });
    for (const id of ["leaves", "goes"]) await session.machine.qmp.run("device_del", { id });
    await shell("for each in leaves goes; do echo lost > /srv/$each/file; sync --file-system /srv/$each; done; true");
    await inTime(async () => expect(await statuses()).toEqual(["fail", "fail"]));
    const { message, ...rest } = await ofBoth();
    expect(rest).toMatchObject({
      status: "fail",
      found: [
        { type: "btrfs", missing_devices: 1 },
        { type: "ext4", missing_devices: 1 },
      ],
    });
    for (const problem of ["/srv/leaves lacks 1 device", "the device of /srv/goes (ext4) is gone"])
      expect(message).toContain(problem);
    await Promise.all([
      check("disk_space"),
      check("smart"),
      api.listDisks(),
      api.getDiskUsage({ query: { path: "/srv" } }),
    ]);
  });

  it("has a file system in an image file, on a loop device", async () => {
    await shell(
      "truncate -s 64M /srv/image && mkfs.ext4 -q /srv/image && mkdir /srv/loop && mount /srv/image /srv/loop && udevadm settle",
    );
    const name = (await shell("basename $(findmnt --noheadings --output SOURCE /srv/loop)")).trim();
    const { devices, file_systems: fileSystems } = await (await session.api()).listDisks();
    expect(devices.find((each) => each.name === name)).toMatchObject({
      type: "loop",
      size_bytes: 64 * mebibyte,
      parents: [],
      content: { type: "ext4" },
    });
    expect(fileSystems.find(({ source }) => source === `/dev/${name}`)).toMatchObject({
      devices: [name],
      is_remote: false,
      mounts: [{ path: "/srv/loop", root: null, is_read_only: false }],
      usage_unknown: null,
    });
    await shell("cat /dev/zero > /srv/loop/full 2>/dev/null; true");
    expect(await check("disk_space")).toMatchObject({
      status: "fail",
      message: expect.stringMatching(/^\/srv\/loop is 100 % full/),
    });
    await shell(`echo made by a test > /sys/fs/ext4/${name}/trigger_fs_error`);
    expect(await check("filesystem_health")).toMatchObject({
      status: "fail",
      message: expect.stringContaining("/srv/loop (ext4) has 1 error on record"),
    });
    await shell("umount /srv/loop");
  });

  it("needs a reboot for a second kernel, and is rebooted by a call", async () => {
    const running = (await shell("uname -r")).trim();
    expect(await check("reboot_required")).toMatchObject({ status: "pass" });
    const newer = running.replace(/^(\d+\.\d+\.)\d+/, "$1999");
    const modules = "/lib/modules";
    await shell(`mkdir ${modules}/${newer} && cp ${modules}/${running}/modules.order ${modules}/${newer}/`);
    const needed = { status: "warn", details: { running_kernel: running, newest_kernel: newer } };
    expect(await check("reboot_required")).toMatchObject(needed);
    expect(await (await session.api()).listStale()).toMatchObject({
      kernel: { running, newest: newer },
      requires_reboot: true,
    });
    const bootId = await shell("cat /proc/sys/kernel/random/boot_id");
    const up = session.machine.nextBoot();
    expect(await (await session.api()).rebootHost({ body: { message: "a new kernel" } })).toMatchObject({
      success: true,
    });
    await up;
    expect(await shell("cat /proc/sys/kernel/random/boot_id")).not.toBe(bootId);
    // The service is there by itself. The emulator boots the kernel that it was given.
    await inTime(async () => expect(await check("reboot_required")).toMatchObject(needed));
    // Whether Debian starts an array that lacks a member depends on what came first at the boot.
    expect(await check("raid_status")).toMatchObject({ status: "fail" });
  });
});
