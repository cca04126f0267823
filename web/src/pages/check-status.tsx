import type { JSX } from "preact";
import type { CheckStatus as Status } from "#contract/checks.ts";
import { texts } from "../texts/checks.ts";
import { Badge, type Tone } from "../ui/parts.tsx";

export const statusTone: Readonly<Record<Status, Tone>> = { fail: "bad", warn: "warn", pass: "ok", skip: "idle" };

export const CheckStatus = ({ of }: { readonly of: Status }): JSX.Element => (
  <Badge tone={statusTone[of]}>{texts.status[of]}</Badge>
);
