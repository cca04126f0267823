import { X509Certificate } from "node:crypto";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { runProgram } from "./program.ts";
import type { Workspace } from "./workspace.ts";

/** A certificate and its key, in files. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface Issue {
  /** Extended key usage; `clientAuth` unless given. */
  readonly usage?: string;
  /** Days from now, before now if negative; from yesterday to tomorrow unless given. */
  readonly fromDays?: number;
  readonly toDays?: number;
  /** Names and addresses, as openssl writes them. */
  readonly altName?: string;
}

/** An authority that openssl runs in a directory of its own. */
export interface Authority {
  readonly cert: string;
  readonly issue: (name: string, issue?: Issue) => Promise<CertificateFiles>;
  readonly revoke: (files: CertificateFiles) => Promise<void>;
  /** A list of what was revoked so far. */
  readonly crl: (name: string) => Promise<string>;
}

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Other kinds of keys; with the last no client makes a handshake. */
export const keyKinds = {
  "P-256": newKey,
  rsa: ["-newkey", "rsa:2048", "-nodes"],
  ed25519: ["-newkey", "ed25519", "-nodes"],
  secp256k1: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp256k1", "-nodes"],
} as const;

/** `YYYYMMDDHHMMSSZ`. */
const asn1Time = (days: number): string =>
  `${new Date(Date.now() + days * 86_400_000).toISOString().replaceAll(/[-:T]|\.\d+Z/g, "")}Z`;

async function openssl(workspace: Workspace, ...argv: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(workspace, ["/usr/bin/openssl", ...argv]);
  if (code !== 0) throw new Error(`openssl ${argv.join(" ")}: ${stderr}`);
  return stdout;
}

/** The private key again, protected by a passphrase. */
export async function protectKey(workspace: Workspace, key: string): Promise<string> {
  const path = `${key}.protected`;
  await openssl(workspace, "pkey", "-in", key, "-out", path, "-aes256", "-passout", "pass:secret");
  chmodSync(path, 0o600);
  return path;
}

/** A certificate that signed itself. */
export async function makePair(
  workspace: Workspace,
  name: string,
  altName = "IP:127.0.0.1,DNS:localhost",
  kind: keyof typeof keyKinds = "P-256",
): Promise<CertificateFiles> {
  const files = { cert: workspace.path(`${name}-cert.pem`), key: workspace.path(`${name}-key.pem`) };
  const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=${altName}`];
  await openssl(
    workspace,
    "req",
    "-x509",
    ...keyKinds[kind],
    "-days",
    "2",
    ...subject,
    "-keyout",
    files.key,
    "-out",
    files.cert,
  );
  chmodSync(files.key, 0o600);
  return files;
}

const settings = (directory: string): string => `
[ca]
default_ca = own
[own]
database = ${directory}/index.txt
new_certs_dir = ${directory}
serial = ${directory}/serial
crlnumber = ${directory}/crlnumber
certificate = ${directory}/ca.pem
private_key = ${directory}/ca-key.pem
default_md = sha256
default_crl_days = 2
policy = any
unique_subject = no
[any]
commonName = supplied
`;

export async function createAuthority(workspace: Workspace, name: string, commonName = name): Promise<Authority> {
  const directory = workspace.path(name);
  const at = (file: string): string => `${directory}/${file}`;
  mkdirSync(directory, { mode: 0o700 });
  writeFileSync(at("ca.cnf"), settings(directory));
  writeFileSync(at("index.txt"), "");
  writeFileSync(at("serial"), "01\n");
  writeFileSync(at("crlnumber"), "01\n");
  const own = ["-subj", `/CN=${commonName}`, "-days", "2", "-keyout", at("ca-key.pem"), "-out", at("ca.pem")];
  await openssl(workspace, "req", "-x509", ...newKey, ...own);
  return {
    cert: at("ca.pem"),
    async issue(subject, { usage = "clientAuth", fromDays = -1, toDays = 1, altName } = {}) {
      const files = { cert: at(`${subject}.pem`), key: at(`${subject}-key.pem`) };
      const [request, extensions] = [at(`${subject}.csr`), at(`${subject}.ext`)];
      writeFileSync(extensions, `basicConstraints=CA:false\nextendedKeyUsage=${usage}\n`);
      if (altName !== undefined) appendFileSync(extensions, `subjectAltName=${altName}\n`);
      await openssl(workspace, "req", ...newKey, "-subj", `/CN=${subject}`, "-keyout", files.key, "-out", request);
      const dates = ["-startdate", asn1Time(fromDays), "-enddate", asn1Time(toDays)];
      const put = ["-in", request, "-out", files.cert, "-extfile", extensions, "-notext", "-batch"];
      await openssl(workspace, "ca", "-config", at("ca.cnf"), ...dates, ...put);
      chmodSync(files.key, 0o600);
      return files;
    },
    async revoke({ cert }) {
      await openssl(workspace, "ca", "-config", at("ca.cnf"), "-revoke", cert);
    },
    async crl(file) {
      await openssl(workspace, "ca", "-config", at("ca.cnf"), "-gencrl", "-out", at(file));
      return at(file);
    },
  };
}

/** SHA-256 of a certificate as openssl prints it. */
export const fingerprintOf = (cert: string): string => new X509Certificate(readFileSync(cert)).fingerprint256;

/** The same as the service writes it. */
export const sha256Of = (cert: string): string => fingerprintOf(cert).replaceAll(":", "").toLowerCase();
