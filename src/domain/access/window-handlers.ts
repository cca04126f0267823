import type { Handlers } from "#contract/operation.ts";
import type { Window, windows } from "#contract/windows.ts";
import { wholeList } from "#domain/common/page.ts";
import { toNullableTimestamp } from "#kernel/clock.ts";
import type { WindowGate, WindowState } from "./window-gate.ts";

const toWindow = ({ plan, phase, opensNextAt }: WindowState): Window => ({
  name: plan.name,
  open: phase.isOpen,
  opened_at: toNullableTimestamp(phase.openedAt ?? null),
  closes_at: toNullableTimestamp((phase.isOpen ? phase.changesAt : undefined) ?? null),
  opens_next_at: toNullableTimestamp(opensNextAt ?? null),
  cron: plan.cron,
  timezone: plan.timezone ?? null,
  duration_seconds: Math.round(plan.times.durationMs / 1000),
  delay_seconds: Math.round(plan.times.delayMs / 1000),
  allow: [...plan.allow],
  deny: [...plan.deny],
  silence: plan.isSilent,
});

export const windowHandlers = (gate: Pick<WindowGate, "list">): Handlers<typeof windows> => ({
  listWindows() {
    const all = gate.list();
    return { windows: all.map(toWindow), ...wholeList(all.length) };
  },
});
