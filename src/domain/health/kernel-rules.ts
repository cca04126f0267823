/** What a line of the kernel means. */
export interface KernelRule {
  readonly id: string;
  /** The first group is what it is about. */
  readonly pattern: RegExp;
  readonly status: "warn" | "fail";
  /** From so many lines about the same on; 1 unless given. */
  readonly from?: number;
  readonly problem: (object: string, count: number) => string;
}

const times = (count: number): string => (count === 1 ? "once" : `${count} times`);

/** The first that fits a line counts. */
export const kernelRules: readonly KernelRule[] = [
  {
    id: "io_error",
    // Drives without a medium in them say so too, and are none of this.
    pattern: /(?:I\/O error, dev|medium error, dev|Buffer I\/O error on dev(?:ice)?) (?!sr\d|fd\d)([\w!/-]+)/,
    status: "warn",
    problem: (disk, count) => `${disk} could not read or write ${times(count)} (check the disk and its cable)`,
  },
  {
    id: "no_space_behind",
    pattern: /critical space allocation error, dev ([\w!/-]+)/,
    status: "warn",
    problem: (disk, count) =>
      `${disk} had no space for what was written ${times(count)} (enlarge the thin pool, or the file system, that it is on)`,
  },
  {
    id: "ata_error",
    pattern: /^(ata\d+)(?:\.\d+)?: (?:failed command|exception Emask)/,
    status: "warn",
    problem: (port, count) => `the disk at ${port} failed ${times(count)} (check the disk and its cable)`,
  },
  {
    id: "nvme_error",
    pattern: /^nvme (nvme\d+): (?:I\/O .* timeout|controller is down|Device not ready)/,
    status: "warn",
    problem: (disk, count) => `${disk} did not answer ${times(count)} (check the disk)`,
  },
  {
    id: "ext4_error",
    pattern: /^EXT4-fs error \(device ([^)]+)\)/,
    status: "fail",
    problem: (device) => `ext4 on ${device} has errors (unmount it and run e2fsck)`,
  },
  {
    id: "xfs_error",
    pattern: /^XFS \(([^)]+)\): (?:.*[Cc]orruption|.*metadata I\/O error|.*[Ss]hut(?:ting)? down)/,
    status: "fail",
    problem: (device) => `XFS on ${device} has errors (unmount it and run xfs_repair)`,
  },
  {
    id: "btrfs_error",
    // Up to kernel 6.3 the state follows a colon.
    pattern: /^BTRFS:? (?:error|critical) \(device ([^\s:)]+):?(?: state \w+)?\)/,
    status: "fail",
    problem: (device) => `btrfs on ${device} has errors (btrfs scrub start)`,
  },
  {
    id: "memory_uncorrected",
    pattern: /^(?:EDAC (MC\d+): \d+ UE|Memory failure: 0x)/,
    status: "fail",
    problem: (part) => `memory ${part ? `at ${part} ` : ""}lost data (replace the module)`,
  },
  {
    id: "memory_corrected",
    pattern: /^EDAC (MC\d+): \d+ CE/,
    status: "warn",
    problem: (part, count) => `memory at ${part} had errors that were corrected ${times(count)} (replace the module)`,
  },
  {
    id: "machine_check",
    pattern: /\[Hardware Error\]:.*(?:Machine [Cc]heck|Uncorrected)/,
    status: "warn",
    problem: () => "the processor reports hardware errors (journalctl -k -g 'Hardware Error')",
  },
  {
    id: "pcie_error",
    pattern: /^\w+ ([\da-f:.]+): (?:AER: Uncorrect|PCIe Bus Error: severity=Uncorrect)/,
    status: "warn",
    problem: (device, count) => `the PCIe device ${device} failed ${times(count)}`,
  },
  {
    id: "hung_task",
    pattern: /^INFO: task (\S+?):\d+ blocked for more than/,
    status: "warn",
    problem: (task, count) =>
      `${task} hung in the kernel ${times(count)}, as a rule because a disk or a server does not answer`,
  },
  {
    id: "hard_lockup",
    pattern: /hard LOCKUP/,
    status: "fail",
    problem: () => "a processor stood still (hard lockup)",
  },
  {
    id: "soft_lockup",
    pattern: /soft lockup - CPU#(\d+)|rcu.*detected stall/,
    status: "warn",
    problem: (_, count) => `a processor stood still in the kernel ${times(count)} (soft lockup)`,
  },
  {
    id: "oops",
    pattern:
      /^(?:BUG: unable to handle|BUG: kernel NULL|kernel BUG at|Oops:|Internal error: Oops|general protection fault,)/,
    status: "fail",
    problem: () => "the kernel itself crashed in part (reboot, and look for a newer kernel)",
  },
  {
    id: "link_down",
    pattern: /(\w[\w.@-]*):? (?:NIC )?Link (?:is )?[Dd]own/,
    status: "warn",
    from: 5,
    problem: (link, count) => `the link of ${link} went down ${times(count)} (check the cable and the switch)`,
  },
];

/** Finds the lines of all rules, and few others. */
export const kernelLinesGrep = [
  "I/O error",
  "medium error, dev",
  "space allocation error, dev",
  "failed command",
  "exception Emask",
  "controller is down",
  "Device not ready",
  "I/O .* timeout",
  "EXT4-fs error",
  "XFS .*(orruption|hut)",
  "BTRFS:? (error|critical)",
  "EDAC MC",
  "Memory failure: 0x",
  "Hardware Error",
  "AER: Uncorrect",
  "severity=Uncorrect",
  "blocked for more than",
  "hard LOCKUP",
  "soft lockup",
  "detected stall",
  "BUG: ",
  "kernel BUG at",
  "Oops:",
  "general protection fault,",
  "Link (is )?[Dd]own",
].join("|");

/** Bits of the taint that mean trouble; others say what was loaded, or that the kernel warned. */
export const taints = [
  { bit: 4, id: "machine_check", status: "warn", problem: "the processor has reported a hardware error since boot" },
  { bit: 5, id: "bad_page", status: "fail", problem: "memory was found damaged since boot (test the memory)" },
  { bit: 7, id: "died", status: "fail", problem: "the kernel has crashed in part since boot (reboot)" },
  { bit: 14, id: "soft_lockup", status: "warn", problem: "a processor has stood still since boot (soft lockup)" },
] as const;
