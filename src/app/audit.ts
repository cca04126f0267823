import { type AuditVerdict, auditDirectory, createReader, type KnownHead, verifyAudit } from "#adapters/audit/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import type { Config } from "#config/load.ts";
import type { AuditList, AuditListQuery } from "#contract/audit.ts";
import { listEntries } from "#domain/audit/handlers.ts";
import { collectRequests, compareRequests, type JournalRecords, readRootRecords } from "#root/comparison.ts";
import { places } from "#root/places.ts";
import { type JournalHeads, readHeads } from "./audit-heads.ts";

const journalMs = 5 * 60_000;

async function askJournal(
  dir: string | undefined,
  log: { readonly directory: string; readonly unit: string },
): Promise<{
  readonly known: JournalHeads;
  readonly root: JournalRecords;
  readonly missing: string | undefined;
  readonly faults: readonly string[];
}> {
  const faults: string[] = [];
  const onUnreadable = ({ path, what, isFirst }: { path: string; what: string; isFirst: boolean }): void => {
    if (isFirst) faults.push(`${path}: ${what}`);
  };
  const { journal, dispose } = createHostJournal({ dir, onUnreadable });
  // The journal's threads do not keep the process alive.
  const alive = setInterval(() => undefined, journalMs);
  const signal = AbortSignal.timeout(journalMs);
  try {
    const known = await readHeads(journal, log, signal);
    const root = await readRootRecords(journal, signal);
    return { known, root, missing: known.missing ?? root.missing, faults };
  } finally {
    clearInterval(alive);
    dispose();
  }
}

function contradicted(verdict: AuditVerdict, [one, other]: readonly [KnownHead, KnownHead], directory: string) {
  const what = `${one.source} and ${other.source} know different entries ${one.seq}: the log was rewritten`;
  return { ...verdict, entries: 0, broken: { file: directory, line: 0, seq: one.seq, what } };
}

export interface AuditReport extends AuditVerdict {
  readonly directory: string;
  readonly notCompared: string | undefined;
  readonly rootRequests: number;
  readonly mismatches: readonly string[];
}

export async function verifyHostAudit(
  { stateDir, settings }: Pick<Config, "stateDir" | "settings">,
  { heads, unit }: { readonly heads: readonly KnownHead[]; readonly unit: string | undefined },
): Promise<AuditReport> {
  const directory = auditDirectory(stateDir);
  const alone = { directory, notCompared: undefined, rootRequests: 0, mismatches: [] };
  if (unit === undefined) return { ...(await verifyAudit(directory, heads)), ...alone };
  const { known, root, missing, faults } = await askJournal(settings.journal?.dir, { directory, unit });
  const { contradiction } = known;
  const requests = collectRequests();
  const verdict = await verifyAudit(directory, [...heads, ...known.heads, ...(contradiction ?? [])], requests.add);
  const notes = [...verdict.notes, ...faults.map((fault) => `records may be missing from the journal: ${fault}`)];
  if (missing === undefined && known.heads.length === 0)
    notes.push(`the journal has no heads of this log (unit ${unit}): a tail that was cut off would not show`);
  const isHidden = contradiction !== undefined && verdict.broken === undefined;
  const shown = isHidden ? contradicted(verdict, contradiction, directory) : verdict;
  if (shown.broken !== undefined || missing !== undefined) return { ...shown, ...alone, notes, notCompared: missing };
  const seqs = known.heads.map(({ seq }) => seq);
  // Root acts only for the service of the package.
  const compared = stateDir === places.stateDir ? compareRequests(requests, root.records, seqs) : undefined;
  return {
    ...shown,
    ...alone,
    notes: [...notes, ...(compared?.notes ?? [])],
    rootRequests: compared?.matched ?? 0,
    mismatches: compared?.mismatches ?? [],
  };
}

export const listHostAudit = ({ stateDir }: Pick<Config, "stateDir">, query: AuditListQuery): Promise<AuditList> =>
  listEntries(createReader(auditDirectory(stateDir)), query, new AbortController().signal);
