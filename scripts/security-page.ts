import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** A class of incidents by the tag in the titles of its tests: its name, where it was seen (empty for a rule), what caused it there. */
const incidents: Readonly<Record<string, readonly [name: string, seen: string, cause: string]>> = {
  "shell-injection": ["Shell injection", "Cockpit CVE-2026-4802", "a log filter was put into a line of shell"],
  "option-injection": [
    "Option injection",
    "Cockpit CVE-2026-4631",
    "a name that begins with a dash was read as an option",
  ],
  "malformed-requests": [
    "Malformed requests that end the service",
    "Cockpit 10003",
    "`/static/%` and `%00` crashed the server",
  ],
  "foreign-pids": [
    "Killing what others name",
    "Cockpit CVE-2024-6126",
    "a process was killed by a number from a file of a user",
  ],
  "hostile-file-names": ["Hostile file names", "Cockpit CVE-2024-2947", "file names reached a root shell"],
  "request-forgery": [
    "Server-side request forgery",
    "Cockpit CVE-2020-35850",
    "the server connected to where a client said",
  ],
  "package-names": [
    "Names of packages as commands",
    "Webmin CVE-2019-12840, CVE-2022-36446",
    "names of packages were put into a line of shell",
  ],
  "forgotten-authorisation": [
    "Authorisation that a route forgot",
    "Webmin CVE-2022-0824, CVE-2022-0829, Home Assistant",
    "each route had to ask by itself",
  ],
  "forged-host": ["Forged Host and forwarding headers", "Webmin CVE-2025-61541", "headers of the client were believed"],
  "cross-site-scripting": ["Cross-site scripting", "Webmin, a series", "data of the host was shown as HTML"],
  "temporary-files": [
    "Predictable temporary files and links",
    "Ajenti, Webmin CAN-2004-0559",
    "root wrote to a name in a shared directory that others could put a link at",
  ],
  "path-of-the-caller": [
    "Programs by the PATH of the caller",
    "Netdata CVE-2024-32019",
    "a helper of root looked for programs where its caller said",
  ],
  "alert-text": ["Text of alerts as commands", "Netdata CVE-2023-22496", "the text of an alert reached a shell"],
  "unsafe-archives": [
    "Unsafe members of an archive",
    "Home Assistant",
    "a backup was unpacked with paths that led out of it",
  ],
  "secrets-in-answers": [
    "Secrets in what may be read",
    "Home Assistant `/info`",
    "an answer held more than its reader was to see",
  ],
  "processes-of-attackers": [
    "A root tool that evaluates processes of others",
    "needrestart CVE-2024-48990",
    "the environment of a process of a user decided what root ran",
  ],
  "missing-allow-list": [
    "A missing list that meant everything",
    "TrueNAS 9896",
    "a key without an allow-list could do all there was",
  ],
  "signed-for-another-page": [
    "A sign-in on a wrong page",
    "phishing kits that pass on what is typed",
    "what proves who somebody is was good wherever it was entered",
  ],
  "cross-site-websocket": ["Cross-site WebSocket", "many", "the origin was not checked"],
  "upgrade-of-the-upgrader": [
    "An upgrade that killed the upgrader",
    "Webmin 1675, Puppet 3700",
    "packages were installed by the service that one of them restarted",
  ],
  "key-in-a-query": ["A key in a query string", "many", "access logs kept the address"],
  "constant-401": [
    "Constant 401",
    "",
    "an answer that distinguishes a wrong key from an unknown one helps an attacker who guesses",
  ],
  "size-and-time-limits": [
    "Bodies, headers and requests without an end",
    "",
    "who sends slowly or without an end holds what others need",
  ],
  caps: [
    "Caps on connections, streams and queues",
    "",
    "what is not counted grows until there is no memory or descriptor left",
  ],
  "bounded-commands": ["Commands without an end", "", "a program that hangs or floods takes the service along"],
  "state-survives": [
    "State that a crash or a full disk leaves in pieces",
    "",
    "what was acknowledged is gone, or the service no longer starts",
  ],
  "forged-log-lines": ["Forged log lines", "", "text of a client ends a line of the log and begins one of its own"],
  "terminal-escapes": [
    "Escape sequences in the terminal of the administrator",
    "",
    "text of a host, or of a host that was taken over, is printed as it is",
  ],
  "changed-audit-log": ["An audit log that was tidied up", "", "who breaks in removes the lines that say so"],
  "taken-over-service": ["A service that was taken over", "", "what the network reaches is root"],
  "forged-client-certificates": [
    "Forged client certificates",
    "",
    "a header of a proxy, or a certificate of anybody, was believed",
  ],
  "prompt-injection": [
    "Prompt injection through logs",
    "",
    "a model takes a line of the journal for an order, and something acts on what it says",
  ],
  "hostile-plugins": ["Plugins of others", "", "what extends a root service is root"],
};

/** A title of a test or of a suite that ends in tags. */
const title = /(?:\b(?:it|describe)(?:\.\w+)*|\))\(\s*(["'`])([^"'`\n]+?) ((?:\[[a-z0-9-]+\] ?)+)\1,/g;

interface Tagged {
  readonly file: string;
  readonly title: string;
}

/** Tests by the tags in their titles, `… [shell-injection]`; of a `describe` it stands for all in it. */
function taggedTests(): ReadonlyMap<string, readonly Tagged[]> {
  const files = ["src", "test"].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .map((path) => `${directory}/${path}`),
  );
  const found = files
    .toSorted()
    .flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(title)].flatMap(([, , text = "", tags = ""]) =>
        [...tags.matchAll(/\[([a-z0-9-]+)\]/g)].map(([, tag = ""]) => ({ tag, file, title: text })),
      ),
    );
  return Map.groupBy(found, ({ tag }) => tag);
}

const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

/** The table of incidents and the tests that try them here. @throws Error for a tag of no class, or a class without a test. */
export function securityPage(): string {
  const tests = taggedTests();
  const wrong = [
    ...[...tests.keys()]
      .filter((tag) => !(tag in incidents))
      .map((tag) => `no class of incidents has the tag [${tag}]`),
    ...Object.keys(incidents).flatMap((id) => (tests.has(id) ? [] : [`no test has the tag [${id}] in its title`])),
  ];
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return [
    "<!-- Made by `npm run generate` from the tags in the titles of tests. -->\n",
    "# Incidents elsewhere, and the tests that try them here\n",
    "A service that may change a host over HTTP is worth attacking. Each row is a class of incidents, with where it was seen, and the",
    "tests that try the same against Steward: those with its tag in their title. What is defended against whom, and what is not, says the",
    "[threat model](../threat-model.md).\n",
    row("class", "tag", "seen in", "cause", "tests"),
    row("---", "---", "---", "---", "---"),
    ...Object.entries(incidents).map(([id, [name, seen, cause]]) => {
      const links = tests.get(id)?.map(({ file, title }) => `[${cell(title)}](../../${file})`) ?? [];
      return row(name, `\`${id}\``, cell(seen), cell(cause), links.join("<br>"));
    }),
    "",
  ].join("\n");
}
