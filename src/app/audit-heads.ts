import type { KnownHead } from "#adapters/audit/index.ts";
import { journalPages, unreadReason } from "#adapters/journald/pages.ts";
import type { Journal } from "#domain/ports/journal.ts";
import { parseJsonObject } from "#kernel/values.ts";

export const checkpointMessage = "audit checkpoint";
/** The second is that of earlier versions. */
const messages: readonly unknown[] = [checkpointMessage, "audit head"];

/** Four years of heads, one in ten minutes. */
const maxHeads = 200_000;
const restOfLine = 300;

export interface JournalHeads {
  readonly heads: readonly KnownHead[];
  readonly contradiction: readonly [KnownHead, KnownHead] | undefined;
  readonly missing: string | undefined;
}

const hashForm = /^[0-9a-f]{64}$/;

function headIn(message: string, directory: string): Pick<KnownHead, "seq" | "hash"> | undefined {
  const { seq, hash, folder: of, msg } = parseJsonObject(message) ?? {};
  if (!messages.includes(msg) || of !== directory || typeof hash !== "string" || !hashForm.test(hash)) return undefined;
  return Number.isSafeInteger(seq) && Number(seq) > 0 ? { seq: Number(seq), hash } : undefined;
}

/** Limited to the length of such lines, so that other output of a program cannot make the answer too large. */
function patternFor(directory: string): string {
  const some = `.{0,${JSON.stringify(directory).length + restOfLine}}`;
  return `^${some}"msg":"audit (checkpoint|head)"${some}$`;
}

interface Log {
  readonly directory: string;
  /** As journald records it, not as the line says. */
  readonly unit: string;
}

/** No head is too old: anyone who can log as the unit could otherwise push earlier ones out. */
export async function readHeads(journal: Pick<Journal, "query">, log: Log, signal: AbortSignal): Promise<JournalHeads> {
  const bySeq = new Map<number, KnownHead>();
  const so = (rest: Partial<JournalHeads> = {}): JournalHeads => ({
    heads: [...bySeq.values()],
    contradiction: undefined,
    missing: undefined,
    ...rest,
  });
  try {
    const wanted = { unit: log.unit, grep: patternFor(log.directory) };
    for await (const page of journalPages(journal.query, wanted, signal)) {
      for (const { message, timestamp } of page) {
        const found = headIn(message, log.directory);
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
