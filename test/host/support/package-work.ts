import type { PackageDetails, RequiringPackage } from "#domain/ports/package-catalog.ts";
import type {
  ChangeRequest,
  InstalledPackage,
  PackageFiles,
  TransactionPlan,
  TransactionResult,
  UpdateRequest,
} from "#domain/ports/packages.ts";
import { driver } from "../program.ts";
import type { Session } from "./session.ts";

/** What an adapter of a package manager is asked to do in the guest. */
export type PackageWork =
  | { readonly verb: "check"; readonly id: `${string}_status` | "security_updates" }
  | {
      readonly verb:
        | "countAgain"
        | "updates"
        | "installed"
        | "release"
        | "refresh"
        | "audit"
        | "restartNeeds"
        | "snapshots"
        | "finish"
        | "planMissing"
        | "installMissing";
    }
  | { readonly verb: "simulate"; readonly request: Partial<UpdateRequest> }
  | { readonly verb: "planChange"; readonly request: ChangeRequest }
  | { readonly verb: "change"; readonly id: string; readonly request: ChangeRequest }
  | { readonly verb: "commit" | "goOn"; readonly id: string; readonly plan: TransactionPlan }
  | { readonly verb: "settle" | "repair"; readonly id: string }
  | { readonly verb: "fetch"; readonly names: readonly string[]; readonly directory: string }
  | { readonly verb: "identify"; readonly path: string }
  | { readonly verb: "restore"; readonly id: string; readonly target: Parameters<PackageFiles["restore"]>[0] }
  | {
      readonly verb: "apply";
      readonly id: string;
      readonly request: Partial<UpdateRequest>;
      readonly requiresFull?: boolean;
    }
  | { readonly verb: "rollback"; readonly id: string; readonly snapshotId: string; readonly partial?: boolean }
  | { readonly verb: "hold"; readonly names: readonly string[]; readonly isHeld: boolean }
  | { readonly verb: "lacking"; readonly names: readonly string[] }
  | { readonly verb: "search"; readonly words: readonly string[] }
  | { readonly verb: "describe"; readonly name: string }
  | { readonly verb: "history" };

/** What a catalog has of one package. */
export interface Described {
  readonly details: PackageDetails | null;
  readonly requiring: readonly RequiringPackage[];
  readonly files: readonly string[] | null;
}

/** What came of going on with a plan whose transaction was broken off. */
export interface GoneOn {
  readonly repaired: TransactionResult;
  readonly committed: TransactionResult;
  readonly installed: readonly InstalledPackage[];
  readonly left: readonly string[];
  readonly status: string;
}

/** What came of it. */
export interface PackageAnswer<T> {
  readonly result?: T;
  /** Name and message of what was thrown. */
  readonly error?: string;
  readonly lines: readonly string[];
  readonly steps: readonly number[];
}

/** Which check is to be run. */
type PackageCheck = Extract<PackageWork, { readonly verb: "check" }>["id"];

/** An adapter that works on a tree of its own in the guest. */
export function createPackageWork(manager: "apt" | "dnf" | "dnf5" | "pacman" | "zypper", root: string) {
  /** The words that run it. */
  const command = (work: PackageWork): readonly string[] => [
    ...driver("run-packages"),
    manager,
    root,
    JSON.stringify(work),
  ];
  /** Lets it work and says what came of it. */
  const work = async <T = unknown>({ host }: Pick<Session, "host">, given: PackageWork): Promise<PackageAnswer<T>> =>
    JSON.parse((await host.exec(command(given), { timeoutMs: 300_000 })).stdout) as PackageAnswer<T>;
  return { command, work };
}

/** What tests pass to an adapter, in short. */
export function packageVerbs(session: Pick<Session, "host">, adapter: ReturnType<typeof createPackageWork>) {
  const work = <T>(given: PackageWork): Promise<PackageAnswer<T>> => adapter.work<T>(session, given);
  const result = async <T>(given: PackageWork): Promise<T> => {
    const answer = await work<T>(given);
    if (answer.result === undefined) throw new Error(`${given.verb} failed: ${answer.error}`);
    return answer.result;
  };
  return {
    work,
    result,
    simulate: (request: Partial<UpdateRequest> = {}): Promise<TransactionPlan> => result({ verb: "simulate", request }),
    refusal: async (request: Partial<UpdateRequest> = {}) => (await work({ verb: "simulate", request })).error,
    commit: (plan: TransactionPlan, id = "one"): Promise<TransactionResult> => result({ verb: "commit", id, plan }),
    check: (id: PackageCheck) =>
      result<{ status: string; message: string; details: Record<string, unknown> }>({ verb: "check", id }),
    all: (): Promise<readonly InstalledPackage[]> => result({ verb: "installed" }),
  };
}

export const namesOf = ({ changes }: TransactionPlan): readonly string[] => changes.map(({ name }) => name).sort();
