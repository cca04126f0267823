import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Authority,
  type CertificateFiles,
  createAuthority,
  makePair,
  protectKey,
  sha256Of,
} from "./support/certificates.ts";
import { runSteward } from "./support/program.ts";
import { launchService, logged, type RunningService, startService, writeSettings } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

interface Files extends CertificateFiles {
  readonly client_ca: string;
  readonly client_crl: string;
}

const names = ["cert", "key", "client_ca", "client_crl"] as const;
const settingsOf = (files: Files): string =>
  `tls: { ${names.map((name) => `${name}: "${files[name]}"`).join(", ")} }\nupdates: { enabled: false }\ntracing: { receiver: off }\n`;

let good: Files;
let other: CertificateFiles;
let rsa: CertificateFiles;
let weak: CertificateFiles;
let chained: CertificateFiles;
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
  protectedKey = await protectKey(workspace, pair.key);
});

const text = (path: string): string => readFileSync(path, "utf8");

/** Puts something else in the place of a file. */
const put = (place: string, content: string): void => {
  rmSync(place);
  writeFileSync(place, content, { mode: 0o600 });
};

const notRegular: readonly [string, (place: string) => void, RegExp][] = [
  ["a named pipe", (place) => execFileSync("mkfifo", [place]), /a named pipe, not a regular file/],
  ["a directory", (place) => execFileSync("mkdir", [place]), /a directory, not a regular file/],
  ["a link to a device without end", (place) => symlinkSync("/dev/zero", place), /a device, not a regular file/],
  ["a link in a loop", (place) => symlinkSync(place, place), /a loop/],
  [
    "a huge file",
    (place) => {
      writeFileSync(place, "", { mode: 0o600 });
      truncateSync(place, 8 * 1024 ** 4);
    },
    /larger than 1024 KiB/,
  ],
  ["nothing", () => undefined, /there is no such file/],
  ["an empty file", (place) => writeFileSync(place, "", { mode: 0o600 }), /there is no |no start line/],
];

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
  ...names.flatMap((name) =>
    notRegular.map(([what, make, message]): (typeof faults)[number] => [
      `${what} in the place of ${name}`,
      (files) => {
        rmSync(files[name]);
        make(files[name]);
      },
      message,
    ]),
  ),
];

let round = 0;
/** Copies of good files, each in a place of its own. */
function copies(): Files {
  round += 1;
  const at = (name: string) => workspace.path(`${round}-${name}.pem`);
  for (const name of names) copyFileSync(good[name], at(name));
  return { cert: at("cert"), key: at("key"), client_ca: at("client_ca"), client_crl: at("client_crl") };
}

const check = (settings: string, ...more: readonly string[]) =>
  runSteward(workspace, ["config", "check", "--config", writeSettings(workspace, settings), ...more]);

/** SHA-256 of the certificate that a new connection is shown. */
function shown({ port }: RunningService): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256 ?? "";
      socket.destroy();
      resolve(fingerprint.replaceAll(":", "").toLowerCase());
    });
    socket.once("error", reject);
  });
}

it("takes the good files, of which config check says nothing", async () => {
  expect(await check(settingsOf(copies()))).toMatchObject({ code: 0, stdout: expect.stringMatching(/no fault\n$/) });
});

describe("steward config check", () => {
  it.each(faults)("finds %s", async (_, spoil, message) => {
    const files = copies();
    spoil(files);
    const { code, stdout } = await check(settingsOf(files), "--json");
    const report = JSON.parse(stdout) as { faults: readonly { line: number; path: string; message: string }[] };
    expect({ code, ...report }).toMatchObject({
      code: 1,
      faults: [{ line: 1, path: "tls", message: expect.stringMatching(message) }],
    });
  });
});

