import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkTlsFiles, tlsPart } from "#app/parts/tls.ts";
import { createLogs } from "#telemetry/logger.ts";
import { createFakeClock } from "../fakes/clock.ts";
import {
  type Authority,
  type CertificateFiles,
  createAuthority,
  makePair,
  protectKey,
} from "./support/certificates.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

interface Files extends CertificateFiles {
  readonly client_ca: string;
  readonly client_crl: string;
}
const names = ["cert", "key", "client_ca", "client_crl"] as const;

let good: Files;
let other: CertificateFiles;
let rsa: CertificateFiles;
let weak: CertificateFiles;
let chained: CertificateFiles;
let expired: CertificateFiles;
let protectedKey: string;
let authority: Authority;
beforeAll(async () => {
  authority = await createAuthority(workspace, "authority");
  const pair = await makePair(workspace, "good");
  good = { ...pair, client_ca: authority.cert, client_crl: await authority.crl("list.pem") };
  other = await makePair(workspace, "other");
  rsa = await makePair(workspace, "rsa", undefined, "rsa");
  weak = await makePair(workspace, "weak", undefined, "secp256k1");
  chained = await authority.issue("chained", { usage: "serverAuth", altName: "IP:127.0.0.1" });
  expired = await authority.issue("expired", { usage: "clientAuth", fromDays: -3, toDays: -1 });
  protectedKey = await protectKey(workspace, pair.key);
});

const text = (path: string): string => readFileSync(path, "utf8");

/** Replaces a file. */
const put = (place: string, content: string): void => {
  rmSync(place);
  writeFileSync(place, content, { mode: 0o600 });
};

/** What is wrong, how it comes to be, and what is said of it. */
const faults: readonly [string, (files: Files) => void, RegExp][] = [
  ["an RSA certificate beside an EC key", ({ cert }) => copyFileSync(rsa.cert, cert), /not that of the certificate/],
  ["an EC certificate of another key", ({ cert }) => copyFileSync(other.cert, cert), /not that of the certificate/],
  ["an RSA key beside an EC certificate", ({ key }) => copyFileSync(rsa.key, key), /not that of the certificate/],
  [
    "a chain that begins with the issuer",
    ({ cert, key }) => {
      put(cert, text(authority.cert) + text(chained.cert));
      put(key, text(chained.key));
    },
    /that of certificate 2 in the file, not of the first/,
  ],
  [
    "a pair that no handshake can be made with",
    ({ cert, key }) => {
      put(cert, text(weak.cert));
      put(key, text(weak.key));
    },
    /a handshake with this certificate and key fails: no suitable signature algorithm/,
  ],
  ["a key with a passphrase", ({ key }) => copyFileSync(protectedKey, key), /protected by a passphrase/],
  ["a certificate in the place of the key", ({ cert, key }) => put(key, text(cert)), /there is no private key in it/],
  ["a key that everybody can read", ({ key }) => chmodSync(key, 0o644), /everybody can read or write/],
  ["a key in the place of the CA", ({ key, client_ca: ca }) => put(ca, text(key)), /there is no certificate in it/],
  ["a certificate in the place of the CRL", ({ cert, client_crl: crl }) => put(crl, text(cert)), /revocation list/],
  ...names.flatMap((name): (typeof faults)[number][] => [
    [
      `a named pipe in the place of ${name}`,
      (files) => {
        rmSync(files[name]);
        execFileSync("mkfifo", [files[name]]);
      },
      /a named pipe, not a regular file/,
    ],
    [`nothing in the place of ${name}`, (files) => rmSync(files[name]), /there is no such file/],
    [`an empty file in the place of ${name}`, (files) => put(files[name], ""), /there is no |no start line/],
  ]),
];

let copy = 0;
/** Copies of the good files. */
function copies(): Files {
  copy += 1;
  const at = (name: string) => workspace.path(`${copy}-${name}.pem`);
  for (const name of names) copyFileSync(good[name], at(name));
  return { cert: at("cert"), key: at("key"), client_ca: at("client_ca"), client_crl: at("client_crl") };
}

const check = (tls: Files) => checkTlsFiles({ tls, stateDir: workspace.path() }, Date.now());

/** The part of a service that has these files, and its log. */
async function open(tls: Files) {
  const lines: string[] = [];
  const { log } = createLogs({ level: "info", writer: { write: (line) => void lines.push(line) } });
  const clock = createFakeClock(Date.now());
  const part = await tlsPart({ config: { tls, stateDir: workspace.path() }, clock, log });
  return { part, lines, reload: () => part.reload({ tls, stateDir: workspace.path() }) };
}

describe("TLS files", () => {
  it("are accepted without a warning, also where they are links, as an ACME client makes them", async () => {
    const files = copies();
    expect(await check(files)).toEqual({ faults: [], warnings: [] });
    for (const name of names) {
      rmSync(files[name]);
      symlinkSync(good[name], files[name]);
    }
    expect(await check(files)).toEqual({ faults: [], warnings: [] });
  });

  it.each(faults)("are refused with %s, by a check, a start and a reload", async (_, spoil, message) => {
    const spoiled = copies();
    spoil(spoiled);
    expect(await check(spoiled)).toEqual({ faults: [expect.stringMatching(message)], warnings: [] });
    await expect(open(spoiled)).rejects.toThrow(message);

    const files = copies();
    const { part, lines, reload } = await open(files);
    const before = part.current();
    spoil(files);
    await reload();
    expect(lines.join("")).toContain("cannot reload TLS: the previous certificate stays in use");
    expect(lines.join("")).toMatch(message);
    expect(part.current()).toEqual(before);
  });

  it("are refused by a reload with an expired certificate, where the one in use has not expired", async () => {
    const files = copies();
    const { part, lines, reload } = await open(files);
    const before = part.current();
    put(files.cert, text(expired.cert));
    put(files.key, text(expired.key));
    await reload();
    expect(lines.join("")).toContain("it has expired");
    expect(part.current()).toEqual(before);
  });

  it("are warned of by a check and a start where they can be used and are odd", async () => {
    const files = copies();
    const stranger = await createAuthority(workspace, "stranger");
    put(files.cert, text(expired.cert) + text(other.cert));
    put(files.key, text(expired.key));
    put(files.client_ca, text(authority.cert) + text(stranger.cert));
    const problems = [
      /^certificate CN=expired expired on /,
      /^certificate 2 of the chain, CN=other, did not issue the one before it/,
      /not for servers/,
      /^client_crl: there is no list of CN=stranger/,
    ].map((problem) => expect.stringMatching(problem));
    expect(await check(files)).toEqual({ faults: [], warnings: problems });
    const { lines } = await open(files);
    const said = lines.map((line) => JSON.parse(line) as { msg: string; problem: string });
    expect(said.filter(({ msg }) => msg === "TLS files have a problem").map(({ problem }) => problem)).toEqual(
      problems,
    );
  });
});
