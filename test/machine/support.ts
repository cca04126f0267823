import { afterAll, beforeAll, describe } from "vitest";
import { type Client, createClient } from "#client/index.ts";
import { eventually } from "../host/support/eventually.ts";
import { bootMachine, type Machine, type MachineDisk } from "./machine.ts";
import { requireMachine } from "./requirements.ts";

/** A booted machine with the package installed, shared by the tests of one file, which run in their order. */
export interface MachineSession {
  readonly machine: Machine;
  /** Where the service is called, and the admin key. */
  readonly access: () => Promise<{ readonly url: string; readonly key: string }>;
  readonly api: () => Promise<Client>;
}

/** A suite on a machine of its own. Where none can be emulated, it is skipped and says why; in CI it fails instead. */
export function describeOnMachine(
  name: string,
  disks: readonly MachineDisk[],
  suite: (session: MachineSession) => void,
): void {
  const required = requireMachine();
  if (!required.available) process.stdout.write(`skipped: ${name}: ${required.reason}\n`);
  describe.skipIf(!required.available)(name, () => {
    let booted: Machine | undefined;
    let key: string | undefined;
    const machine = (): Machine => {
      if (booted === undefined) throw new Error("the machine has not been booted");
      return booted;
    };
    const access = async (): Promise<{ url: string; key: string }> => {
      key ??= (await machine().shell("cat /var/lib/steward/admin.key")).trim();
      return { url: await machine().url(), key };
    };

    beforeAll(async () => {
      booted = await bootMachine(disks);
      await booted.installPackage();
    });
    afterAll(() => booted?.stop());

    suite({
      get machine() {
        return machine();
      },
      access,
      api: async () => createClient(await access()),
    });
  });
}

/** What is waited for comes within seconds of the machine, each of which may take a minute here. */
export const inTime = <T>(attempt: () => Promise<T>): Promise<T> => eventually(attempt, 600_000, 1_000);
