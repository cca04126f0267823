import type { JSX } from "preact";
import type { Answer } from "../api/call.ts";
import { pace } from "../api/pace.ts";
import { useCall } from "../api/resource.ts";
import { texts } from "../texts/overview.ts";
import { Card, Loading, Problem } from "../ui/parts.tsx";
import { type Change, Changes, callsOf } from "./changes.tsx";

const few = 8;

const transactionsOf = ({ transactions }: Answer<"listPackageHistory">): readonly Change[] =>
  transactions.map(({ started_at: at, packages, command }, index) => ({
    key: `p${index}`,
    at,
    text: texts.transaction(packages, command),
  }));

/** What changed lately, by whoever: calls of this service and transactions of the package manager. */
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
