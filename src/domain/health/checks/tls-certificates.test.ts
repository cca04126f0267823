import { expect, it } from "vitest";
import { createFakeCertificateFiles } from "../../../../test/fakes/certificate-files.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { tlsCertificatesCheck } from "./tls-certificates.ts";

const dayMs = 86_400_000;
const clock = createFakeClock();
const certificate = (daysLeft: number, validSinceDays = 1) => ({
  subject: "CN=example.test",
  validFrom: clock.now() - validSinceDays * dayMs,
  validTo: clock.now() + daysLeft * dayMs,
});
const files = createFakeCertificateFiles({
  "/fine.pem": [certificate(90)],
  "/soon.pem": [certificate(29)],
  "/tomorrow.pem": [certificate(1)],
  "/gone.pem": [certificate(-0.5)],
  "/chain.pem": [certificate(90), { ...certificate(5), subject: "CN=Some CA" }],
  "/early.pem": [certificate(90, -1)],
});
const run = (paths: readonly string[], settings: { warn?: number; ignore?: readonly string[] } = {}) =>
  tlsCertificatesCheck({ files, paths: () => paths, clock }).run(
    { ignore: [], ...settings },
    new AbortController().signal,
  );

it.each([
  ["/fine.pem", "pass", "No certificate expires within 30 days"],
  ["/soon.pem", "warn", "/soon.pem expires in 29 days"],
  ["/tomorrow.pem", "fail", "/tomorrow.pem expires in 1 day"],
  ["/gone.pem", "fail", "/gone.pem has expired"],
  ["/chain.pem", "fail", "CN=Some CA in the chain of /chain.pem expires in 5 days"],
  ["/early.pem", "fail", "/early.pem is not valid yet"],
  ["/missing.pem", "fail", "cannot read /missing.pem: no such file"],
])("tls_certificates grades %s as %s", async (path, status, message) => {
  expect(await run([path])).toMatchObject({ status, message });
});

it("tls_certificates shows all certificates, is as bad as the worst, and skips without any", async () => {
  expect(await run(["/fine.pem", "/soon.pem", "/tomorrow.pem"])).toMatchObject({
    status: "fail",
    message: "/tomorrow.pem expires in 1 day",
    details: { certificates: [{ days_left: 90 }, { days_left: 29 }, { days_left: 1 }] },
  });
  expect(await run(["/soon.pem"], { warn: 20 })).toMatchObject({ status: "pass" });
  expect(await run([])).toMatchObject({ status: "skip" });
  expect(await run(["/gone.pem"], { ignore: ["/gone.pem"] })).toMatchObject({ status: "skip" });
});
