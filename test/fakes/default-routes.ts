import type { DefaultRoute, DefaultRoutes } from "#domain/ports/network.ts";

/** A host with these ways out. */
export const createFakeDefaultRoutes = (routes: readonly Partial<DefaultRoute>[]): DefaultRoutes => ({
  list: () =>
    Promise.resolve(
      routes.map((route) => ({ family: "ipv4", interface: "eth0", gateway: "192.0.2.1", isUp: true, ...route })),
    ),
});
