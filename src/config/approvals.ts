import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toMs } from "./text.ts";
import { scopeFault } from "./windows.ts";

type Approvals = Pick<Settings, "approvals">;

const shortestMs = 1_000;
const longestMs = 30 * 24 * 60 * 60_000;

export const approvalSettings = ({ approvals = {} }: Approvals) => ({
  requireFor: approvals.require_for ?? [],
  approvers: approvals.approvers ?? 1,
  expireMs: toMs(approvals.expire ?? "1h"),
});

export function approvalFaults({ approvals = {} }: Approvals, faultAt: FaultAt): readonly Fault[] {
  const { require_for: scopes = [], expire } = approvals;
  const ms = toMs(expire ?? "1h");
  return [
    ...scopes.flatMap((entry, index) => {
      const fault = scopeFault(entry);
      return fault === undefined ? [] : [faultAt(["approvals", "require_for", String(index)], fault)];
    }),
    ...(ms < shortestMs || ms > longestMs ? [faultAt(["approvals", "expire"], "must be from 1s to 30d")] : []),
  ];
}
