import type { LogEntry } from "#contract/log-entry.ts";
import type { HostFiles } from "#domain/ports/host-files.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, type Outcome } from "../check.ts";
import { combineFindings, type Finding } from "../grading.ts";
import { judgeKernelLog, type KernelLogPorts, windowHours } from "../journal-checks.ts";
import { type KernelRule, kernelLinesGrep, kernelRules, taints } from "../kernel-rules.ts";

const mostListed = 20;
const shownChars = 200;

interface Trouble {
  readonly rule: KernelRule;
  readonly object: string;
  readonly lines: readonly LogEntry[];
}

/** Lines that mean trouble, those of one rule and one object together. */
function troublesIn(lines: readonly LogEntry[], isIgnored: (name: string) => boolean): readonly Trouble[] {
  const found = lines.flatMap((line) => {
    for (const rule of kernelRules) {
      const match = rule.pattern.exec(line.message);
      if (match !== null) return [{ rule, object: match[1] ?? "", line }];
    }
    return [];
  });
  return [...Map.groupBy(found, ({ rule, object }) => `${rule.id} ${object}`).values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined || isIgnored(first.object) || isIgnored(first.rule.id)) return [];
    return same.length < (first.rule.from ?? 1)
      ? []
      : [{ rule: first.rule, object: first.object, lines: same.map(({ line }) => line) }];
  });
}

export function kernelErrorsCheck(
  ports: KernelLogPorts & { readonly hostFiles: Pick<HostFiles, "text"> },
): BuiltInCheck {
  const judge = async (lines: readonly LogEntry[], { ignore }: CheckSettings): Promise<Outcome> => {
    const isIgnored = createIgnore(ignore);
    const troubles = troublesIn(lines, isIgnored);
    // A bit for each reason, in the kernel's Documentation/admin-guide/tainted-kernels.rst.
    const flags = Number(await ports.hostFiles.text("/proc/sys/kernel/tainted"));
    const tainted = taints.filter(({ bit, id }) => ((flags >> bit) & 1) === 1 && !isIgnored(id));
    const findings: readonly Finding[] = [
      ...troubles.map(({ rule, object, lines: same }) => ({
        status: rule.status,
        problem: rule.problem(object, same.length),
      })),
      ...tainted,
    ];
    return combineFindings(findings, `The kernel reported no problems in ${windowHours} h`, {
      errors: troubles.slice(0, mostListed).map(({ rule, object, lines: same }) => ({
        rule: rule.id,
        object,
        count: same.length,
        last_at: same.at(-1)?.timestamp,
        last_message: same.at(-1)?.message.slice(0, shownChars),
      })),
      taint: tainted.map(({ id }) => id),
      taint_flags: flags,
      window_hours: windowHours,
    });
  };

  return {
    id: "kernel_errors",
    name: "Errors that the kernel reports",
    category: "system",
    severity: "high",
    about:
      "What the kernel reports of failing hardware and of itself, in the journal of the last 24 hours: disks that " +
      "do not read or write, errors of ext4, XFS and btrfs, of memory and processors, tasks that hang, lockups, " +
      "crashes, and links that went down five times. Of the kernel's taint a machine check, damaged memory, a " +
      "crash and a lockup since boot count. `ignore` takes names of devices, links and tasks, and of rules, such " +
      "as `link_down`.",
    meaning: "The kernel reports failing hardware, a damaged file system or an internal error.",
    remedy:
      "Read the kernel messages (journalctl -k), save the data of the named disk first, then test or replace the " +
      "hardware.",
    intervalMs: 5 * 60_000,
    // Warnings, such as a link that flaps, come without any update.
    guardedBy: "failure",
    run: (settings, signal) => judgeKernelLog(ports, kernelLinesGrep, (lines) => judge(lines, settings), signal),
  };
}
