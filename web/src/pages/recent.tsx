import type { JSX } from "preact";
import type { Answer } from "../api/call.ts";
import { pace } from "../api/pace.ts";
import { useCall } from "../api/resource.ts";
import { texts } from "../texts/overview.ts";
import { Card, Lines, Loading, Problem, Time } from "../ui/parts.tsx";

interface Change {
  readonly key: string;
  readonly at: string;
  readonly text: string;
}

const most = 8;
const ofAccess = /Session|Ticket|Code|Passkey|Approval|^approve$|^deny$/;

/** Calls that changed something: no sign-ins, and approvals only as the calls that were carried out. */
function callsOf({ entries }: Answer<"listAudit">): readonly Change[] {
  return entries.flatMap(({ seq, time, operation, outcome, dry_run: isDry, key_name: key, target }) => {
    const isOwn = operation === null || ofAccess.test(operation) || operation.includes(".");
    const waits = target?.["proposed"] !== undefined;
    if (isOwn || isDry || waits || outcome !== "ok") return [];
    return [{ key: `a${seq}`, at: time, text: texts.change(operation, Object.values(target ?? {}).join(", "), key) }];
  });
}

const transactionsOf = ({ transactions }: Answer<"listPackageHistory">): readonly Change[] =>
  transactions.map(({ started_at: at, packages, command }, index) => ({
    key: `p${index}`,
    at,
    text: texts.transaction(packages, command),
  }));

/** What changed lately, by whoever: calls of this service and transactions of the package manager. */
export function Recent(): JSX.Element {
  const calls = useCall("listAudit", { query: { limit: 100 } }, { every: pace.seldom });
  const history = useCall("listPackageHistory", { query: { limit: most } });
  const changes = [
    ...(calls.data === undefined ? [] : callsOf(calls.data)),
    ...(history.data === undefined ? [] : transactionsOf(history.data)),
  ].toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  const error = calls.error ?? history.error;
  return (
    <Card title={texts.recent}>
      {error !== undefined && <Problem error={error} />}
      {calls.data === undefined && history.data === undefined && error === undefined && <Loading />}
      {(calls.data ?? history.data) !== undefined && (
        <Lines
          empty={texts.noChanges}
          of={changes.slice(0, most).map(({ key, at, text }) => ({ key, text, aside: <Time at={at} /> }))}
        />
      )}
    </Card>
  );
}
