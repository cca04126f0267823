import type { LoggedTransaction, PackageCatalog } from "#domain/ports/package-catalog.ts";
import { isString, type JsonObject, recordsIn } from "#kernel/values.ts";
import { createRequesters, type LoggedItem, millisecondsOf, packagesOf } from "../common/rpm/logged.ts";
import { parseNevra } from "../common/rpm/names.ts";
import { parseHistory, recordsOf } from "./answers.ts";
import { type Dnf5, isAutomatic, withoutRepositories } from "./host.ts";

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
    return [{ ...found, action: known ?? "other", isAutomatic: isString(reason) && isAutomatic({ reason }) }];
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

/** What dnf5 remembers of transactions, some at a time. */
export const createHistory = ({
  ask,
  places,
}: Pick<Dnf5, "ask"> & { readonly places: Pick<Dnf5["places"], "users"> }): PackageCatalog["history"] =>
  async function* (signal) {
    const about = (...words: string[]) => ask([withoutRepositories, "history", ...words, "--json"], signal);
    const ids = parseHistory(await about("list")).map(({ id }) => id);
    const requester = await createRequesters(places.users);
    for (let at = 0; at < ids.length; at += pageLength) {
      const page = ids.slice(at, at + pageLength);
      const found = parseTransactions(await about("info", ...page.map(String)), requester);
      yield* page.flatMap((id) => found.get(id) ?? []);
    }
  };
