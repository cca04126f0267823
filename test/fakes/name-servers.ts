import type { NameServers } from "#domain/ports/network.ts";

/** Servers by address, with the code that each fails with; undefined for one that answers. */
export const createFakeNameServers = (servers: Readonly<Record<string, string | undefined>>): NameServers => ({
  list: () => Promise.resolve(Object.keys(servers)),
  ask(server) {
    const code = Object.hasOwn(servers, server) ? servers[server] : "ECONNREFUSED";
    return Promise.resolve(
      code === undefined ? { isAnswered: true, durationMs: 1 } : { isAnswered: false, durationMs: 1, code },
    );
  },
});
