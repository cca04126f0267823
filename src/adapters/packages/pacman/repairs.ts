import { CommandFailed } from "#adapters/exec/command.ts";
import type { Asks, OnLine, Repairs } from "../common/ports.ts";
import { TransactionFailed } from "../common/transactions.ts";
import type { Pacman } from "./host.ts";
import { keepLists, prepareLists, stampLists } from "./lists.ts";
import { describeFindings, type Findings } from "./states.ts";

/** Words of each change: no question, and lines instead of bars. */
export const changing = ["--noconfirm", "--noprogressbar"] as const;

/** Downloads lists into a directory of its own: newer lists with older packages would break what is installed next. */
export async function refresh({ listsTransact, places }: Pacman, onLine: OnLine, signal: AbortSignal): Promise<void> {
  const own = ["--dbpath", places.lists, "--logfile", "/dev/null"];
  await prepareLists(places);
  const giveBack = await keepLists(places);
  const transaction = {
    unit: "steward-pacman-refresh",
    description: "Steward downloads the package lists (pacman -Sy into a folder of its own)",
    argv: [...places.pacman, ...own, ...changing, "-Sy"],
    isInterruptible: true,
    onLine,
  } as const;
  try {
    await listsTransact(transaction, signal);
  } catch (error) {
    // After anything else it may still be running.
    if (error instanceof TransactionFailed) await giveBack();
    throw error;
  }
  await stampLists(places);
}

const byHand =
  "pacman cannot resume what was interrupted, and its lock says nothing of who left it: it has to be repaired by hand";
const onlyTogether =
  "pacman brings what is missing only together with an update of everything: packages of newer lists would not match the older ones that are installed";

export function createRepairs(pacman: Pacman, findings: Asks<Findings>): Repairs {
  return {
    async finish(signal) {
      const left = describeFindings(await findings(signal), pacman.places.lock);
      if (left.length > 0) throw new CommandFailed(`${byHand}: ${left.join("; ")}`);
    },
    planMissing: (reinstalled) =>
      Promise.resolve({ reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: onlyTogether }),
    installMissing: () => Promise.reject(new CommandFailed(onlyTogether)),
  };
}
