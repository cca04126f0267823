import { once } from "node:events";
import { createServer } from "node:http";
import type { LookupFunction } from "node:net";
import { describe, expect, it } from "vitest";
import { createFetch } from "./fetch.ts";

/** Whatever the name is, these are its addresses. */
const resolveTo =
  (...addresses: readonly string[]): LookupFunction =>
  (_, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const [first] = found;
    if (all === true) callback(null, found);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };

describe("a name that leads to a link-local address", () => {
  it.each([
    [["169.254.169.254"]],
    [["fe80::1"]],
    [["::ffff:169.254.169.254"]],
    [["fe80::1", "169.254.169.254"]],
    [["fd00:ec2::254"]],
  ])("is not connected to: %j", async (addresses) => {
    const fetch = createFetch({ connectMs: 500 }, resolveTo(...addresses));
    const failure = await fetch("http://metadata.test:8080/").catch((error: unknown) => error);
    expect(failure).toMatchObject({ cause: { name: "ProviderFailed", failure: "unreachable", isRetryable: false } });
  });

  it("is connected to at its other addresses alone", async () => {
    const server = createServer((_, response) => response.end("here"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const answer = await createFetch({}, resolveTo("fe80::1", "127.0.0.1"))(`http://model.test:${port}/`);
      expect(await answer.text()).toBe("here");
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

it("a port that fetch blocks is not connected to", async () => {
  await expect(createFetch()("http://127.0.0.1:25/")).rejects.toMatchObject({
    name: "ProviderFailed",
    message: "port 25 is kept for another protocol and is never asked",
  });
});
