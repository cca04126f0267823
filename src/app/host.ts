import { join } from "node:path";
import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createJournalStorage } from "#adapters/journald/storage.ts";
import { createHostPackageManager } from "#adapters/packages/index.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { createHostUnits } from "#adapters/systemd/index.ts";
import type { Settings } from "#config/settings.ts";
import { rebootRequiredCheck } from "#domain/health/checks/reboot-required.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import type { TracedParts } from "./tracing/tracing.ts";

const reboot = rebootRequiredCheck({ reboot: createRebootNeed() });

export const openPackageManager = (ports: { readonly exec: Exec; readonly stateDir?: string }) =>
  createHostPackageManager({
    ...ports,
    clock: systemClock,
    needsReboot: async (signal) => (await reboot.run({ ignore: [] }, signal)).status === "warn",
  });

export function openHost(
  settings: Pick<Settings, "services" | "journal">,
  ports: Pick<TracedParts, "exec" | "observeCall" | "journalOf"> & {
    /** Where answers about packages are cached for the next process, and templates of the journal are remembered. */
    readonly stateDir?: string;
    readonly onStateChange?: Parameters<typeof createHostUnits>[0]["onStateChange"];
    readonly onUnreadable?: Parameters<typeof createHostJournal>[0]["onUnreadable"];
  },
) {
  const { exec, stateDir, onStateChange = () => undefined, onUnreadable = () => undefined } = ports;
  const facts = createHostFacts({ clock: systemClock });
  const systemd = createHostUnits({
    clock: systemClock,
    policy: createServicePolicy(settings.services),
    observe: ports.observeCall,
    onStateChange,
  });
  const dir = settings.journal?.dir;
  const { journal, grep, ...reader } = ports.journalOf(
    createHostJournal({
      dir,
      onUnreadable,
      templatesFile: stateDir === undefined ? undefined : join(stateDir, "log-templates.json"),
    }),
  );
  const packages = openPackageManager({ exec, ...(stateDir !== undefined && { stateDir }) });
  return {
    facts,
    systemd,
    journal: { ...journal, ...createJournalStorage({ exec, dir }) },
    grep,
    packages,
    dispose(): void {
      reader.dispose();
      systemd.dispose();
      facts.dispose();
    },
  };
}

export type Host = ReturnType<typeof openHost>;
