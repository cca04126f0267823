import { expect, it } from "vitest";
import { createFakeDefaultRoutes } from "../../../../test/fakes/default-routes.ts";
import { networkConnectivityCheck } from "./network-connectivity.ts";

const run = (routes: Parameters<typeof createFakeDefaultRoutes>[0], ignore: readonly string[] = []) =>
  networkConnectivityCheck({ routes: createFakeDefaultRoutes(routes) }).run({ ignore }, new AbortController().signal);

it("network_connectivity passes with a default route, fails without one, warns when one of several is down, and skips on an isolated host", async () => {
  expect(await run([{}])).toEqual({
    status: "pass",
    message: "The default route leads over 192.0.2.1 on eth0",
    details: { routes: [{ family: "ipv4", interface: "eth0", gateway: "192.0.2.1", up: true }] },
  });
  expect(await run([])).toMatchObject({ status: "fail" });
  expect(await run([{ isUp: false }])).toMatchObject({ status: "fail" });
  expect(await run([{ interface: "wg0", gateway: null }], ["wg*"])).toMatchObject({ status: "fail" });
  expect(await run([{}, { interface: "wwan0", isUp: false }])).toMatchObject({
    status: "warn",
    message: "One default route is down: no link on wwan0, another is up",
  });
  const check = networkConnectivityCheck({ routes: createFakeDefaultRoutes([]) });
  expect(await check.run({ ignore: [], isIsolated: true }, new AbortController().signal)).toMatchObject({
    status: "skip",
    message: "This host is meant to be isolated: no route to other networks is expected",
  });
});
