import type { BigJournal } from "../journals/million.ts";
import { bigJournal, runJournalctl, whyNoLogRows } from "../log-queries.ts";
import { compare, type Row, type Subject } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { fetchBody, timeEach } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;
const requests = 20;
const peer = "`journalctl -o json --output-fields=MESSAGE`, lines counted";

const subjectOf = (work: string, mostMs: number): Subject => ({
  work,
  peer,
  unit: "ms",
  judged: "ours",
  goal: { is: "at most", value: mostMs },
});

const first = subjectOf("templates of a million entries, asked for the first time", 5_000);
const later = subjectOf("templates of one unit, asked for later, a million entries, another window each time", 30);

/** The window of a number: each ends some minutes earlier. */
function windowOf({ firstMicros, lastMicros }: BigJournal, number: number) {
  const [since, until] = [Math.floor(firstMicros / 1_000_000), Math.floor(lastMicros / 1_000_000) - number * 60];
  return {
    query: { since: new Date(since * 1000).toISOString(), until: new Date(until * 1000).toISOString() },
    argv: ["--output-fields=MESSAGE", `--since=@${since}`, `--until=@${until}`],
  };
}

const addressOf = (
  { url }: Pick<Server, "url">,
  journal: BigJournal,
  number: number,
  more: Readonly<Record<string, string>> = {},
): string => {
  const asked = new URLSearchParams({ ...windowOf(journal, number).query, ...more });
  return `${url}/api/v1/system/logs/templates?${asked.toString()}`;
};

const unit = "nginx.service";

export const logsTemplates: Row = {
  name: "logs-templates",
  summary: "templates of a million entries against reading what journalctl prints",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return [first, later].map((subject) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    let number = 0;
    const next = (): number => (number += 1);
    let distinct = 0;
    const lineOfFirst = await compare(
      first,
      {
        ours: () =>
          withWorkspace(async (workspace) => {
            const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
            const address = addressOf(server, journal, next());
            const startedMs = performance.now();
            const body = await fetchBody(address, server.headers);
            const tookMs = performance.now() - startedMs;
            const answer = JSON.parse(body) as { readonly total: number; readonly distinct: number };
            const { lines } = await runJournalctl(journal.dir, windowOf(journal, number).argv);
            if (answer.total !== lines)
              throw new Error(`cannot compare: ours counts ${answer.total} entries, the peer ${lines}`);
            ({ distinct } = answer);
            return tookMs;
          }),
        peer: async () => (await runJournalctl(journal.dir, windowOf(journal, next()).argv)).ms,
        notes: () => [`${distinct} templates`],
      },
      options,
    );
    return withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const { headers } = server;
      await fetchBody(addressOf(server, journal, next()), headers);
      const sides = {
        ours: () =>
          timeEach(
            Array.from({ length: requests }, () => ({ url: addressOf(server, journal, next(), { unit }), headers })),
          ),
        peer: async () => {
          const argv = [...windowOf(journal, next()).argv, `--unit=${unit}`];
          return (await runJournalctl(journal.dir, argv)).ms;
        },
      };
      return [lineOfFirst, await compare(later, sides, options)];
    });
  },
};
