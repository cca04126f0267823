import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Journal } from "#domain/ports/journal.ts";
import { type OldKernels, type PackageManager, type TransactionPlan, UpdateRefused } from "#domain/ports/packages.ts";
import type { CleanupCandidate, DiskCleanup, FileSystems } from "#domain/ports/storage.ts";
import { counted, formatBytes, listNames } from "#kernel/text.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import { type Fix, type FixStep, namedInSteps } from "../fix.ts";

/** What archived journal files may take after a cleanup: some weeks of a quiet host. */
const keptJournalBytes = 100 * 1024 ** 2;

const nouns: Readonly<Record<CleanupCandidate["kind"], string>> = {
  packages: "downloaded package",
  temporary: "old temporary file",
  "core-dumps": "old core dump",
  "crash-reports": "old crash report",
};

function fullPaths({ details }: Outcome): readonly string[] {
  return recordsIn(details["file_systems"]).flatMap(({ path, status }) =>
    typeof path === "string" && (status === "warn" || status === "fail") ? [path] : [],
  );
}

/** Something that is removed; `digested` names all of it, of which the step names a few, and no sizes. */
interface Removal {
  readonly step: FixStep;
  readonly digested: readonly string[];
}

/** Something that stays. */
interface Left {
  readonly reason: string;
  /** Without its size. */
  readonly digested: string;
}

function removalOf(cleanup: DiskCleanup, candidate: CleanupCandidate): Removal {
  const { kind, directory, files, bytes } = candidate;
  const what = `${counted(files.length, nouns[kind])} (${formatBytes(bytes)}: ${listNames(files, namedInSteps)})`;
  const step: FixStep = {
    action: `remove ${what} from ${directory}`,
    async run(signal) {
      const removed = await cleanup.remove(candidate, signal);
      return `${counted(removed.files, "file")} removed, ${formatBytes(removed.bytes)} freed`;
    },
  };
  return { step, digested: files.map((file) => `remove ${directory}/${file}`) };
}

function staying({ kind, directory, files, bytes, foreign = "" }: CleanupCandidate): Left {
  const what = `${counted(files.length, nouns[kind])} (${formatBytes(bytes)})`;
  const why = `while ${foreign}, which is not of the package manager, lies among them`;
  return { reason: `${what} in ${directory} cannot be removed ${why}`, digested: `leave ${directory} as it is ${why}` };
}

function vacuumOf(journal: Pick<Journal, "size" | "vacuum">, directory: string): Removal {
  const action = `remove the oldest archived journal files from ${directory} until they take at most ${formatBytes(keptJournalBytes)}`;
  const step: FixStep = {
    action,
    async run(signal) {
      const before = await journal.size(signal);
      await journal.vacuum(keptJournalBytes, signal);
      const after = await journal.size(signal);
      return `${formatBytes(Math.max(0, (before?.diskBytes ?? 0) - (after?.diskBytes ?? 0)))} freed`;
    },
  };
  return { step, digested: [action] };
}

function kernelRemoval(kernels: OldKernels, plan: TransactionPlan): Removal {
  const names = plan.changes.map(({ name, from }) => (from === null ? name : `${name} ${from}`));
  const step: FixStep = {
    action: `remove ${counted(names.length, "package")} of old kernels (${listNames(names, namedInSteps)})`,
    async run(signal) {
      await kernels.remove(plan, signal);
      return `${counted(names.length, "package")} of old kernels removed`;
    },
  };
  return { step, digested: names.map((name) => `remove ${name}`) };
}

/**
 * Frees space on full file systems by removing what can be downloaded again or is old: downloaded packages, old kernels, archived journal
 * files beyond 100 MiB, temporary files, core dumps and crash reports. The port chooses the files.
 */
export function diskCleanupFix(ports: {
  /** Undefined without a supported one. */
  packages: Pick<PackageManager, "oldKernels"> | undefined;
  cleanup: DiskCleanup;
  journal: Pick<Journal, "size" | "vacuum">;
  fileSystems: Pick<FileSystems, "holding">;
}): Fix {
  const { packages, cleanup, journal, fileSystems } = ports;

  return {
    id: "disk_cleanup",
    summary: "Removes downloaded packages, old kernels, old journal files, old temporary files and old core dumps",
    risk: "moderate",
    alsoNeeds: [],
    // A transaction of the package manager and its wait for locks.
    timeoutMs: 35 * 60_000,
    kind: "storage",
    mayFindNothing: true,
    endsOnFailure: false,
    async plan(found, signal) {
      const full = fullPaths(found);
      const { candidates, unread } = await cleanup.find(signal);
      const left: Left[] = unread.map((reason) => ({ reason, digested: reason }));
      const isOnFull = async (directory: string): Promise<boolean> => {
        try {
          return full.includes((await fileSystems.holding(directory)) ?? "");
        } catch (error) {
          if (!(error instanceof HostUnavailable)) throw error;
          left.push({ reason: error.message, digested: error.message });
          return false;
        }
      };
      const helpful: CleanupCandidate[] = [];
      for (const candidate of candidates) if (await isOnFull(candidate.directory)) helpful.push(candidate);
      const chosen = helpful.filter(({ foreign }) => foreign === undefined);
      left.push(...helpful.filter(({ foreign }) => foreign !== undefined).map(staying));
      const size = await journal.size(signal);
      const excess = Math.max(0, (size?.archivedBytes ?? 0) - keptJournalBytes);
      const isVacuumed = size !== undefined && excess > 0 && (await isOnFull(size.directory));
      const isOnKernels = (await isOnFull("/boot")) || (await isOnFull("/lib/modules"));
      const kernels = isOnKernels ? packages?.oldKernels : undefined;
      const old = await kernels?.plan(signal).catch((error: unknown) => {
        if (!(error instanceof UpdateRefused)) throw error;
        const reason = `old kernels cannot be removed: ${error.message}`;
        left.push({ reason, digested: reason });
        return undefined;
      });
      const removesKernels = kernels !== undefined && old !== undefined && old.changes.length > 0;
      const removals = [
        ...(removesKernels ? [kernelRemoval(kernels, old)] : []),
        ...chosen.map((each) => removalOf(cleanup, each)),
        ...(isVacuumed ? [vacuumOf(journal, size.directory)] : []),
      ];
      const steps = removals.map(({ step }) => step);
      const reason = left.map((each) => each.reason).join("; ");
      const [first = "the disk"] = full;
      const where = full.length > 1 ? "the file systems that are too full" : first;
      if (steps.length === 0) {
        const nothing = `there is nothing on ${where} that can be removed safely`;
        return { steps, reason: left.length === 0 ? nothing : reason };
      }
      const freesBytes = chosen.reduce(
        (sum, { bytes }) => sum + bytes,
        (isVacuumed ? excess : 0) - (removesKernels ? old.diskBytes : 0),
      );
      const digested = [...removals.flatMap((each) => each.digested), ...left.map((each) => each.digested)];
      return { steps, digested, freesBytes, ...(left.length > 0 && { reason }) };
    },
  };
}
