import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createNameServers } from "#adapters/resolver/index.ts";
import type { NameServers } from "#domain/ports/network.ts";
import { createFakeNameServers } from "../fakes/name-servers.ts";

const signal = new AbortController().signal;
/** Response codes of RFC 1035, 4.1.1. */
const rcodes = { answers: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;

/** Runs the test with a server on this machine that gives every question back with a response code and no records. */
async function withServer(rcode: number, test: (servers: NameServers) => Promise<void>): Promise<void> {
  const server = createSocket("udp4");
  const folder = mkdtempSync(join(tmpdir(), "steward-resolver-"));
  try {
    server.on("message", (question, { port, address }) => {
      const answer = Buffer.from(question);
      answer.writeUInt16BE(0x8180 | rcode, 2);
      server.send(answer, port, address);
    });
    server.bind(0, "127.0.0.1");
    await once(server, "listening");
    const file = join(folder, "resolv.conf");
    writeFileSync(file, "nameserver 127.0.0.1\n");
    await test(createNameServers({ file, port: server.address().port }));
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
}

const withFake =
  (code?: string) =>
  (test: (servers: NameServers) => Promise<void>): Promise<void> =>
    test(createFakeNameServers({ "127.0.0.1": code }));

describe.each([
  ["fake", withFake(), withFake("ESERVFAIL")],
  [
    "over the network",
    (test: (servers: NameServers) => Promise<void>) => withServer(rcodes.answers, test),
    (test: (servers: NameServers) => Promise<void>) => withServer(rcodes.SERVFAIL, test),
  ],
])("name servers: %s", (_, withAnswering, withFailing) => {
  it("are listed and answer", () =>
    withAnswering(async (servers) => {
      expect(await servers.list()).toEqual(["127.0.0.1"]);
      expect(await servers.ask("127.0.0.1", ".", signal)).toMatchObject({ isAnswered: true });
    }));

  it("fail with a code", () =>
    withFailing(async (servers) => {
      expect(await servers.ask("127.0.0.1", ".", signal)).toMatchObject({ isAnswered: false, code: "ESERVFAIL" });
    }));
});

describe("name servers: over the network", () => {
  it.each([
    ["ENOTFOUND", rcodes.NXDOMAIN],
    ["EREFUSED", rcodes.REFUSED],
  ])("tell %s apart", (code, rcode) =>
    withServer(rcode, async (servers) => {
      expect(await servers.ask("127.0.0.1", "host.test", signal)).toMatchObject({ isAnswered: false, code });
    }),
  );

  it("answer in a closed network that there is no root", () =>
    withServer(rcodes.NXDOMAIN, async (servers) => {
      expect(await servers.ask("127.0.0.1", ".", signal)).toMatchObject({ isAnswered: true });
    }));

  it("stop asking when told to", () =>
    withServer(rcodes.answers, async (servers) => {
      const over = new AbortController();
      // An address of documentation, where nobody answers (RFC 5737).
      const asked = servers.ask("192.0.2.1", ".", over.signal);
      over.abort();
      expect(await asked).toMatchObject({ isAnswered: false });
    }));

  it("are none without resolv.conf", async () => {
    expect(await createNameServers({ file: "/nonexistent" }).list()).toEqual([]);
  });
});
