import { fileURLToPath } from "node:url";
import type {
  InstalledPackage,
  PackageFiles,
  TransactionPlan,
  TransactionResult,
  UpdateRequest,
} from "#domain/updates/ports.ts";
import type { Session } from "./session.ts";

const checkout = "/opt/steward";
const node = `${checkout}/node_modules/.bin/node`;
const script = fileURLToPath(new URL("./run-packages.ts", import.meta.url)).replace(/^.*(?=\/test\/host\/)/, checkout);

/** What an adapter of a package manager is told to do in the guest. */
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
        | "finish"
        | "planMissing"
        | "installMissing";
    }
  | { readonly verb: "simulate"; readonly request: Partial<UpdateRequest> }
  | { readonly verb: "commit" | "goOn"; readonly id: string; readonly plan: TransactionPlan }
  | { readonly verb: "settle" | "repair"; readonly id: string }
  | { readonly verb: "fetch"; readonly names: readonly string[]; readonly folder: string }
  | { readonly verb: "identify"; readonly path: string }
  | { readonly verb: "restore"; readonly id: string; readonly target: Parameters<PackageFiles["restore"]>[0] };

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

/** An adapter that works on a tree of its own in the guest. */
export function createPackageWork(manager: "dnf" | "pacman" | "zypper", root: string) {
  /** The words that run it. */
  const command = (work: PackageWork): readonly string[] => [node, script, manager, root, JSON.stringify(work)];
  /** Lets it work and says what came of it. */
  const work = async <T = unknown>({ host }: Pick<Session, "host">, given: PackageWork): Promise<PackageAnswer<T>> =>
    JSON.parse((await host.exec(command(given), { timeoutMs: 300_000 })).stdout) as PackageAnswer<T>;
  return { command, work };
}
