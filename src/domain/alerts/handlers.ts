import { type alerts, longestSilenceMs, type Silence } from "#contract/alerts.ts";
import type { Handlers } from "#contract/operation.ts";
import { parseTimestamp } from "#contract/schema.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { StoredSilence } from "#domain/ports/alerts.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import type { Alerts } from "./alerts.ts";
import { maxSilences, type Silences } from "./silences.ts";

const toSilence = ({ id, alert, until, comment, createdAt, createdBy }: StoredSilence): Silence => ({
  id,
  alert,
  until: toTimestamp(until),
  comment,
  created_at: toTimestamp(createdAt),
  created_by: createdBy,
});

export function alertHandlers(ports: {
  readonly alerts: Pick<Alerts, "list">;
  readonly silences: Silences;
  readonly clock: Pick<Clock, "now">;
}): Pick<Handlers<typeof alerts>, "listAlerts" | "listSilences" | "silenceAlert" | "removeSilence"> {
  const { silences, clock } = ports;

  const silenceEnd = (text: string): number => {
    const until = parseTimestamp(text);
    const now = clock.now();
    if (until === undefined) throw invalid("until", "must be a time (RFC 3339)");
    if (until <= now) throw invalid("until", "lies in the past");
    if (until > now + longestSilenceMs) throw invalid("until", "lies more than 30 days ahead");
    return until;
  };

  return {
    listAlerts() {
      const all = ports.alerts.list();
      return { alerts: [...all], firing: all.filter(({ state }) => state === "firing").length };
    },

    listSilences: () => ({ silences: silences.list().map(toSilence) }),

    silenceAlert({ body, query }, context) {
      const { alert, comment = "" } = body;
      const until = silenceEnd(body.until);
      if (silences.list().length >= maxSilences)
        throw new DomainError("CONFLICT", `cannot silence ${alert}: there are ${maxSilences} silences (remove one)`);
      if (query.dry_run) return createPlan([`notify nobody of ${alert} until ${toTimestamp(until)}`]);
      const silence = silences.add({ alert, until, comment, createdBy: context.caller?.keyName ?? "" });
      context.touched({ id: silence.id, alert, until: toTimestamp(until) });
      return toSilence(silence);
    },

    removeSilence({ params, query }, context) {
      const silence = silences.list().find(({ id }) => id === params.id);
      if (silence === undefined) throw new DomainError("NOT_FOUND", "cannot end the silence: none has this id");
      if (query.dry_run) return createPlan([`end the silence of ${silence.alert}`]);
      silences.remove(silence.id);
      context.touched({ id: silence.id, alert: silence.alert });
      return { ...toSilence(silence), success: true, message: `${silence.alert} is no longer silenced` };
    },
  };
}
