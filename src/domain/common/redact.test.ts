import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redact, redactLines } from "./redact.ts";

const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
const digits = "0123456789";
const letters = lower + upper + digits;

const textOf = (characters: string, minLength: number, maxLength = minLength) =>
  fc.string({ unit: fc.constantFrom(...characters.split("")), minLength, maxLength });
/** Random, and certain to have what random text of that length has: capital and small letters and digits. */
const mixed = (minLength: number, maxLength = minLength, characters = letters) =>
  fc
    .tuple(textOf(characters, minLength - 6, maxLength - 6), textOf(lower, 2), textOf(upper, 2), textOf(digits, 2))
    .map((parts) => parts.join(""));

/** A secret and a text that has it. */
interface Planted {
  readonly secret: string;
  readonly text: string;
}
const planted = (secret: fc.Arbitrary<string>, write: (secret: string) => string = (each) => each) =>
  secret.map((each): Planted => ({ secret: each, text: write(each) }));

/** Known by their shape. */
const shaped: Readonly<Record<string, fc.Arbitrary<string>>> = {
  "own key": fc.tuple(mixed(8), mixed(49)).map(([id, rest]) => `stw_${id}_${rest}`),
  "own token": fc.tuple(mixed(8), mixed(49)).map(([id, rest]) => `stt_${id}_${rest}`),
  openai: mixed(48).map((each) => `sk-${each}`),
  "openai project": mixed(80, 150, `${letters}_-`).map((each) => `sk-proj-${each}`),
  anthropic: mixed(90, 100, `${letters}_-`).map((each) => `sk-ant-api03-${each}`),
  google: mixed(35, 35, `${letters}_-`).map((each) => `AIza${each}`),
  "google oauth": mixed(40, 80, `${letters}_-`).map((each) => `ya29.${each}`),
  "hugging face": mixed(34).map((each) => `hf_${each}`),
  github: fc.tuple(fc.constantFrom("p", "o", "u", "s", "r"), mixed(36)).map(([kind, each]) => `gh${kind}_${each}`),
  "github fine": fc.tuple(mixed(22), mixed(59)).map(([a, b]) => `github_pat_${a}_${b}`),
  gitlab: mixed(20, 20, `${letters}_-`).map((each) => `glpat-${each}`),
  slack: fc
    .tuple(fc.constantFrom("a", "b", "p", "r", "s"), mixed(24))
    .map(([kind, each]) => `xox${kind}-1234567890-${each}`),
  "amazon id": textOf(upper + digits, 16).map((each) => `AKIA${each}`),
  "amazon session id": textOf(upper + digits, 16).map((each) => `ASIA${each}`),
  "npm, stripe": fc.tuple(fc.constantFrom("npm_", "sk_live_"), mixed(36)).map(([kind, each]) => kind + each),
  jwt: fc
    .tuple(mixed(20, 60, `${letters}_-`), mixed(40, 200, `${letters}_-`), mixed(43, 43, `${letters}_-`))
    .map(([a, b, c]) => `eyJ${a}.eyJ${b}.${c}`),
  crypt: fc.tuple(textOf(letters, 16), mixed(86, 86, `${letters}./`)).map(([a, b]) => `$6$${a}$${b}`),
};

const password = fc.oneof(
  mixed(8, 24),
  mixed(10, 24, `${letters}!#%^*()+~.,:/=?@-_$`).filter(
    // What cannot be distinguished from the next name and value of a list, an option, a variable, or the end of a list.
    (each) => !/^[-$]|[,;&][\w.-]+[=:]|[,;&)}\]>]$/.test(each),
  ),
);
const simple = mixed(8, 40, `${letters}-_.`).map((each) => `s${each}`);
const quoted = mixed(8, 30, `${letters} !#%&,;:=@`).map((each) => `a${each}z`);

