import { Cron } from "croner";
import { Type } from "typebox";
import { errorMessage } from "#kernel/errors.ts";

export const CronText = (description: string) =>
  Type.String({ minLength: 9, maxLength: 200, examples: ["0 3 * * *"], description });

export const Timezone = Type.String({
  minLength: 1,
  examples: ["Europe/Berlin"],
  description: "Time zone of the expression; that of the host unless given.",
});

/** Why times cannot be used; undefined where they can. */
export function cronFault(
  cron: string,
  timezone: string | undefined,
): readonly [setting: string, message: string] | undefined {
  try {
    const found = new Cron(cron, { mode: "5-part", paused: true });
    if (found.nextRun() === null) return ["cron", "never matches"];
  } catch (error) {
    return ["cron", `must be five fields such as 0 3 * * * (${errorMessage(error)})`];
  }
  try {
    if (timezone !== undefined) new Intl.DateTimeFormat("en", { timeZone: timezone });
    return undefined;
  } catch {
    return ["timezone", "must be a time zone such as Europe/Berlin"];
  }
}
