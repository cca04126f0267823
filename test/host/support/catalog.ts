import { expect } from "vitest";
import type { FoundPackage, LoggedTransaction } from "#domain/ports/package-catalog.ts";
import type { Described, PackageAnswer, PackageWork, packageVerbs } from "./package-work.ts";
import type { Session } from "./session.ts";

/** Asks what is known of packages, as root and as a user without rights. @param command runs the work. */
export function catalogOf(
  session: Session,
  { result }: Pick<ReturnType<typeof packageVerbs>, "result">,
  command: (work: PackageWork) => readonly string[],
) {
  return {
    search: (...sought: readonly string[]) => result<readonly FoundPackage[]>({ verb: "search", words: sought }),
    describe: (name: string) => result<Described>({ verb: "describe", name }),
    history: () => result<readonly LoggedTransaction[]>({ verb: "history" }),
    asNobody: async <T>(work: PackageWork): Promise<T> => {
      const { stdout } = await session.host.exec(command(work), { user: "nobody", timeoutMs: 120_000 });
      const answer = JSON.parse(stdout) as PackageAnswer<T>;
      if (answer.result === undefined) throw new Error(answer.error);
      return answer.result;
    },
  };
}

/** Names, sorted. */
export const sortedNames = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name).sort();

/** What each transaction did: `upgrade app 1.0-1 2.0-1`, with `too` for what came along. */
export const reportedOf = (logged: readonly LoggedTransaction[]): readonly (readonly string[])[] =>
  logged.map(({ packages }) =>
    packages
      .map(({ name, action, from, to, isAutomatic }) => `${action} ${name} ${from} ${to}${isAutomatic ? " too" : ""}`)
      .sort(),
  );

/** The test has just made them, and the manager knows of no user who asked. */
export function expectJustMade(logged: readonly LoggedTransaction[]): void {
  for (const { startedAt, endedAt, requestedBy } of logged)
    expect([Number(endedAt) >= startedAt, Date.now() - startedAt < 3_600_000, requestedBy]).toEqual([
      true,
      true,
      undefined,
    ]);
}
