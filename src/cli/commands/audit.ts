import { InvalidArgumentError } from "commander";
import { type AuditList, type AuditOutcome, auditListLimit, auditOutcomes } from "#contract/audit.ts";
import { counted } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { valueCommand } from "../core/answer-command.ts";
import { type Command, NamedOption } from "../core/command.ts";
import { timeOption } from "../core/log-time.ts";
import type { AuditReport, CommandPorts, GivenHead } from "../core/ports.ts";
import { exitCode, type Io, oneLine } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

const styles: Readonly<Record<AuditOutcome, Style | undefined>> = { ok: undefined, refused: "yellow", failed: "red" };

const describeTarget = (target: Readonly<Record<string, string>>): string =>
  Object.entries(target)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");

function printEntries(io: Io, { entries, next_cursor: more, unreadable }: AuditList): void {
  printTable(io, entries, {
    time: ({ time }) => formatTime(time),
    outcome: ({ count, outcome }) => ({
      text: count > 1 ? `${outcome} ×${count}` : outcome,
      style: styles[outcome],
    }),
    operation: (each) => (each.dry_run ? `${each.operation} (dry run)` : each.operation),
    target: ({ target, operation_id: id }) => describeTarget({ ...target, ...(id !== null && { operation: id }) }),
    key: (each) => each.key_name ?? each.key_id ?? "",
    from: (each) => each.remote_address ?? "",
    status: ({ error, status, method }) => error ?? status ?? (method === null ? "" : "no answer"),
  });
  if (entries.length === 0) io.out("no entries\n");
  if (more !== null) io.err("there are older entries (--limit or --until shows them)\n");
  if (unreadable > 0)
    io.err(`${counted(unreadable, "line")} cannot be read (steward audit verify says what is wrong)\n`);
}

interface ListOptions {
  readonly since?: string;
  readonly until?: string;
  readonly operation?: string;
  readonly keyId?: string;
  readonly target?: string;
  readonly outcome?: AuditOutcome;
  readonly limit: number;
  readonly offline?: boolean;
}

function addEntryList(audit: Command, ports: CommandPorts): void {
  const timestamp = timeOption(ports.now);
  const list = audit
    .presetCommand("list")
    .description("who did what, and who was refused; the newest first")
    .option("-S, --since <time>", "only entries of then or later: yesterday, -1h, RFC 3339", timestamp)
    .option("-U, --until <time>", "only entries before then", timestamp)
    .option("--operation <name>", "only of this operation or event: restartService, operation.ended")
    .addOption(new NamedOption("--key-id <id>", "only of this key", "key"))
    .option("--target <name>", "only about this: a unit, an id, a package")
    .choice("--outcome <outcome>", "only entries with this outcome", auditOutcomes)
    .limit(auditListLimit)
    .option("--offline", "read the files of this host, without the service");
  valueCommand(ports, list, {
    async make({ since, until, operation, keyId, target, outcome, limit, offline }: ListOptions) {
      const query = defined({ limit, since, until, operation, key_id: keyId, target, outcome });
      return offline ? ports.local.audit.list(query) : (await ports.connect(list)).client.listAudit({ query });
    },
    print: printEntries,
  });
}

/** `17:4e07…`: number and hash of an entry. */
function givenHead(text: string, before: readonly GivenHead[] = []): readonly GivenHead[] {
  const [, seq, hash = ""] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined) throw new InvalidArgumentError("it must be the number of an entry, a colon and its hash");
  return [...before, { seq: Number(seq), hash, source: "--head" }];
}

function printReport(io: Io, report: AuditReport): void {
  const { directory, broken, files, entries, malformed, first, last, headsFound, notes } = report;
  const { notCompared, rootRequests, mismatches } = report;
  for (const note of notes) io.out(`note: ${oneLine(note)}\n`);
  if (broken !== undefined) {
    io.out(`broken: ${oneLine(broken.file)}:${broken.line}: ${oneLine(broken.what)}\n`);
    io.out(`${counted(entries, "entry", "entries")} before it can be relied upon\n`);
    return;
  }
  if (notCompared !== undefined) {
    io.out(`not verified: not all heads in the journal could be read: ${oneLine(notCompared)}\n`);
    io.out("no break was found in the chain itself, but anybody who can write the files can recompute it\n");
    return;
  }
  for (const mismatch of mismatches) io.out(`mismatch: ${oneLine(mismatch)}\n`);
  if (mismatches.length > 0) {
    io.out(
      "the chain itself is intact, but it does not match what root recorded: other code may have run as the service\n",
    );
    return;
  }
  if (first === undefined || last === undefined) {
    io.out(`intact: ${directory} has no entries\n`);
    return;
  }
  io.out(`intact: entries ${first.seq} to ${last.seq} in ${counted(files, "file")}`);
  io.out(headsFound === 0 ? "\n" : `, and ${headsFound} written down elsewhere are among them\n`);
  if (malformed > 0) io.out(`${malformed} of them are malformed: they stand as they were written\n`);
  if (rootRequests > 0)
    io.out(`${counted(rootRequests, "request")} to root ${rootRequests === 1 ? "is" : "are"} as root recorded them\n`);
  io.out(`head: ${last.seq}:${last.hash}\n`);
}

interface VerifyOptions {
  readonly head?: readonly GivenHead[];
  readonly unit: string;
  readonly journal: boolean;
}

export function addAuditCommands(program: Command, ports: CommandPorts): void {
  const { local, finish } = ports;
  const audit = program.command("audit").description("the audit log: list it, verify it");
  addEntryList(audit, ports);
  const verify = audit
    .command("verify")
    .description("verify on this host that nothing in the audit log was changed, removed or put in")
    .option(
      "--head <seq:hash>",
      "an entry that the log must have, as an earlier run printed it; may be repeated",
      givenHead,
    )
    .option("--unit <name>", "unit whose lines in the journal say what entries there were", "steward.service")
    .option("--no-journal", "do not ask the journal")
    .notes(`Reads the files themselves, so it has to run as root or as the user of the service.
Exit code: 0 intact, 1 broken, 2 the log, or what the journal knows of it, could not be read.`);
  valueCommand(ports, verify, {
    json: "print the report as JSON",
    async make({ head = [], unit, journal }: VerifyOptions) {
      const report = await local.audit.verify({ heads: head, unit: journal ? unit : undefined });
      const isCompared = report.notCompared === undefined;
      const isWhole = report.broken === undefined && report.mismatches.length === 0;
      const code = isCompared ? exitCode.fine : exitCode.couldNotRun;
      finish(isWhole ? code : exitCode.foundTrouble);
      return { whole: isWhole && isCompared, ...report };
    },
    print: printReport,
  });
}
