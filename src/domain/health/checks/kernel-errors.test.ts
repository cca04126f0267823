import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import { createFakeJournal, createFakeJournalStorage, unreadFile } from "../../../../test/fakes/journal.ts";
import { kernelErrorsCheck } from "./kernel-errors.ts";

const { signal } = new AbortController();
const clock = createFakeClock(Date.parse("2026-01-02T12:00:00Z"));
const tainted = (flags: number) => createFakeHostFiles({ "/proc/sys/kernel/tainted": `${flags}\n` });
const hourAgo = Date.parse("2026-01-02T11:00:00Z") * 1000;

function run(messages: readonly string[], { ignore = [] as readonly string[], flags = 0, time = hourAgo } = {}) {
  const lines = messages.map((message, at) => ({ message, time: time + at, unit: "kernel" }));
  const journal = createFakeJournal(lines);
  return kernelErrorsCheck({ journal, clock, hostFiles: tainted(flags) }).run({ ignore }, signal);
}

/** Lines as kernels of the last ten years write them. */
it.each([
  ["io_error", "sda", "warn", "blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0"],
  ["io_error", "sdb", "warn", "critical medium error, dev sdb, sector 1234 op 0x0:(READ)"],
  ["io_error", "dm-0", "warn", "Buffer I/O error on dev dm-0, logical block 7, lost async page write"],
  [
    "no_space_behind",
    "dm-5",
    "warn",
    "critical space allocation error, dev dm-5, sector 20482 op 0x1:(WRITE) flags 0x4800 phys_seg 20 prio class 2",
  ],
  ["ata_error", "ata3", "warn", "ata3.00: failed command: READ FPDMA QUEUED"],
  ["nvme_error", "nvme0", "warn", "nvme nvme0: I/O 12 QID 3 timeout, aborting"],
  ["nvme_error", "nvme1", "warn", "nvme nvme1: controller is down; will reset: CSTS=0xffffffff"],
  ["ext4_error", "sda1", "fail", "EXT4-fs error (device sda1): ext4_lookup:1855: inode #2: comm ls: deleted inode"],
  ["xfs_error", "dm-2", "fail", "XFS (dm-2): Metadata corruption detected at xfs_agf_read_verify+0x1/0x2, block 0x1"],
  ["xfs_error", "sdc1", "fail", "XFS (sdc1): log I/O error -5, Filesystem has been shut down due to log error (0x2)."],
  ["btrfs_error", "sdd", "fail", "BTRFS error (device sdd): bdev /dev/sdd errs: wr 0, rd 0, flush 0, corrupt 1, gen 0"],
  ["btrfs_error", "loop0", "fail", "BTRFS critical (device loop0 state EA): corrupt leaf, root=5"],
  [
    "btrfs_error",
    "loop3",
    "fail",
    "BTRFS error (device loop3: state EA): failed to run delayed ref for logical 1064960",
  ],
  ["btrfs_error", "sde", "fail", "BTRFS: error (device sde) in btrfs_commit_transaction:2418: errno=-5 IO failure"],
  ["memory_corrected", "MC0", "warn", "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0"],
  ["memory_uncorrected", "MC1", "fail", "EDAC MC1: 1 UE memory read error on unknown label"],
  ["machine_check", "", "warn", "mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: be00000000800400"],
  ["hung_task", "nfsd", "warn", "INFO: task nfsd:812 blocked for more than 120 seconds."],
  ["soft_lockup", "1", "warn", "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:2:93]"],
  ["hard_lockup", "", "fail", "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3"],
  ["oops", "", "fail", "BUG: unable to handle page fault for address: ffffb0c0c0de0000"],
  [
    "pcie_error",
    "0000:00:1c.0",
    "warn",
    "pcieport 0000:00:1c.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0",
  ],
])("kernel_errors detects %s of %s", async (rule, object, status, line) => {
  expect(await run([line])).toMatchObject({
    status,
    details: { errors: [{ rule, object, count: 1, last_at: "2026-01-02T11:00:00.000000Z", last_message: line }] },
  });
});

it("kernel_errors counts messages of one object together, the worst first", async () => {
  const error = "I/O error, dev sda, sector 2048 op 0x0:(READ)";
  expect(await run([error, error, "EXT4-fs error (device sda1): ext4_find_entry:1612: inode #2"])).toMatchObject({
    status: "fail",
    message:
      "ext4 on sda1 has errors (unmount it and run e2fsck); sda could not read or write 2 times (check the disk and its cable)",
  });
});

it("kernel_errors is quiet about usual messages, old ones and ignored ones, and skips without a journal", async () => {
  expect(
    await run([
      "ata4: SATA link down (SStatus 0 SControl 300)",
      "I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x80700",
      "XFS (sda1): Mounting V5 Filesystem",
      "traps: php[812] general protection fault ip:7f00 sp:7ffc error:0 in libc.so.6",
      "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:01:00.0",
      "e1000e 0000:00:19.0 eth0: NIC Link is Down",
    ]),
  ).toMatchObject({ status: "pass", message: "The kernel reported no problems in 24 h", details: { errors: [] } });
  const error = "I/O error, dev sda, sector 2048 op 0x0:(READ)";
  expect(await run([error], { time: hourAgo - 24 * 3_600_000_000 })).toMatchObject({ status: "pass" });
  expect(await run([error], { ignore: ["sd*"] })).toMatchObject({ status: "pass" });
  expect(await run([error], { ignore: ["io_error"] })).toMatchObject({ status: "pass" });
  const journal = createFakeJournal([], createFakeJournalStorage(undefined));
  const check = kernelErrorsCheck({ journal, clock, hostFiles: tainted(0) });
  expect(await check.run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
});

it("kernel_errors warns of a link that goes down again and again", async () => {
  const lines = [
    "igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down",
    "r8169 0000:02:00.0 enp2s0: Link is Down",
    "mlx5_core 0000:5e:00.0 ens1f0np0: Link down",
  ];
  const many = await run(lines.flatMap((line) => Array.from({ length: 5 }, () => line)));
  expect(many).toMatchObject({
    status: "warn",
    details: { errors: [{ object: "eno1", count: 5 }, { object: "enp2s0" }, { object: "ens1f0np0" }] },
  });
});

it("kernel_errors grades the bits of the kernel taint", async () => {
  const proprietary = 1 + (1 << 9) + (1 << 12);
  expect(await run([], { flags: proprietary })).toMatchObject({ status: "pass", details: { taint: [] } });
  expect(await run([], { flags: proprietary + (1 << 7) })).toMatchObject({
    status: "fail",
    message: "the kernel has crashed in part since boot (reboot)",
    details: { taint: ["died"] },
  });
  expect(await run([], { flags: 1 << 4 })).toMatchObject({ status: "warn" });
  expect(await run([], { flags: 1 << 7, ignore: ["died"] })).toMatchObject({ status: "pass" });
});

it("kernel_errors names journal files that could not be read, also beside what it found", async () => {
  const message = "I/O error, dev sda, sector 2048 op 0x0:(READ)";
  const journal = createFakeJournal([{ unit: "kernel", message, time: hourAgo }]);
  journal.unread = [unreadFile];
  const outcome = await kernelErrorsCheck({ journal, clock, hostFiles: tainted(0) }).run({ ignore: [] }, signal);
  expect(outcome).toMatchObject({
    status: "warn",
    message: expect.stringMatching(/^sda could not read .*; not read: system\.journal \(it is damaged: at byte 8\)$/),
    details: { errors: [{ object: "sda" }], unread: [{ file: "system.journal" }] },
  });
});
