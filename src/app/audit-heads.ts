import type { KnownHead } from "#adapters/audit/index.ts";
import { journalPages, unreadReason } from "#adapters/journald/pages.ts";
import type { Journal } from "#domain/ports/journal.ts";

/** The message by which the service logs the newest entry of its audit log. */
export const checkpointMessage = "audit checkpoint";
/** The second is that of earlier versions, whose checkpoints still count. */
const messages: readonly unknown[] = [checkpointMessage, "audit head"];

/** Different heads that are kept: those of four years, with one in ten minutes. */
const maxHeads = 200_000;
/** What stands in the line of a head besides the folder is shorter than this. */
const restOfLine = 300;

/** What the journal knows of the audit log. */
export interface JournalHeads {
  readonly heads: readonly KnownHead[];
  /** Two entries of one number: one of them is not the one that was there when it was logged. */
  readonly contradiction: readonly [KnownHead, KnownHead] | undefined;
  /** Why there may be more; undefined when these are all. */
  readonly missing: string | undefined;
}

const hashForm = /^[0-9a-f]{64}$/;

/** A head as the service has logged it; undefined for any other line. */
function headIn(message: string, folder: string): Pick<KnownHead, "seq" | "hash"> | undefined {
  try {
    const { seq, hash, folder: of, msg }: Readonly<Record<string, unknown>> = JSON.parse(message);
    if (!messages.includes(msg) || of !== folder || typeof hash !== "string" || !hashForm.test(hash)) return undefined;
    return Number.isSafeInteger(seq) && Number(seq) > 0 ? { seq: Number(seq), hash } : undefined;
  } catch {
    return undefined;
  }
}

/** Lines as long as those of heads are: what else a program writes does not make the answer too large. */
function patternFor(folder: string): string {
  const some = `.{0,${JSON.stringify(folder).length + restOfLine}}`;
  return `^${some}"msg":"audit (checkpoint|head)"${some}$`;
}

/** Whose heads are looked for. */
interface Log {
  readonly folder: string;
  /** Which unit has written a line, journald says, and not the line. */
  readonly unit: string;
}

/**
 * All the heads that a unit has logged to the journal, each once. Whoever can log as the unit can log any number of them, so none is
 * left out for being old: the false ones are not to push out those from before.
 */
export async function readHeads(journal: Pick<Journal, "query">, log: Log, signal: AbortSignal): Promise<JournalHeads> {
  const bySeq = new Map<number, KnownHead>();
  const so = (rest: Partial<JournalHeads> = {}): JournalHeads => ({
    heads: [...bySeq.values()],
    contradiction: undefined,
    missing: undefined,
    ...rest,
  });
  try {
    const wanted = { unit: log.unit, grep: patternFor(log.folder) };
    for await (const page of journalPages(journal.query, wanted, signal)) {
      for (const { message, timestamp } of page) {
        const found = headIn(message, log.folder);
        if (found === undefined) continue;
        const head = { ...found, source: `the journal (${timestamp})` };
        const known = bySeq.get(head.seq);
        if (known === undefined) bySeq.set(head.seq, head);
        else if (known.hash !== head.hash) return so({ contradiction: [head, known] });
        if (bySeq.size > maxHeads) return so({ missing: `there are more than ${maxHeads} heads in it` });
      }
    }
    return so();
  } catch (error) {
    return so({ missing: unreadReason(error, signal) });
  }
}
