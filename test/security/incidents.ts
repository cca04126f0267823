/** A test by its file and a title in it, of an `it` or of a `describe`. */
type NamedTest = readonly [file: string, title: string];

/** A class of incidents, where it was seen, what caused it there, and the tests that try it here. */
export interface Incident {
  readonly id: string;
  /** The class. */
  readonly name: string;
  /** Products and numbers; empty for what is a rule rather than an incident. */
  readonly seen: string;
  readonly cause: string;
  readonly tests: readonly NamedTest[];
}

const hostileTexts = "test/security/hostile-texts.test.ts";
const attacked = "test/security/sessions-attacked.long.test.ts";
const onHost = "test/host/hostile-texts.long.test.ts";

/** What went wrong in products of this kind. The invariant beside this list looks each test up; the docs have it as a table. */
export const incidents: readonly Incident[] = [
  {
    id: "shell-injection",
    name: "Shell injection",
    seen: "Cockpit CVE-2026-4802",
    cause: "a log filter was put into a line of shell",
    tests: [
      [
        hostileTexts,
        "shell injection: metacharacters run nothing, break nothing, and are refused wherever a name or a number is wanted",
      ],
      [hostileTexts, "shell injection: filters of the log stream run nothing and leave the stream open"],
      [hostileTexts, "shell injection: neither do those of the address"],
      [onHost, "hostile text: runs nothing and changes nothing on a host where everything works"],
      ["src/adapters/exec/index.test.ts", "passes arguments as they are: there is no shell"],
      ["test/invariants/layers.test.ts", "are started in one place"],
    ],
  },
  {
    id: "option-injection",
    name: "Option injection",
    seen: "Cockpit CVE-2026-4631",
    cause: "a name that begins with a dash was read as an option",
    tests: [
      [hostileTexts, "option injection: words that begin with a dash are options of nothing"],
      [onHost, "hostile text: runs nothing and changes nothing on a host where everything works"],
      [
        "src/adapters/packages/apt/offers.test.ts",
        "are asked for by names of installed packages alone, after the end of the options",
      ],
    ],
  },
  {
    id: "malformed-requests",
    name: "Malformed requests that end the service",
    seen: "Cockpit 10003",
    cause: "`/static/%` and `%00` crashed the server",
    tests: [
      ["test/process/raw-http.test.ts", "%s is refused as %s, and without a key nothing is said about it"],
      ["test/process/raw-http.test.ts", "a unit called %s is refused"],
      ["test/process/raw-http.test.ts", "%s is refused with an error body"],
      ["test/process/raw-http.test.ts", "sizes of requests"],
      ["test/api/transport.api.test.ts", "refuses one that is %s"],
      ["test/process/fuzz.long.test.ts", "20,000 random requests get answers that the document allows"],
    ],
  },
  {
    id: "foreign-pids",
    name: "Killing what others name",
    seen: "Cockpit CVE-2024-6126",
    cause: "a process was killed by a number from a file of a user",
    tests: [
      [
        "test/security/sources.test.ts",
        "cannot be: signals go to the groups of commands that the service has started itself, and where an operation says so",
      ],
      ["test/host/packages.long.test.ts", "waits for a lock, then names who holds it and leaves the lock alone"],
    ],
  },
  {
    id: "hostile-file-names",
    name: "Hostile file names",
    seen: "Cockpit CVE-2024-2947",
    cause: "file names reached a root shell",
    tests: [
      ["test/security/hostile-names.test.ts", "in the folder of the plugins are text with a fault, and are never run"],
      [
        "test/security/hostile-names.test.ts",
        "in the folders of snapshots and operations are neither listed nor reached",
      ],
      ["test/security/hostile-names.test.ts", "turn nothing of a terminal round that lists them"],
      ["test/ports/plugin-folders.test.ts", "are listed as text, and never loaded"],
      [
        "test/ports/snapshot-backend.test.ts",
        "bring back kinds, modes, links and names of all sorts, and never write through a link",
      ],
      [onHost, "hostile names: files, units and processes of others are text in every answer"],
    ],
  },
  {
    id: "request-forgery",
    name: "Server-side request forgery",
    seen: "Cockpit CVE-2020-35850",
    cause: "the server connected to where a client said",
    tests: [
      [
        hostileTexts,
        "server-side request forgery: an address that a client writes is asked by nobody, and no file is read",
      ],
      ["test/security/sources.test.ts", "no input of an operation or a stream is an address"],
      ["test/ports/chat-provider-limits.test.ts", "are not led to by a redirect: %s to %s"],
      ["test/ports/chat-provider-limits.test.ts", "addresses that are never asked"],
      ["test/ports/notifier.test.ts", "does not ask a link-local address: %s"],
      ["test/ports/component-probe.test.ts", "is never %s"],
      ["src/adapters/link-local/index.test.ts", "leaves out the addresses where nobody is asked"],
    ],
  },
  {
    id: "package-names",
    name: "Names of packages as commands",
    seen: "Webmin CVE-2019-12840, CVE-2022-36446",
    cause: "names of packages were put into a line of shell",
    tests: [
      [onHost, "package names: only what the package manager itself has is ever handed to it"],
      [
        "src/adapters/packages/apt/offers.test.ts",
        "are asked for by names of installed packages alone, after the end of the options",
      ],
      ["test/api/updates.api.test.ts", "refuses what the package manager cannot tell, and a guard without a way back"],
    ],
  },
  {
    id: "forgotten-authorisation",
    name: "Authorisation that a route forgot",
    seen: "Webmin CVE-2022-0824, CVE-2022-0829, Home Assistant",
    cause: "each route had to ask by itself",
    tests: [
      ["test/api/access-matrix.api.test.ts", "access matrix"],
      [
        "test/api/access-matrix.api.test.ts",
        "refuses a key without the scope, whatever else it has, and says what is missing",
      ],
      [
        "test/api/access-matrix.api.test.ts",
        "refuses a key narrowed to another resource before it reports what exists",
      ],
      ["test/security/sources.test.ts", "no operation is without a scope but those that tell nothing about the host"],
      [
        "test/invariants/table.test.ts",
        "has a handler behind every row, and no route beside them but the streams, the reference and the page at the address itself",
      ],
    ],
  },
  {
    id: "forged-host",
    name: "Forged Host and forwarding headers",
    seen: "Webmin CVE-2025-61541",
    cause: "headers of the client were believed",
    tests: [
      ["test/api/transport.api.test.ts", "refuses Host %s, also where no key is needed"],
      ["test/api/transport.api.test.ts", "does not believe forwarding headers of anybody"],
      ["test/api/transport.api.test.ts", "are for a peer on loopback that forwards for nobody"],
      [
        "test/process/raw-http.test.ts",
        "a missing, empty, malformed or repeated Host is refused, and a foreign Host is forbidden",
      ],
      [attacked, "is not reached under a name that was made to lead here"],
      ["test/process/raw-http.test.ts", "no header is lost behind many others: a forwarding header is always seen"],
    ],
  },
  {
    id: "cross-site-scripting",
    name: "Cross-site scripting",
    seen: "Webmin, a series",
    cause: "data of the host was shown as HTML",
    tests: [
      [
        "test/security/browser.long.test.ts",
        "is data with every header that keeps a browser from running it, whatever is asked",
      ],
      [attacked, "shows names of keys as text, whatever is in them"],
      [
        "test/security/browser.long.test.ts",
        "is where it belongs: log lines, plugin authors, names and output of checks, names of keys",
      ],
      [
        "test/security/browser.long.test.ts",
        "no address of the service runs what stands in it, or brings in what is elsewhere",
      ],
      [
        "test/security/browser.long.test.ts",
        "no page from elsewhere shows an answer in a frame, or takes it for a script",
      ],
      [onHost, "hostile names: files, units and processes of others are text in every answer"],
      ["test/api/transport.api.test.ts", "is there for everybody, with a policy that lets nothing in from outside"],
    ],
  },
  {
    id: "temporary-files",
    name: "Predictable temporary files and links",
    seen: "Ajenti, Webmin CAN-2004-0559",
    cause: "root wrote to a name in a shared folder that others could put a link at",
    tests: [
      [
        "test/security/temporary-files.test.ts",
        "has none: whatever is made in a shared folder gets a folder of a name that nobody knows",
      ],
      [
        "test/security/temporary-files.test.ts",
        "hostile links in the folder for temporary files lead nothing anywhere, and nothing is left there",
      ],
      ["src/adapters/files/write.test.ts", "replaces a symbolic link, and writes through none"],
      ["test/ports/operation-store.test.ts", "follows no link that was laid in its way"],
      ["test/process/refusals.test.ts", "is refused with %s, by one message"],
      [
        "test/ports/disk-cleanup.test.ts",
        "leaves links, second names, folders and files with other names, also where they took the place of what was found",
      ],
    ],
  },
  {
    id: "path-of-the-caller",
    name: "Programs by the PATH of the caller",
    seen: "Netdata CVE-2024-32019",
    cause: "a helper of root looked for programs where its caller said",
    tests: [
      [
        "test/security/environment.test.ts",
        "PATH hijack: names no program that the service runs, and reaches no process that it starts",
      ],
      [
        onHost,
        "PATH hijack: programs of the same name earlier in PATH are never run, and no process gets the environment",
      ],
      ["src/adapters/exec/index.test.ts", "gives a command a fixed environment and nothing of ours"],
      ["src/adapters/exec/lines.test.ts", "gives a command a fixed environment and nothing of ours"],
    ],
  },
  {
    id: "alert-text",
    name: "Text of alerts as commands",
    seen: "Netdata CVE-2023-22496",
    cause: "the text of an alert reached a shell",
    tests: [
      ["test/ports/notifier.test.ts", "lets no text of others into its headers"],
      ["test/ports/notifier.test.ts", "lets no text of others call, link, or end what it stands in"],
      ["test/invariants/layers.test.ts", "are started in one place"],
    ],
  },
  {
    id: "unsafe-archives",
    name: "Unsafe members of an archive",
    seen: "Home Assistant",
    cause: "a backup was unpacked with paths that led out of it",
    tests: [
      ["test/ports/snapshot-backend.test.ts", "are refused with %s"],
      ["test/ports/snapshot-backend.test.ts", "are refused for any damage of the manifest"],
      [
        "test/ports/snapshot-backend.test.ts",
        "never reach anything outside, whatever a manifest says that has the right hash",
      ],
      ["test/ports/snapshot-backend.test.ts", "are refused when they are damaged, and nothing is touched"],
      ["test/host/snapshots.long.test.ts", "are refused for one damaged byte, and nothing is touched"],
      ["test/api/updates.api.test.ts", "that are damaged are refused before anything is touched"],
    ],
  },
  {
    id: "secrets-in-answers",
    name: "Secrets in what may be read",
    seen: "Home Assistant `/info`",
    cause: "an answer held more than its reader was to see",
    tests: [
      [
        "test/security/secrets-of-settings.long.test.ts",
        "are in no answer, whatever is asked, before and after each was used and failed",
      ],
      [
        "test/security/secrets-of-settings.long.test.ts",
        "are in nothing that the command line prints: help, checks of the settings, states, files for other programs",
      ],
      [
        "test/security/secrets-of-settings.long.test.ts",
        "are in no line of the log, and in no file of the state folder",
      ],
      ["test/security/secrets-of-settings.long.test.ts", "are in the title and the command line of no process"],
      [
        "test/process/connectors.test.ts",
        "are in no answer, log line, metric or file of the state folder, whatever the provider says",
      ],
      ["test/process/secrets.test.ts", "credentials"],
      ["test/api/updates.api.test.ts", "says which, without the password in its address"],
      ["test/api/explain.api.test.ts", "has no secret, wherever it stood"],
      [onHost, "secrets: no memory of the service is written out when it crashes"],
    ],
  },
  {
    id: "processes-of-attackers",
    name: "A root tool that evaluates processes of others",
    seen: "needrestart CVE-2024-48990",
    cause: "the environment of a process of a user decided what root ran",
    tests: [
      [onHost, "processes of others: what still runs old files is found without running or reading anything of theirs"],
      ["test/security/sources.test.ts", "is in no source: what comes from others is never evaluated"],
    ],
  },
  {
    id: "missing-allow-list",
    name: "A missing list that meant everything",
    seen: "TrueNAS 9896",
    cause: "a key without an allow-list could do all there was",
    tests: [
      ["test/api/auth.api.test.ts", "gives a key without scopes no rights"],
      [
        "test/api/access-matrix.api.test.ts",
        "refuses a key without the scope, whatever else it has, and says what is missing",
      ],
      ["test/api/auth.api.test.ts", "cannot be given what the giver does not have"],
    ],
  },
  {
    id: "signed-for-another-page",
    name: "A sign-in on a wrong page",
    seen: "phishing kits that pass on what is typed",
    cause: "what proves who somebody is was good wherever it was entered",
    tests: [
      ["test/security/passkeys-page.long.test.ts", "are good for nothing when another port of the host asks for them"],
      ["test/api/passkeys.api.test.ts", "refuses an answer %s"],
    ],
  },
  {
    id: "cross-site-websocket",
    name: "Cross-site WebSocket",
    seen: "many",
    cause: "the origin was not looked at",
    tests: [
      ["test/api/ws-logs.api.test.ts", "refuses a key without the scope, and foreign origins and hosts"],
      ["test/process/ws-browser.long.test.ts", "gets nothing on a page from elsewhere"],
      [attacked, "which opens a WebSocket, also with a ticket that it has found"],
      ["test/api/transport.api.test.ts", "refuses a foreign Origin and serves its own"],
      [
        "test/api/transport.api.test.ts",
        "refuses what a page from elsewhere made a browser ask for without an Origin, and follows links",
      ],
    ],
  },
  {
    id: "upgrade-of-the-upgrader",
    name: "An upgrade that killed the upgrader",
    seen: "Webmin 1675, Puppet 3700",
    cause: "packages were installed by the service that one of them restarted",
    tests: [
      [
        "test/host/updates.long.test.ts",
        "continue when they restart the service, and are found again under their idempotency key",
      ],
      ["test/host/updates.host.test.ts", "go on when the service is killed"],
      ["test/host/updates.long.test.ts", "are resumed, and so is the rollback, without anything done twice"],
      ["test/host/packages.long.test.ts", "lets dpkg finish when the service is killed"],
      ["test/host/updates-apt.long.test.ts", "when the package manager was killed while it unpacked"],
    ],
  },
  {
    id: "key-in-a-query",
    name: "A key in a query string",
    seen: "many",
    cause: "access logs kept the address",
    tests: [
      [
        "test/security/sessions-page.long.test.ts",
        "with a code, which is gone from the address and the history at once, and elevates",
      ],
      ["test/process/secrets.test.ts", "are never in the log"],
      ["test/process/secrets.test.ts", "are never in the audit log"],
      ["test/process/secrets.test.ts", "are never in the title, the command line or the environment of the process"],
      ["test/process/secrets.test.ts", "are never in the traces that the service makes of itself"],
      ["test/process/tracing.long.test.ts", "have refused requests and unknown paths, and no secret of any"],
      ["test/api/access-matrix.api.test.ts", "does not take a key from the query of an ordinary path"],
      ["test/api/ws-logs.api.test.ts", "takes the key from the query of streams alone"],
    ],
  },
  {
    id: "constant-401",
    name: "Constant 401",
    seen: "",
    cause: "an answer that tells a wrong key from an unknown one helps whoever guesses",
    tests: [
      ["test/api/access-matrix.api.test.ts", "refuses every bad credential with one and the same 401"],
      [
        "test/api/rate-limits.api.test.ts",
        "slows an address down that keeps failing to log in, and nobody with a good key",
      ],
      ["test/ports/credential-codec.test.ts", "knows what it did not make"],
    ],
  },
  {
    id: "size-and-time-limits",
    name: "Bodies, headers and requests without an end",
    seen: "",
    cause: "who sends slowly or without an end holds what others need",
    tests: [
      [
        "test/process/raw-http.test.ts",
        "a body over 1 MiB is refused, however it is announced, and one of exactly 1 MiB is read",
      ],
      [
        "test/process/slow-clients.long.test.ts",
        "are cut off after the limits, with an error body, while others are served",
      ],
      [
        "test/process/raw-http.test.ts",
        "are closed after CONNECT, which is refused, and after garbage, though the client leaves them half open",
      ],
      [
        "test/process/otlp-receiver.long.test.ts",
        "are refused where a body is too large, as it comes or unpacked, and on other paths and methods",
      ],
      ["test/security/expressions.test.ts", "are matched to the end, or refused, whatever they are"],
      [
        "test/process/otlp-receiver.long.test.ts",
        "are bounded in number, half of it for one user, and lose their connections in the end",
      ],
    ],
  },
  {
    id: "caps",
    name: "Caps on connections, streams and queues",
    seen: "",
    cause: "what is not counted grows until there is no memory or descriptor left",
    tests: [
      [
        "test/process/descriptors.test.ts",
        "a service with few descriptors outlives a flood of connections, and goes on with what needs more of them",
      ],
      ["test/api/ws-logs.api.test.ts", "follows at once where there are too many of one key"],
      [
        "test/api/ws-logs.api.test.ts",
        "loses the oldest that wait and is told how many, in their place; others lose nothing",
      ],
      ["src/transports/ws/outbox.test.ts", "is bounded in bytes too, and still lets one big frame through"],
      ["test/api/auth.api.test.ts", "keeps no more than a hundred for each key"],
    ],
  },
  {
    id: "bounded-commands",
    name: "Commands without an end",
    seen: "",
    cause: "a program that hangs or floods takes the service along",
    tests: [
      ["src/adapters/exec/index.test.ts", "caps output and says so"],
      ["src/adapters/exec/index.test.ts", "kills a command that takes too long, with its children"],
      ["src/adapters/exec/lines.test.ts", "cuts a line that is too long and goes on with the next"],
      ["src/adapters/exec/lines.test.ts", "ends when its time is over"],
      ["test/host/plugins-sandbox.long.test.ts", "may print a gigabyte, of which the start is kept"],
      ["test/host/plugins-sandbox.long.test.ts", "is ended at its time limit, deaf to SIGTERM or not"],
    ],
  },
  {
    id: "state-survives",
    name: "State that a crash or a full disk leaves in pieces",
    seen: "",
    cause: "what was acknowledged is gone, or the service does not start any more",
    tests: [
      ["test/process/keystore-crash.long.test.ts", "loses no key and no revocation that was acknowledged"],
      ["test/process/keystore-crash.long.test.ts", "during the first start leaves no service without a key"],
      [
        "test/ports/full-disk.test.ts",
        "the key store refuses, says so, keeps what it has, and goes on when there is room again",
      ],
      [
        "test/ports/operation-store.test.ts",
        "leaves a state that is whole, and never an older one than it was sure of",
      ],
    ],
  },
  {
    id: "forged-log-lines",
    name: "Forged log lines",
    seen: "",
    cause: "text of a client ends a line of the log and begins one of its own",
    tests: [[hostileTexts, "forges no line of the log or of the audit log"]],
  },
  {
    id: "terminal-escapes",
    name: "Escape sequences in the terminal of the administrator",
    seen: "",
    cause: "text of a host, or of a host that was taken over, is printed as it is",
    tests: [
      ["test/security/terminal.long.test.ts", "is told nothing but text: %s"],
      ["test/security/cli-answers.long.test.ts", "does nothing: %s"],
      ["test/security/hostile-names.test.ts", "turn nothing of a terminal round that lists them"],
    ],
  },
  {
    id: "changed-audit-log",
    name: "An audit log that was tidied up",
    seen: "",
    cause: "who breaks in removes the lines that say so",
    tests: [
      ["test/process/audit-chain.test.ts", "an audit log that was tampered with"],
      ["test/process/audit-chain.test.ts", "is found out where any byte was changed, by the line"],
      ["test/api/audit.api.test.ts", "is of a flood from everywhere no more than a budget, and still the number"],
      ["test/api/audit.api.test.ts", "is every way to be refused, with its reason"],
    ],
  },
  {
    id: "taken-over-service",
    name: "A service that was taken over",
    seen: "",
    cause: "what the network reaches is root",
    tests: [
      ["test/host/installed.host.test.ts", "has no rights but those of its user"],
      ["test/host/installed.host.test.ts", "may do with systemd what is on the list, and nothing else"],
      [
        "test/host/installed.host.test.ts",
        "cannot write to directories of the privileged side or of root, nor read what is root's",
      ],
      ["test/host/privileges-hostile.long.test.ts", "accepts nothing through a link in place of their directory"],
      ["test/host/privileges-hostile.long.test.ts", "carries out what it accepted, whatever becomes of the request"],
      ["test/host/privileges-hostile.long.test.ts", "resumes from no record but its own"],
      [
        "test/host/privileges-hostile.long.test.ts",
        "has disclosed nothing and written nothing elsewhere after all of this",
      ],
    ],
  },
  {
    id: "forged-client-certificates",
    name: "Forged client certificates",
    seen: "",
    cause: "a header of a proxy, or a certificate of anybody, was believed",
    tests: [
      ["test/process/tls-client-certs.long.test.ts", "a client certificate that is not to be believed"],
      ["test/process/tls-client-certs.long.test.ts", "never come from a header"],
      ["test/process/tls.test.ts", "speaks TLS 1.3 and 1.2, and nothing older"],
    ],
  },
  {
    id: "prompt-injection",
    name: "Prompt injection through logs",
    seen: "",
    cause: "a model takes a line of the journal for an order, and something acts on what it says",
    tests: [
      ["test/api/explain.api.test.ts", "acts on nothing that the model says, and shows it inert and in bounded length"],
      ["test/api/explain.api.test.ts", "has hostile lines in it as lines, and no more"],
      ["test/api/explain.api.test.ts", "is only what the key may read"],
    ],
  },
  {
    id: "hostile-plugins",
    name: "Plugins of others",
    seen: "",
    cause: "what extends a root service is root",
    tests: [
      ["test/host/plugins-sandbox.long.test.ts", "can do what a plugin needs, and nothing that it should not"],
      [
        "test/host/plugins-sandbox.long.test.ts",
        "is root only when it asks for it, and even then does not see the keys",
      ],
      [
        "test/host/plugins.long.test.ts",
        "a plugin that changed on disk does not run, also after a restart, until it is enabled again",
      ],
      [
        "test/ports/plugin-folders.test.ts",
        "notices an interpreter that others may change now, although the folder is as it was",
      ],
    ],
  },
];