describe("a reload", () => {
  it("changes nothing with any of these, goes on answering, and says why", async () => {
    const files = copies();
    const service = await startService(workspace, { settings: settingsOf(files) });
    const refused = () => service.lines().filter(({ msg }) => msg === "TLS not reloaded, the former certificate stays");
    for (const [at, [what, spoil, message]] of faults.entries()) {
      spoil(files);
      service.kill("SIGHUP");
      const line = await until(`the log says of ${what}`, () => refused()[at]);
      expect([what, JSON.stringify(line)]).toEqual([what, expect.stringMatching(message)]);
      expect([what, await shown(service)]).toEqual([what, sha256Of(good.cert)]);
      for (const name of names) {
        rmSync(files[name], { recursive: true, force: true });
        copyFileSync(good[name], files[name]);
      }
    }
    put(files.cert, text(other.cert));
    put(files.key, text(other.key));
    service.kill("SIGHUP");
    await until("the good pair", async () => ((await shown(service)) === sha256Of(other.cert) ? true : undefined));
  });
});

describe("a start", () => {
  it.each(
    faults.filter(([what]) => /RSA certificate|handshake|named pipe in the place of (cert|client_crl)/.test(what)),
  )("is refused with %s", async (_, spoil, message) => {
    const files = copies();
    spoil(files);
    const service = launchService(workspace, { settings: settingsOf(files) });
    expect(await service.exit).toEqual({ code: 2, signal: null });
    expect(service.stderr()).toMatch(/^steward: cannot /);
    expect(service.stderr()).toMatch(message);
  });
});

describe("files that can be used and are odd all the same", () => {
  it("are warned of by config check and in the log", async () => {
    const files = copies();
    const expired = await authority.issue("expired", { usage: "clientAuth", fromDays: -3, toDays: -1 });
    const stranger = await createAuthority(workspace, "stranger");
    put(files.cert, text(expired.cert) + text(other.cert));
    put(files.key, text(expired.key));
    put(files.client_ca, text(authority.cert) + text(stranger.cert));
    const problems = [
      /certificate CN=expired expired on /,
      /certificate 2 of the chain, CN=other, did not issue the one before it/,
      /not for servers/,
      /client_crl: there is no list of CN=stranger/,
    ];
    const { code, stdout } = await check(settingsOf(files), "--json");
    const { warnings } = JSON.parse(stdout) as { warnings: readonly string[] };
    expect({ code, warnings }).toEqual({
      code: 0,
      warnings: problems.map((problem) => expect.stringMatching(new RegExp(`^tls: .*${problem.source}`))),
    });
    const service = launchService(workspace, { settings: settingsOf(files) });
    await logged(service, "listening");
    const said = service.lines().filter(({ msg }) => msg === "TLS files have a problem");
    expect(said.map(({ problem }) => problem)).toEqual(problems.map((problem) => expect.stringMatching(problem)));
  });

  it("are followed where they are links, as an ACME client makes them", async () => {
    const files = copies();
    for (const name of names) {
      rmSync(files[name]);
      symlinkSync(good[name], files[name]);
    }
    expect(await check(settingsOf(files))).toMatchObject({ code: 0 });
  });
});

describe("several CRLs in one file", () => {
  it("are all used: a client of each CA is admitted, and one that is revoked is not", async () => {
    const [one, two] = [await createAuthority(workspace, "one"), await createAuthority(workspace, "two")];
    const clients = [await one.issue("client"), await two.issue("client"), await two.issue("revoked")] as const;
    await two.revoke(clients[2]);
    const files = copies();
    put(files.client_ca, text(one.cert) + text(two.cert));
    put(files.client_crl, text(await one.crl("list.pem")) + text(await two.crl("list.pem")));
    const service = await startService(workspace, { settings: settingsOf(files) });
    const statusOf = async ({ cert, key }: CertificateFiles): Promise<string> => {
      const { execFile } = await import("node:child_process");
      const { promisify } = await import("node:util");
      const argv = ["-sSk", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", "--cert", cert, "--key", key];
      const header = ["-H", `X-API-Key: ${service.adminKey}`, `${service.url}/api/v1/health`];
      return (await promisify(execFile)("curl", [...argv, ...header])).stdout;
    };
    expect(await Promise.all(clients.map(statusOf))).toEqual(["200", "200", "401"]);
  });
});
