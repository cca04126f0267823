import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Answer } from "../api/call.ts";
import { pace, useCall } from "../api/resource.ts";
import { texts } from "../texts/overview.ts";
import { Card, Lines, Loading, Problem, Time } from "../ui/parts.tsx";

export interface Change {
  readonly key: string;
  readonly at: string;
  readonly text: string;
}

const ofAccess = /Session|Ticket|Code|Passkey|Approval|^approve$|^deny$/;
const ofModels = /^(?:chat|diagnose|explainCheck|testConnector)$/;
/** Of a target what says by which way the call came, not what it was about. */
const ways = new Set(["session", "via", "client", "stated_reason"]);
const aboutOf = (target: Readonly<Record<string, string>>): string =>
  Object.entries(target)
    .flatMap(([name, value]) => (ways.has(name) ? [] : [value]))
    .join(", ");

/** Calls that changed something: no sign-ins and questions to models, and approvals only as the calls that were carried out. */
export function callsOf({ entries }: Answer<"listAudit">): readonly Change[] {
  return entries.flatMap(({ seq, time, operation, outcome, dry_run: isDry, key_name: key, target }) => {
    const isOwn = operation === null || ofAccess.test(operation) || operation.includes(".");
    const waits = target?.["proposed"] !== undefined;
    if (isOwn || ofModels.test(operation) || isDry || waits || outcome !== "ok") return [];
    return [{ key: `a${seq}`, at: time, text: texts.change(operation, aboutOf(target ?? {}), key) }];
  });
}

/** Changes, the newest first: a few, and the others once they are asked for. */
export function Changes(props: { readonly of: readonly Change[]; readonly few: number }): JSX.Element {
  const { of, few } = props;
  const isWhole = useSignal(false);
  return (
    <>
      <Lines
        empty={texts.noChanges}
        of={(isWhole.value ? of : of.slice(0, few)).map(({ key, at, text }) => ({
          key,
          text,
          aside: <Time at={at} />,
        }))}
      />
      {of.length > few && !isWhole.value && (
        <button type="button" class="plain pad" onClick={() => (isWhole.value = true)}>
          {texts.olderChanges(of.length - few)}
        </button>
      )}
    </>
  );
}

const few = 8;

const transactionsOf = ({ transactions }: Answer<"listPackageHistory">): readonly Change[] =>
  transactions.map(({ started_at: at, packages, command }, index) => ({
    key: `p${index}`,
    at,
    text: texts.transaction(packages, command),
  }));

/** What changed recently, by anyone: calls of this service and transactions of the package manager. */
export function Recent(): JSX.Element {
  const calls = useCall("listAudit", { query: { limit: 100 } }, { every: pace.seldom });
  const history = useCall("listPackageHistory", { query: { limit: 20 } });
  const changes = [
    ...(calls.data === undefined ? [] : callsOf(calls.data)),
    ...(history.data === undefined ? [] : transactionsOf(history.data)),
  ].toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  const error = calls.error ?? history.error;
  return (
    <Card title={texts.recent}>
      {error !== undefined && <Problem error={error} />}
      {calls.data === undefined && history.data === undefined && error === undefined && <Loading />}
      {(calls.data ?? history.data) !== undefined && <Changes of={changes} few={few} />}
    </Card>
  );
}
