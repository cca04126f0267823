import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { auditDirectory, type KnownHead, verifyAudit } from "#adapters/audit/index.ts";
import { type Answer, createClient } from "#client/index.ts";
import { createRandom } from "../../support/random.ts";
import { mainFile, type RunningService, root, startService } from "./service.ts";
import { until } from "./until.ts";
import type { Workspace } from "./workspace.ts";

type Approval = Answer<"getApproval">;

/** Changes of files and databases from the proposal to the end of its run, and some more. */
const steps = 40;
const settings = "updates: { enabled: false }\nconnectors: { discover: false }\nrate_limits: off\n";

/** What was asked for and answered, of one call. */
interface Asked {
  readonly comment: string;
  isApproving: boolean;
  proposed: Approval | undefined;
  approved: Approval | undefined;
}

interface Keys {
  readonly proposer: string;
  readonly approver: string;
}

const inAWeek = (): string => new Date(Date.now() + 7 * 24 * 3_600_000).toISOString();

async function propose({ url }: RunningService, { proposer }: Keys, comment: string): Promise<Approval> {
  const response = await fetch(`${url}/api/v1/alerts/silences`, {
    method: "POST",
    headers: { "X-API-Key": proposer, "Content-Type": "application/json", "Idempotency-Key": comment },
    body: JSON.stringify({ alert: "ServiceDown", until: inAWeek(), comment }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([202, text]);
  return JSON.parse(text) as Approval;
}

interface AuditLine {
  readonly operation: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly key_id: string | null;
  readonly target: Readonly<Record<string, string>>;
}

function auditLinesIn(stateDir: string): readonly AuditLine[] {
  const directory = join(stateDir, "audit");
  const files = readdirSync(directory).filter((name) => name.endsWith(".log"));
  const lines = files.flatMap((name) => readFileSync(join(directory, name), "utf8").split("\n").slice(0, -1));
  return lines.map((line) => JSON.parse(line) as AuditLine);
}

/** The entries of runs. */
const runsIn = (stateDir: string): readonly AuditLine[] =>
  auditLinesIn(stateDir).filter(
    ({ operation, target }) => operation === "silenceAlert" && target["approved_by"] !== undefined,
  );

/** What was answered is in the log, by whom it was, and no approval that nobody gave. */
function verifySteps(stateDir: string, { proposer, approver }: Keys, { proposed, approved, isApproving }: Asked): void {
  if (proposed === undefined) return;
  const { id, operation } = proposed;
  const own = auditLinesIn(stateDir).filter(({ target }) => [target["approval"], target["id"]].includes(id));
  const proposals = own.filter((entry) => entry.operation === operation && entry.status === 202);
  expect({ id, by: proposals.map(({ key_id }) => key_id) }).toEqual({ id, by: [proposer.slice(4, 12)] });
  const approvals = own.filter((entry) => entry.operation === "approve" && entry.outcome === "ok");
  const by = approved === undefined ? [] : [approver.slice(4, 12)];
  const isLate = isApproving && approved === undefined;
  if (!isLate) expect({ id, by: approvals.map(({ key_id }) => key_id) }).toEqual({ id, by });
}

/** What `steward audit verify` does: the chain is whole, and has each entry at which it ended when it was verified before. */
async function verifyChain(stateDir: string, heads: KnownHead[]): Promise<void> {
  const { broken, malformed, last, headsFound } = await verifyAudit(auditDirectory(stateDir), heads);
  expect({ broken, malformed, headsFound }).toEqual({ broken: undefined, malformed: 0, headsFound: heads.length });
  if (last !== undefined && last.seq !== heads.at(-1)?.seq) heads.push({ ...last, source: `entry ${last.seq}` });
}

/** Nothing that was acknowledged is lost; nothing was done twice, or without its approval; the audit log has who it was. */
async function verify(service: RunningService, { proposer, approver }: Keys, asked: readonly Asked[]): Promise<void> {
  const client = createClient({ url: service.url, key: approver });
  const { approvals } = await until("an end", async () => {
    const answer = await client.listApprovals({ query: { limit: 200 } });
    return answer.approvals.some(({ status }) => ["approved", "running"].includes(status)) ? undefined : answer;
  });
  const { silences } = await client.listSilences();
  for (const one of asked) {
    const { comment, proposed, isApproving, approved } = one;
    const found = approvals.filter(({ arguments: { body } }) => (body as { comment: string }).comment === comment);
    const done = silences.filter((each) => each.comment === comment).length;
    expect({ comment, found: found.length <= 1 }).toEqual({ comment, found: true });
    const [approval] = found;
    verifySteps(service.stateDir, { proposer, approver }, one);
    if (proposed !== undefined) expect({ comment, id: approval?.id }).toEqual({ comment, id: proposed.id });
    if (approved !== undefined) expect({ comment, status: approval?.status }).toEqual({ comment, status: "done" });
    if (!isApproving)
      expect({ comment, status: approval?.status ?? "pending" }).toEqual({ comment, status: "pending" });
    const status = approval?.status ?? "none";
    expect({ comment, status }).toEqual({ comment, status: expect.stringMatching(/^(none|pending|done|failed)$/) });
    const expected = status === "done" ? [1] : status === "failed" ? [0, 1] : [0];
    expect({ comment, status, done, is: expected.includes(done) }).toMatchObject({ is: true });
    if (status === "failed") expect(approval?.error?.message).toContain("it may have been done");
    const entries = () => runsIn(service.stateDir).filter(({ target }) => target["approval"] === approval?.id);
    // What an earlier process has left is written soon after the start.
    if (done > 0) await until(`entry of ${comment}`, () => entries().length > 0 || undefined, 10_000);
    const own = entries();
    expect({ comment, own, isOnce: own.length <= 1 }).toMatchObject({ comment, isOnce: true });
    for (const entry of own) {
      expect(entry.key_id).toBe(proposer.slice(4, 12));
      expect(entry.target["approved_by"]).toContain(approver.slice(4, 12));
    }
    if (status === "done") expect(own.map(({ outcome }) => outcome)).toEqual(["ok"]);
  }
}

/** Kills the service at each step in turn from a proposal to the end of its run, starts it again and looks. */
export async function killApprovals(workspace: Workspace, rounds: number, seed: number): Promise<void> {
  const { fraction: random } = createRandom(seed);
  const stateDir = workspace.path("state");
  const preload = pathToFileURL(join(root, "test/process/support/kill-when-armed.mjs")).href;
  const program = [process.execPath, "--import", preload, mainFile];
  const asked: Asked[] = [];
  const heads: KnownHead[] = [];
  let keys: Keys | undefined;
  let answered = 0;
  for (let round = 0; round < rounds; round += 1) {
    const at = rounds < steps ? Math.ceil(random() * steps) : 1 + (round % steps);
    const environment = { STEWARD_KILL_AT: String(at) };
    const service = await startService(workspace, { stateDir, settings, program, environment });
    const admin = createClient({ url: service.url, key: service.adminKey });
    keys ??= {
      proposer: (await admin.createKey({ body: { name: "script", scopes: ["propose:health:fix"] } })).key,
      approver: (await admin.createKey({ body: { name: "person", scopes: ["health:fix", "metrics:read"] } })).key,
    };
    await verify(service, keys, asked.slice(-20));
    await verifyChain(stateDir, heads);
    const { silences } = await admin.listSilences();
    // There is a limit of silences.
    if (silences.length > 50) {
      for (const { id } of silences) await admin.removeSilence({ params: { id } });
      asked.length = 0;
    }
    const proposer = createClient({ url: service.url, key: keys.proposer });
    const { approvals: pending } = await proposer.listApprovals({ query: { status: "pending", limit: 200 } });
    // There is a limit of calls that wait, too.
    if (pending.length > 30) {
      for (const { id } of pending) await proposer.cancelApproval({ params: { id }, body: {} });
      asked.length = 0;
    }
    const call: Asked = { comment: `round ${round}`, isApproving: false, proposed: undefined, approved: undefined };
    asked.push(call);
    service.kill("SIGUSR2");
    await until("armed", () => service.stderr().includes("armed") || undefined);
    try {
      call.proposed = await propose(service, keys, call.comment);
      call.isApproving = true;
      const approver = createClient({ url: service.url, key: keys.approver });
      call.approved = await approver.approve({ params: { id: call.proposed.id }, body: {} });
      answered += 1;
    } catch (error) {
      // The service is gone.
      if (!(error instanceof TypeError)) throw error;
    }
    service.kill("SIGKILL");
    await service.exit;
  }
  const last = await startService(workspace, { stateDir, settings });
  if (keys !== undefined) await verify(last, keys, asked);
  await verifyChain(stateDir, heads);
  last.kill("SIGKILL");
  await last.exit;
  await verifyChain(stateDir, heads);
  // Killed before and after, or it would have proved nothing.
  expect(answered).toBeLessThan(rounds);
  expect(asked.length).toBeGreaterThan(0);
  expect(heads.length).toBeGreaterThan(rounds / 2);
}
