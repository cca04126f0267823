import { createHash } from "node:crypto";
import type { PlanSeals } from "#domain/ports/approvals.ts";

export interface FakePlanSeals extends PlanSeals {
  /** What recording a use throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

let hosts = 0;

/** Seals of a host of its own, and used plans, in memory. */
export function createFakePlanSeals(): FakePlanSeals {
  hosts += 1;
  const secret = `host ${hosts}`;
  const users = new Map<string, string>();
  let ids = 0;
  const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");
  const sign = (text: string): string => digest(JSON.stringify([secret, text]));
  const fake: FakePlanSeals = {
    fault: undefined,
    newId() {
      ids += 1;
      return String(ids).padStart(16, "0");
    },
    digest,
    sign,
    isSigned: (text, code) => sign(text) === code,
    userOf: (id) => users.get(id),
    use(id, by) {
      if (fake.fault !== undefined) throw fake.fault;
      if (users.has(id)) return false;
      users.set(id, by);
      return true;
    },
  };
  return fake;
}
