import type {
  NotificationStore,
  StoredCheck,
  StoredComponent,
  StoredNotification,
} from "#domain/ports/notifications.ts";

export interface FakeNotificationStore extends NotificationStore {
  /** What every call throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

/** Notifications in memory. */
export function createFakeNotificationStore(): FakeNotificationStore {
  const notifications = new Map<string, StoredNotification>();
  const components = new Map<string, StoredComponent>();
  const checks = new Map<string, StoredCheck>();
  const check = (): void => {
    if (fake.fault !== undefined) throw fake.fault;
  };
  const fake: FakeNotificationStore = {
    fault: undefined,
    notifications() {
      check();
      return [...notifications.values()];
    },
    saveNotification(notification) {
      check();
      notifications.set(notification.id, notification);
    },
    forgetNotification(id) {
      check();
      notifications.delete(id);
    },
    components() {
      check();
      return [...components.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    saveComponent(component) {
      check();
      components.set(component.name, component);
    },
    forgetComponent(name) {
      check();
      components.delete(name);
    },
    checks() {
      check();
      return [...checks.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    saveCheck(saved) {
      check();
      checks.set(saved.name, saved);
    },
    together(work) {
      check();
      const maps: readonly Map<string, unknown>[] = [notifications, components, checks];
      const before = maps.map((map) => [...map]);
      try {
        work();
      } catch (error) {
        for (const [at, map] of maps.entries()) {
          map.clear();
          for (const [id, value] of before[at] ?? []) map.set(id, value);
        }
        throw error;
      }
    },
  };
  return fake;
}
