import type { NotificationStore, StoredComponent, StoredNotification } from "#domain/ports/notifications.ts";

export interface FakeNotificationStore extends NotificationStore {
  /** What every call throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

/** Notifications in memory. */
export function createFakeNotificationStore(): FakeNotificationStore {
  const notifications = new Map<string, StoredNotification>();
  const components = new Map<string, StoredComponent>();
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
  };
  return fake;
}
