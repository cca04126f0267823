import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { patientFetch } from "#cli/core/transport.ts";

it("patientFetch hands an answer on as it comes, before it has ended", async () => {
  const { promise: isRead, resolve: hasRead } = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    response.write("first ");
    void isRead.then(() => response.end("last"));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const { body } = await patientFetch(`http://127.0.0.1:${port}/`);
  let text = "";
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString();
    hasRead();
  }
  expect(text).toBe("first last");
  server.close();
});
