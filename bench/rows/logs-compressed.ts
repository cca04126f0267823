import { addressOf, bigJournal, createWindows, type LogQuestion, pageSize, whyNoLogRows } from "../log-queries.ts";
import { compare, type Line, type Row, type RowOptions, type Subject } from "../row.ts";
import { type Server, startSlowLink, startSteward } from "../servers.ts";
import { fetchBody, fetchSize, timeEach } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;
const warmUpRequests = 200;
const codings = ["zstd", "gzip"] as const;
const kib = (bytes: number): string => `${Math.round(bytes / 1024)} KiB`;

interface Place {
  readonly name: string;
  readonly requests: number;
  readonly goal?: Subject["goal"];
  readonly server: Server;
}

const subjectOf = (coding: string, { name, goal }: Pick<Place, "name" | "goal">): Subject => ({
  work: `\`GET /system/logs?limit=${pageSize}\` in ${coding}, unpacked, of another window each time, ${name}`,
  peer: "the same without `Accept-Encoding`",
  unit: "ms",
  judged: "peer/ours",
  ...(goal && { goal }),
});

const overLoopback = { name: "over loopback", requests: 20 };
const overLink = {
  name: "over a link of 10 Mbit/s with 20 ms",
  requests: 5,
  goal: { is: "at least", value: 3 },
} as const;

async function compareCoding(
  coding: string,
  place: Place,
  { next, notes }: { readonly next: () => LogQuestion; readonly notes?: () => readonly string[] },
  options: RowOptions,
): Promise<Line> {
  const { server, requests } = place;
  const time = (headers: Server["headers"]) => (): Promise<number> =>
    timeEach(Array.from({ length: requests }, () => ({ url: addressOf(server, next()), headers })));
  const compressed = { ...server.headers, "Accept-Encoding": coding };
  return compare(
    subjectOf(coding, place),
    { ours: time(compressed), peer: time(server.headers), ...(notes && { notes }) },
    options,
  );
}

export const logsCompressed: Row = {
  name: "logs-compressed",
  summary: "1000 log entries compressed and not, over loopback and over a slow link",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined)
      return [overLoopback, overLink].flatMap((place) =>
        codings.map((coding) => ({ ...subjectOf(coding, place), skipped: missing })),
      );
    const journal = await bigJournal(entries, options.say);
    return withWorkspace(async (workspace) => {
      const near = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const far = await startSlowLink(workspace, near);
      const next = createWindows(journal);
      const url = addressOf(near, next());
      const plain = await fetchBody(url, near.headers);
      const sizes: string[] = [`an answer has ${kib(Buffer.byteLength(plain))}`];
      for (const coding of codings) {
        const headers = { ...near.headers, "Accept-Encoding": coding };
        if ((await fetchBody(url, headers)) !== plain)
          throw new Error(`cannot compare: ${coding} gives another answer`);
        sizes.push(`${kib(await fetchSize(url, headers))} in ${coding}`);
        await timeEach(Array.from({ length: warmUpRequests }, () => ({ url: addressOf(near, next()), headers })));
      }
      const lines: Line[] = [];
      for (const place of [
        { ...overLoopback, server: near },
        { ...overLink, server: far },
      ]) {
        for (const coding of codings) {
          const notes = lines.length === 0 ? () => [sizes.join(", ")] : undefined;
          lines.push(await compareCoding(coding, place, { next, ...(notes && { notes }) }, options));
        }
      }
      return lines;
    });
  },
};