/** Known by what stands beside them. */
const named: Readonly<Record<string, fc.Arbitrary<Planted>>> = {
  "password=": planted(simple, (each) => `login failed: password=${each} host=db`),
  "passwd:": planted(simple, (each) => `user root passwd: ${each} given`),
  "token=": planted(simple, (each) => `GET /hook?a=1&token=${each}&b=2 200`),
  "DB_PASSWORD=": planted(password, (each) => `env DB_PASSWORD=${each}`),
  "SECRET_KEY_BASE=": planted(password, (each) => `SECRET_KEY_BASE=${each}`),
  "api_key=": planted(simple, (each) => `api_key=${each}, retries=3`),
  "apiKey, JSON": planted(quoted, (each) => JSON.stringify({ level: "info", apiKey: each, at: 3 })),
  "password, JSON": planted(password, (each) => JSON.stringify({ user: "root", password: each }, null, 2)),
  "password, JSON in JSON": planted(quoted, (each) =>
    JSON.stringify({ msg: JSON.stringify({ password: each, user: "root" }), code: 7 }),
  ),
  "secret, YAML": planted(quoted, (each) => `service:\n  client_secret: ${each}\n  port: 80`),
  "password, YAML block": planted(quoted, (each) => `db:\n  password: |\n    ${each}\n  port: 80`),
  "secret, quoted": planted(quoted, (each) => `secret = '${each}' and more`),
  "--password x": planted(simple, (each) => `mysql --user root --password ${each} db`),
  "--password=x": planted(password, (each) => `mysql --password=${each} db`),
  "--api-key x": planted(simple, (each) => `tool --api-key '${each}' run`),
  "words of a command": planted(simple, (each) => `exec ["tool", "--token", "${each}", "run"]`),
  "curl --user": planted(simple, (each) => `curl --user admin:${each} https://host.example/`),
  bearer: planted(simple, (each) => `sent Bearer ${each} to host`),
  "authorization bearer": planted(simple, (each) => `curl -H 'Authorization: Bearer ${each}' https://host.example/`),
  "authorization bare": planted(mixed(24), (each) => `> authorization: ${each}`),
  "authorization, JSON": planted(simple, (each) => `{"headers":{"authorization":"Token ${each}","accept":"*/*"}}`),
  basic: planted(
    password.map((each) => btoa(`admin:${each}`)),
    (each) => `Authorization: Basic ${each}`,
  ),
  "basic alone": planted(
    password.map((each) => btoa(`admin:${each}`)),
    (each) => `sent Basic ${each} upstream`,
  ),
  "x-api-key": planted(simple, (each) => `x-api-key: ${each}`),
  cookie: planted(simple, (each) => `GET / "Cookie: theme=dark; id=${each}" 200`),
  "set-cookie": planted(simple, (each) => `Set-Cookie: id=${each}; Path=/; HttpOnly`),
  "session id": planted(simple, (each) => `PHPSESSID=${each} opened`),
  url: planted(
    // A number before a slash is a port, and two slashes begin another address.
    password.filter((each) => !/[#?@]|^\d+\/|^\/\//.test(each)),
    (each) => `dial postgres://app:${each}@db.internal:5432/app`,
  ),
  "url without a user": planted(simple, (each) => `redis://:${each}@127.0.0.1:6379/0`),
  "connection string": planted(simple, (each) => `Server=db;User Id=sa;Password=${each};Encrypt=true`),
  "account key": planted(
    mixed(86, 86, `${letters}+/`),
    (each) => `AccountName=x;AccountKey=${each}==;EndpointSuffix=y`,
  ),
  "amazon secret": planted(mixed(40, 40, `${letters}/+`), (each) => `AKIAABCDEFGHIJKLMNOP ${each} eu-west-1`),
  "amazon secret, named": planted(mixed(40, 40, `${letters}/+`), (each) => `aws_secret_access_key = ${each}`),
  "sas signature": planted(simple, (each) => `https://a.example/c?sv=1&sig=${each}&se=2`),
  sql: planted(simple, (each) => `ALTER USER app WITH PASSWORD '${each}';`),
  xml: planted(
    quoted.filter((each) => !each.includes("&")),
    (each) => `<db><Password>${each}</Password></db>`,
  ),
  "in a query, escaped": planted(simple, (each) => `state=a%26token%3D${each}%26b%3D1 200`),
  "registry login": planted(mixed(20), (each) => JSON.stringify({ auths: { "r.example": { auth: each } } })),
  smtp: planted(mixed(24), (each) => `> AUTH PLAIN ${each}=`),
  "data source": planted(simple, (each) => `dial app:${each}@tcp(10.0.0.1:3306)/app failed`),
  wireguard: planted(
    mixed(43, 43, `${letters}+/`),
    (each) => `[Interface]\nPrivateKey = ${each}=\nPresharedKey=${each}=`,
  ),
  htpasswd: planted(mixed(22, 22, `${letters}./`), (each) => `admin:$apr1$${each}`),
  netrc: planted(simple, (each) => `machine host.example login root password ${each}`),
  coloured: planted(simple, (each) => `\u001b[36mpassword\u001b[0m=\u001b[32m${each}\u001b[0m user=root`),
  "colours written out": planted(simple, (each) => `{"log":"\\u001b[36mtoken\\u001b[0m=${each} x"}`),
};

/** Random text around it, of several lines, with what logs have. */
const around = fc.array(
  fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constantFrom("user=root", "level=info", '{"a":1}', "time=12:00", "200", "-", "=", ":", "[1]", "(x)"),
  ),
  { maxLength: 5 },
);

const pem = (kind: string) =>
  fc
    .array(mixed(64, 64, `${letters}+/`), { minLength: 2, maxLength: 30 })
    .map((lines) => ({ kind, lines: [...lines.slice(0, -1), `${lines.at(-1)?.slice(0, 30)}==`] }));
const pems = fc.constantFrom("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ").chain(pem);
const framed = ({ kind, lines }: { kind: string; lines: readonly string[] }): readonly string[] => [
  `-----BEGIN ${kind}PRIVATE KEY-----`,
  ...lines,
  `-----END ${kind}PRIVATE KEY-----`,
];
const survivors = (secrets: readonly string[], text: string): readonly string[] =>
  secrets.filter((each) => text.includes(each.slice(0, 20)));

/** What secrets of a known shape stand between. */
const quotes = [
  ['{"value":"', '"}'],
  ["'", "'"],
  ["?x=", "&y=1"],
  ["line\\n", "\\n"],
  ["\u001b[1m", "\u001b[0m"],
  ["(", ")."],
];

describe("redact", () => {
  it.each(Object.entries(shaped))("removes a key of a known shape, whatever it is written in: %s", (_, secrets) => {
    const property = fc.property(secrets, around, around, (secret, before, after) => {
      const { text, count } = redact(`${before.join(" ")} ${secret} ${after.join(" ")}`);
      expect(text).not.toContain(secret);
      expect(text).not.toContain(secret.slice(-12));
      expect(count).toBeGreaterThan(0);
      for (const [start, end] of quotes)
        expect(redact(`${start}${secret}${end}`).text).not.toContain(secret.slice(-12));
    });
    fc.assert(property, { numRuns: 60 });
  });

  it.each(Object.entries(named))("removes what its name calls a secret: %s", (_, secrets) => {
    const property = fc.property(secrets, around, ({ secret, text }, before) => {
      // Both may draw the name of a member of objects, which is not a secret.
      fc.pre(!before.some((each) => each.includes(secret.slice(0, 6)) || each.includes(secret.slice(-6))));
      const lines = `${before.join(" ").replaceAll(/["'`\\]/g, "")}\n${text}`;
      const found = redact(lines);
      expect(found.text).not.toContain(secret);
      expect(found.text).not.toContain(secret.slice(0, 6));
      expect(found.text).not.toContain(secret.slice(-6));
      expect(found.count).toBeGreaterThan(0);
    });
    fc.assert(property);
  });

  it("removes private keys in text, in JSON, on one line and cut off at either end", () => {
    const property = fc.property(pems, fc.integer({ min: 0, max: 40 }), (key, cut) => {
      const whole = framed(key);
      for (const text of [
        `before\n${whole.join("\n")}\nafter`,
        JSON.stringify({ before: 1, key: `${whole.join("\n")}\n`, after: 2 }),
        `before ${whole.join(" ")} after`,
        `before\n${whole.map((line) => `    ${line}`).join("\r\n")}\nafter`,
      ]) {
        const redacted = redact(text);
        expect(survivors(key.lines, redacted.text)).toEqual([]);
        expect(redacted.text).toMatch(/before[\s\S]*after/);
        expect(redacted.count).toBe(1);
      }
      const started = redact(["before", ...whole.slice(0, 1 + cut), "after that"].join("\n"));
      expect(survivors(key.lines, started.text)).toEqual([]);
      expect(started.text).toContain("after that");
      const ended = redact(["before", ...whole.slice(Math.min(cut, key.lines.length)), "after"].join("\n"));
      expect(survivors(key.lines, ended.text)).toEqual([]);
      for (const separator of [" ", "\\n", "\\r\\n"]) {
        const line = redact(`before: ${whole.slice(Math.min(1 + cut, key.lines.length)).join(separator)} after`);
        expect(survivors(key.lines.slice(0, -1), line.text)).toEqual([]);
        expect(line.text).toMatch(/^before: .*after$/);
      }
      expect(ended.text).toMatch(/^before\n[\s\S]*\nafter$/);
    });
    fc.assert(property);
  });

  it("keeps the number of lines", () => {
    const lines = ["a", ...framed({ kind: "RSA ", lines: ["QUJD".repeat(16), "REVG"] }), "b", "token=abcdefgh", ""];
    const redacted = redactLines(lines);
    expect(redacted.lines).toEqual(["a", ...Array(4).fill("[redacted]"), "b", "token=[redacted]", ""]);
    expect(redacted.count).toBe(2);
  });

  it("changes nothing in redacted text", () => {
    const kinds = [...Object.values(shaped), ...Object.values(named).map((each) => each.map(({ text }) => text))];
    fc.assert(
      fc.property(fc.array(fc.oneof(...kinds), { maxLength: 6 }), (parts) => {
        const once = redact(parts.join("\n"));
        expect(redact(once.text)).toEqual({ text: once.text, count: 0 });
      }),
      { numRuns: 200 },
    );
  });

  const hex = (length: number) => textOf("0123456789abcdef", length);
  const harmless: Readonly<Record<string, fc.Arbitrary<string>>> = {
    path: fc
      .array(textOf(`${lower}${digits}._-`, 1, 14), { minLength: 1, maxLength: 8 })
      .map((each) => `/${each.join("/")}`),
    uuid: fc.uuid(),
    commit: hex(40),
    "sha-256": hex(64),
    "short commit": hex(12),
    cursor: fc
      .tuple(hex(32), hex(8), hex(32), hex(9), hex(13), hex(16))
      .map(([s, i, b, m, t, x]) => `s=${s};i=${i};b=${b};m=${m};t=${t};x=${x}`),
    unit: fc
      .tuple(textOf(`${lower}${digits}@-`, 3, 30), fc.constantFrom("service", "mount", "socket", "timer"))
      .map((each) => each.join(".")),
    version: fc
      .tuple(fc.nat(9), fc.nat(20), fc.nat(300), fc.nat(20), fc.nat(9))
      .map(([a, b, c, d, e]) => `${a}:${b}.${c}.${d}-${e}+deb12u${d}~bpo1`),
    address: fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain(), fc.webUrl()),
    time: fc.date({ noInvalidDate: true }).map((each) => each.toISOString()),
    number: fc.double().map(String),
  };

  /** Chance makes short names of secrets, such as the path /pw, before a colon. */
  const isNamed = (text: string) => /(?<![a-z])p(?:sk|w)(?![a-z])|pwd|pass/i.test(text);

  it.each(Object.entries(harmless))("keeps what is no secret: %s", (_, texts) => {
    const harmlessTexts = texts.filter((text) => !isNamed(text));
    const property = fc.property(fc.array(harmlessTexts, { minLength: 1, maxLength: 4 }), (parts) => {
      for (const text of [parts.join(" "), `got ${parts.join(", ")}: ok`, JSON.stringify({ values: parts, at: 1 })])
        expect(redact(text)).toEqual({ text, count: 0 });
    });
    fc.assert(property);
  });

  it.each([
    "Failed password for root from 192.0.2.7 port 22 ssh2",
    "pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
    "sudo: deploy : TTY=pts/0 ; PWD=/home/deploy ; USER=root ; COMMAND=/usr/bin/ls",
    "Reached target basic.target - Basic System.",
    "app.service: Failed to set up credentials: Protocol error",
    'WWW-Authenticate: Bearer realm="example"',
    "Bearer token authentication failed",
    "Unexpected token } in JSON at position 7",
    "usage: input_tokens=512 max_tokens: 4096",
    "cannot get a token: Permission denied by the server",
    "polkitd: authorization: denied for unix-process:812",
    "PasswordAuthentication yes",
    "systemd-ask-password-console.service: Deactivated successfully.",
    "cannot read token.json: no such file",
    "GET http://[::1]:8470/?to=someone@host.example 200",
    "api_key_env: FAR_API_KEY",
    '{"security":[{"apiKey":[]}],"token":null}',
    "requirement: password length > 8, see <a href=x>passwords</a>",
    "password_file=/run/secrets/db",
    "Listening on http://127.0.0.1:8470/api, see https://host.example:8443/a@b",
    "git clone ssh://git@host.example/repo.git",
    "From: someone <someone@host.example>",
    "audit: type=1701 audit(1700000000.123:45): auid=0 uid=0 ses=4 pid=812 sig=11 res=1",
    "sk-bratislava-rack-node.host.example is up, task-abcdefghijklmnopqrstuvwxyz ends",
    "Main process exited, code=killed, status=9/KILL",
    "checks: 3 pass: 2 fail: 1",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
  ])("keeps what is no secret: %s", (text) => {
    expect(redact(text)).toEqual({ text, count: 0 });
  });

  // Work that grew with the square of the length would take many seconds.
  it.each([
    ...["eyJ", "eyJhbGciOi.", "sk-", "password=", 'password="', "password:{", "token: ", "--password ", "pwd=/"],
    ...["token=,a", "secret=)", "Cookie: ", "authorization: ", "bearer=", "Basic ", "://", "://a:b/", "a@"],
    ...["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n"],
    "QUJD".repeat(16).concat("\n"),
    "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----",
    "\\",
    '\\"',
    '"',
    "'",
    "login a password ",
    " -u a:",
    "$6$a",
    "AKIAABCDEFGHIJKLMNOP ",
    "\u001b[",
    "password:\n  ",
    "password:|\n",
    "x-api-key=",
    "_auth=",
    "?sig=",
    "<password>",
    "<token",
    "a:b@tcp(",
    "@tcp(",
    "token%3D",
    '"auth":"',
    "AUTH PLAIN ",
    "sk-a1A",
    "[L",
    "{",
    "secret=${",
    "1:AA",
    // Names without a space between them: each was read to the end of the line.
    "cookie=",
    "password=a,",
    "token=b;",
  ])("takes time linear in the length of its text: %j over and over", (part) => {
    const text = `${part.repeat(Math.ceil(262_144 / part.length))} password=abcdefgh`;
    const redacted = redact(text).text;
    expect(redacted.split("\n").length).toBe(text.split("\n").length);
    expect(redacted).not.toContain("abcdefgh");
  });

  it("removes a secret that begins like an authority, as one of some thousand base64 keys does", () => {
    for (const line of ["PresharedKey=//8f3kA0bC9dE=", "DB_PASSWORD=//aB3dE5fG", "tool --token=//aB3dE5fG run"])
      expect(redact(line).text).not.toContain("//");
    expect(redact("token://host/path").count).toBe(0);
  });

  it("removes very short secrets", () => {
    const short = ["pw=x", "a://b:c@d", "<token>x<", '"pw" "x"', '"pass":"x"', "pass%3Dx", "xoxb-1234567890"];
    expect(short.map((line) => redact(line).count)).toEqual([1, 1, 1, 0, 1, 1, 1]);
  });
});
