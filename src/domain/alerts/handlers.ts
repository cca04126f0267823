import { alertNames, type alerts, longestSilenceMs, type Silence } from "#contract/alerts.ts";
import type { Handlers } from "#contract/operation.ts";
import { checked, DomainError, invalid } from "#domain/common/error.ts";
import { wholeList } from "#domain/common/page.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { StoredSilence } from "#domain/ports/alerts.ts";
import { type Clock, parseTimestamp, toTimestamp } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import type { Alerts } from "./alerts.ts";
import { maxSilences, type Silences } from "./silences.ts";

const toSilence = ({ id, alert, check, until, comment, createdAt, createdBy }: StoredSilence): Silence => ({
  id,
  ...defined({ alert, check }),
  until: toTimestamp(until),
  comment,
  created_at: toTimestamp(createdAt),
  created_by: createdBy,
});

export interface SilentWindow {
  readonly name: string;
  readonly openedAt: number;
  readonly until: number;
}

const idOfWindow = ({ name }: SilentWindow): string => `window:${name}`;

const windowSilence = (window: SilentWindow): Silence => ({
  id: idOfWindow(window),
  window: window.name,
  until: toTimestamp(window.until),
  comment: `the window ${window.name} of the settings is open`,
  created_at: toTimestamp(window.openedAt),
  created_by: "settings",
});

export function alertHandlers(ports: {
  readonly alerts: Pick<Alerts, "list">;
  readonly silences: Silences;
  readonly checkIds: () => readonly string[];
  /** Windows of the settings in which nobody is notified of anything, while they are open. */
  readonly silentWindows: () => readonly SilentWindow[];
  readonly clock: Pick<Clock, "now">;
}): Omit<Handlers<typeof alerts>, "listNotifications" | "testNotifications"> {
  const { silences, clock, checkIds, silentWindows } = ports;
  const findWindow = (id: string): SilentWindow | undefined => silentWindows().find((each) => idOfWindow(each) === id);

  const silenceEnd = (text: string): number => {
    const until = parseTimestamp(text);
    const now = clock.now();
    if (until === undefined) throw invalid("until", "must be a time (RFC 3339)");
    if (until <= now) throw invalid("until", "is in the past");
    if (until > now + longestSilenceMs) throw invalid("until", "is more than 30 days ahead");
    return until;
  };

  const silencedName = (alert: string | undefined, check: string | undefined): string => {
    if (alert !== undefined && check !== undefined) throw invalid("check", "cannot be given together with alert");
    const name = alert ?? check;
    if (name === undefined) throw invalid("alert", "is missing: an alert, or a check in `check`");
    if (check !== undefined && !checkIds().includes(check)) throw invalid("check", "is not the id of a health check");
    return name;
  };

  return {
    listAlerts() {
      const all = ports.alerts.list();
      return {
        alerts: [...all],
        firing: all.filter(({ state }) => state === "firing").length,
        ...wholeList(all.length),
      };
    },

    getAlert({ params: { name } }) {
      const alert = ports.alerts.list().find((each) => each.name === name);
      if (alert !== undefined) return alert;
      throw new DomainError("NOT_FOUND", `cannot find the alert ${name}: there are ${alertNames.join(", ")}`);
    },

    getSilence({ params }) {
      const silence = silences.list().find(({ id }) => id === params.id);
      if (silence !== undefined) return toSilence(silence);
      const window = findWindow(params.id);
      if (window === undefined) throw new DomainError("NOT_FOUND", "cannot find the silence: none has this id");
      return windowSilence(window);
    },

    listSilences() {
      const all = [...silences.list().map(toSilence), ...silentWindows().map(windowSilence)];
      return { silences: all, ...wholeList(all.length) };
    },

    silenceAlert({ body, query }, context) {
      const { alert, check, comment = "" } = body;
      const [name, until] = checked(
        () => silencedName(alert, check),
        () => silenceEnd(body.until),
      );
      if (silences.list().length >= maxSilences)
        throw new DomainError("CONFLICT", `cannot silence ${name}: there are ${maxSilences} silences (remove one)`);
      if (query.dry_run)
        return createPlan([`notify nobody of ${name} until ${toTimestamp(until)}`], {}, { digested: [name] });
      const silenced = defined({ alert, check });
      const silence = silences.add({ ...silenced, until, comment, createdBy: context.caller?.keyName ?? "" });
      context.touched({ id: silence.id, ...silenced, until: toTimestamp(until) });
      return toSilence(silence);
    },

    removeSilence({ params, query }, context) {
      const silence = silences.list().find(({ id }) => id === params.id);
      const window = findWindow(params.id);
      if (window !== undefined) {
        const remedy = "it ends with the window, or when the settings say so no more";
        throw new DomainError(
          "NOT_FOUND",
          `cannot end the silence: it is that of the window ${window.name} (${remedy})`,
        );
      }
      if (silence === undefined) throw new DomainError("NOT_FOUND", "cannot end the silence: none has this id");
      const { id, alert, check } = silence;
      const name = alert ?? check;
      if (query.dry_run) return createPlan([`end the silence of ${name}`]);
      silences.remove(id);
      context.touched({ id, ...defined({ alert, check }) });
      return { ...toSilence(silence), success: true, message: `${name} is no longer silenced` };
    },
  };
}
