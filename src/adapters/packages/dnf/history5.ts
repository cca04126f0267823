import type { LoggedTransaction, PackageCatalog } from "#domain/ports/package-catalog.ts";
import { isString, type JsonObject, recordsIn } from "#kernel/values.ts";
import { parseNevra } from "../common/rpm/names.ts";
import { automaticReasons, parseHistory, recordsOf } from "./answers5.ts";
import { createRequesters, type LoggedItem, millisecondsOf, packagesOf } from "./logged.ts";

const pageLength = 25;

const actions: Readonly<Record<string, LoggedItem["action"]>> = {
  Install: "install",
  Upgrade: "upgrade",
  Downgrade: "downgrade",
  Reinstall: "reinstall",
  Remove: "remove",
  Replaced: "replaced",
};

const itemsOf = ({ packages }: JsonObject): readonly LoggedItem[] =>
  recordsIn(packages).flatMap(({ nevra, action, reason }) => {
    const found = isString(nevra) ? parseNevra(nevra) : undefined;
    if (found === undefined || !isString(action)) return [];
    const known = Object.hasOwn(actions, action) ? actions[action] : undefined;
    return [{ ...found, action: known ?? "other", isAutomatic: isString(reason) && automaticReasons.has(reason) }];
  });

/** Reads `history info --json` of some transactions, by number. */
export function parseTransactions(
  text: string,
  requester: (uid: unknown) => string | undefined,
): ReadonlyMap<number, LoggedTransaction> {
  const found = recordsOf(text).flatMap((record) => {
    const { id, status, description, comment } = record;
    const startedAt = millisecondsOf(record["start_time"]);
    if (typeof id !== "number" || startedAt === undefined) return [];
    const transaction: LoggedTransaction = {
      startedAt,
      endedAt: status === "Started" ? undefined : millisecondsOf(record["end_time"]),
      commandLine: isString(description) ? description : "",
      requestedBy: requester(record["user_id"]),
      error: status === "Error" ? (isString(comment) && comment) || status : undefined,
      packages: packagesOf(itemsOf(record)),
    };
    return [[id, transaction] as const];
  });
  return new Map(found);
}

/** What dnf5 remembers of transactions, some at a time. @param host.about answers with what it has of them in JSON. */
export const createHistory = (host: {
  readonly about: (words: readonly string[], signal: AbortSignal) => Promise<string>;
  readonly users: string;
}): PackageCatalog["history"] =>
  async function* (signal) {
    const ids = parseHistory(await host.about(["list"], signal)).map(({ id }) => id);
    const requester = await createRequesters(host.users);
    for (let at = 0; at < ids.length; at += pageLength) {
      const page = ids.slice(at, at + pageLength);
      const found = parseTransactions(await host.about(["info", ...page.map(String)], signal), requester);
      yield* page.flatMap((id) => found.get(id) ?? []);
    }
  };
