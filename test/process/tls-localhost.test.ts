import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { connect } from "node:tls";
import { fastify } from "fastify";
import { afterAll, expect, it } from "vitest";
import { listen } from "#transports/http/listen.ts";
import { contextOptions, replaceContext } from "#transports/http/tls.ts";
import { makePair, sha256Of } from "./support/certificates.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const hasBoth = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === "::1"));
if (!hasBoth) process.stdout.write("skipped: both addresses of localhost: this machine has no ::1\n");

const read = (path: string): string => readFileSync(path, "utf8");

/** What an address answers, and the SHA-256 of the certificate that it shows. */
function ask(host: string, port: number): Promise<{ body: string; cert: string }> {
  return new Promise((resolve, reject) => {
    let body = "";
    let cert = "";
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      cert = (socket.getPeerX509Certificate()?.fingerprint256 ?? "").replaceAll(":", "").toLowerCase();
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    socket.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    socket.once("error", reject);
    socket.once("end", () => resolve({ body, cert }));
  });
}

it.runIf(hasBoth)("both addresses of localhost are one server, which shows one certificate", async () => {
  const [before, after] = [await makePair(workspace, "before"), await makePair(workspace, "after")];
  const pair = ({ cert, key }: typeof before) => ({ cert: read(cert), key: read(key) });
  const app = fastify({ serverFactory: (handler) => createServer(contextOptions(pair(before)), handler) });
  app.get("/", () => "hello");
  await listen(app, { host: "localhost", port: 0 }, () => Promise.resolve(["127.0.0.1", "::1"]));
  const { port } = app.server.address() as AddressInfo;
  for (const host of ["127.0.0.1", "::1"]) {
    expect(await ask(host, port)).toEqual({ body: expect.stringContaining("hello"), cert: sha256Of(before.cert) });
  }
  replaceContext([app.server], pair(after));
  for (const host of ["127.0.0.1", "::1"]) expect((await ask(host, port)).cert).toBe(sha256Of(after.cert));
  await app.close();
  await expect(ask("::1", port)).rejects.toThrow(/ECONNREFUSED/);
});

it("an address that cannot be had beside the first one leaves that as it is", async () => {
  const app = fastify();
  app.get("/", () => "hello");
  await listen(app, { host: "localhost", port: 0 }, () => Promise.resolve(["127.0.0.1", "192.0.2.1"]));
  const { port } = app.server.address() as AddressInfo;
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("hello");
  await app.close();
});
