import type { HostNameChange, HostNames, TimeChange, TimeSettings } from "#domain/ports/host-settings.ts";
import type { RequestRoot } from "./request.ts";

/** Reading takes no rights; polkit lets the service change nothing of it. */
export const timeThroughRoot = (time: TimeSettings, request: RequestRoot): TimeSettings => ({
  ...time,
  set: async (change: TimeChange, signal) => void (await request("host.set_time", change, signal)),
});

export const namesThroughRoot = (names: HostNames, request: RequestRoot): HostNames => ({
  ...names,
  set: async (change: HostNameChange, signal) => void (await request("host.set_hostname", change, signal)),
});
