import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type Format, openExpendable, type StoreOptions } from "#adapters/sqlite/index.ts";
import type { PlanSeals } from "#domain/ports/approvals.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";

const format = {
  file: "plans.db",
  version: 1,
  schema: `
    CREATE TABLE secret (bytes BLOB NOT NULL) STRICT;
    CREATE TABLE used (id TEXT PRIMARY KEY, by TEXT NOT NULL, forget_after INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  check: "SELECT * FROM used LIMIT 1",
  statements: {
    secret: "SELECT bytes FROM secret",
    found: "INSERT INTO secret SELECT ? WHERE NOT EXISTS (SELECT 1 FROM secret)",
    read: "SELECT by FROM used WHERE id = ?",
    use: "INSERT INTO used VALUES (?, ?, ?)",
    forget: "DELETE FROM used WHERE forget_after < ?",
  },
} satisfies Format;

const idBytes = 12;
const secretBytes = 32;

/**
 * Opens the secret of plan tokens and the list of those that were used, in one file of the state directory: where it is lost, or
 * there is nothing but the memory, tokens that were made before are no longer good, rather than good again.
 */
export function openPlanSeals(
  options: StoreOptions & { readonly clock: Pick<Clock, "now"> },
): PlanSeals & { readonly dispose: Dispose } {
  const { use, run, keep, lasts, dispose } = openExpendable(format, options);
  run("forget", options.clock.now());
  // Read each time: a file that replaces a damaged one has another secret.
  const hmac = (text: string): Buffer => {
    const secret = use((statements) => {
      statements.found.run(randomBytes(secretBytes));
      return statements.secret.get()?.["bytes"];
    });
    if (!(secret instanceof Uint8Array)) throw new Error("cannot seal a plan: the secret is missing");
    return createHmac("sha256", secret).update(text).digest();
  };
  return {
    newId: () => randomBytes(idBytes).toString("base64url"),
    digest: (text) => createHash("sha256").update(text).digest("base64url"),
    sign: (text) => hmac(text).toString("base64url"),
    isSigned(text, code) {
      const given = Buffer.from(code, "base64url");
      const expected = hmac(text);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
    userOf(id) {
      const by = use(({ read }) => read.get(id)?.["by"]);
      return typeof by === "string" ? by : undefined;
    },
    use(id, by, forgetAfter) {
      if (use(({ read }) => read.get(id)) !== undefined) return false;
      const record = lasts() ? keep : run;
      record("use", id, by, forgetAfter);
      return true;
    },
    dispose,
  };
}
