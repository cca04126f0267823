import type { JSX } from "preact";
import type { CheckStatus as Status } from "#contract/checks.ts";
import { texts } from "../texts/checks.ts";
import { Badge, type Tone } from "../ui/parts.tsx";

interface State {
  readonly active_state: string;
  readonly sub_state: string;
  readonly unit_file_state: string;
}

/** Among which units it is counted; one that is being started or stopped is among the active ones. */
export function groupOf({ active_state: active }: Pick<State, "active_state">): "active" | "failed" | "inactive" {
  if (active === "failed" || active === "inactive") return active;
  return "active";
}

const tones: Readonly<Record<string, Tone>> = {
  active: "ok",
  reloading: "ok",
  activating: "warn",
  deactivating: "warn",
  failed: "bad",
};

/** The state of a unit in systemd's words. */
export function UnitState({ of }: { readonly of: State }): JSX.Element {
  const { active_state: active, sub_state: sub, unit_file_state: file } = of;
  const isMoving = active === "activating" || active === "deactivating";
  const words =
    active === "inactive" && file.startsWith("masked") ? "masked" : isMoving ? `${active} (${sub})` : sub || active;
  return <Badge tone={tones[active] ?? "idle"}>{words}</Badge>;
}

/** Services are named without their suffix, as systemd takes them. */
export const shortName = (unit: string): string => unit.replace(/\.service$/, "");

export const statusTone: Readonly<Record<Status, Tone>> = { fail: "bad", warn: "warn", pass: "ok", skip: "idle" };

export const CheckStatus = ({ of }: { readonly of: Status }): JSX.Element => (
  <Badge tone={statusTone[of]}>{texts.status[of]}</Badge>
);
