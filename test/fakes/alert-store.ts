import type { AlertName } from "#contract/alerts.ts";
import type { AlertStore, StoredAlert, StoredSilence } from "#domain/ports/alerts.ts";

export interface FakeAlertStore extends AlertStore {
  /** What every call throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

/** Alerts and silences in memory. */
export function createFakeAlertStore(): FakeAlertStore {
  const alerts = new Map<AlertName, StoredAlert>();
  const silences = new Map<string, StoredSilence>();
  const check = (): void => {
    if (fake.fault !== undefined) throw fake.fault;
  };
  const fake: FakeAlertStore = {
    fault: undefined,
    alerts() {
      check();
      return [...alerts.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    saveAlert(alert) {
      check();
      alerts.set(alert.name, alert);
    },
    forgetAlert(name) {
      check();
      alerts.delete(name);
    },
    silences() {
      check();
      return [...silences.values()];
    },
    saveSilence(silence) {
      check();
      silences.set(silence.id, silence);
    },
    forgetSilence(id) {
      check();
      silences.delete(id);
    },
  };
  return fake;
}
