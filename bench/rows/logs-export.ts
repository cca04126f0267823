import { request } from "node:http";
import type { BigJournal } from "../journals/million.ts";
import { bigJournal, runJournalctl, whyNoLogRows } from "../log-queries.ts";
import { residentMib } from "../process-usage.ts";
import { compare, type Line, type Row, type Subject } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;
/** Of the journal so much is exported each time. */
const share = 0.1;

const formats = { journal: "export", json: "json" } as const;
type Format = keyof typeof formats;

const subjectOf = (format: Format): Subject => ({
  work: `export of ${entries * share} of a million entries in \`${format}\`, read to its end`,
  peer: `\`journalctl -o ${formats[format]}\`, read to its end`,
  unit: "ms",
  judged: "peer/ours",
});

/** The same part of the journal for both. */
function windowOf({ firstMicros, lastMicros }: BigJournal): readonly [since: number, until: number] {
  const since = Math.floor(firstMicros / 1_000_000);
  return [since, since + Math.floor(((lastMicros - firstMicros) / 1_000_000) * share)];
}

/** Milliseconds until all was read, and how many bytes. @throws Error where it is not complete. */
function readExport(
  { url, headers }: Server,
  journal: BigJournal,
  format: Format,
): Promise<{ ms: number; bytes: number }> {
  const [since, until] = windowOf(journal).map((seconds) => new Date(seconds * 1000).toISOString());
  const query = new URLSearchParams({ format, since: since ?? "", until: until ?? "" });
  const { promise, resolve, reject } = Promise.withResolvers<{ ms: number; bytes: number }>();
  const startedAt = performance.now();
  request(`${url}/api/v1/system/logs/export?${query.toString()}`, { headers }, (reply) => {
    let bytes = 0;
    reply.on("data", (part: Buffer) => {
      bytes += part.length;
    });
    reply.once("error", reject);
    reply.once("end", () => {
      if (reply.statusCode === 200) resolve({ ms: performance.now() - startedAt, bytes });
      else reject(new Error(`cannot export: status ${reply.statusCode}`));
    });
  })
    .once("error", reject)
    .end();
  return promise;
}

export const logsExport: Row = {
  name: "logs-export",
  summary: "a tenth of a million entries exported whole, against journalctl",
  async measure(options) {
    const missing = whyNoLogRows();
    const all = Object.keys(formats) as Format[];
    if (missing !== undefined) return all.map((format) => ({ ...subjectOf(format), skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    return withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const lines: Line[] = [];
      for (const format of all) {
        const [since, until] = windowOf(journal);
        const argv = [`--output=${formats[format]}`, `--since=@${since}`, `--until=@${until}`];
        const theirs = await runJournalctl(journal.dir, argv);
        const { bytes } = await readExport(server, journal, format);
        // In JSON members have no order, but as many bytes.
        if (bytes !== theirs.bytes)
          throw new Error(`cannot compare: ours has ${bytes} bytes, the peer ${theirs.bytes}`);
        const sides = {
          ours: async () => (await readExport(server, journal, format)).ms,
          peer: async () => (await runJournalctl(journal.dir, argv)).ms,
          notes: () => [`both have ${bytes} bytes; ${residentMib(server.pid).toFixed(0)} MiB resident afterwards`],
        };
        lines.push(await compare(subjectOf(format), sides, options));
      }
      return lines;
    });
  },
};
