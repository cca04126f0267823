import { type Link, type Links, NetworkUnavailable, type Route } from "#domain/ports/network-state.ts";

export const fakeLink = (name: string, given: Partial<Link> = {}): Link => ({
  name,
  ...{ kind: "ether", state: "up", isUp: true, hasCarrier: true, mtu: 1500 },
  mac: "02:00:00:00:00:01",
  speedMbps: null,
  master: null,
  addresses: [],
  ...given,
});

export const fakeRoute = (destination: string, given: Partial<Route> = {}): Route => ({
  ...{ family: "ipv4", destination, type: "unicast", gateway: null, link: "eth0" },
  metric: 0,
  ...given,
});

export interface FakeLinks extends Links {
  found: readonly Link[];
  known: readonly Route[];
  isMissing: boolean;
}

export function createFakeLinks(found: readonly Link[] = [fakeLink("eth0")]): FakeLinks {
  const answer = async <T>(value: () => T): Promise<T> => {
    await Promise.resolve();
    if (fake.isMissing)
      throw new NetworkUnavailable("there is no /sys/class/net", { missing: "/sys/class/net", retryable: false });
    return value();
  };
  const fake: FakeLinks = {
    found,
    known: [fakeRoute("default", { gateway: "192.0.2.1" })],
    isMissing: false,
    links: () => answer(() => fake.found),
    routes: () => answer(() => fake.known),
  };
  return fake;
}
