import type { Random } from "../support/random.ts";
import type { Field, NewEntry } from "./export-format.ts";

/** 2023-11-14T22:13:20Z. */
export const start = 1_700_000_000_000_000;
export const boots = ["1", "2", "3", "4"].map((digit) => digit.repeat(32));
export const machines = ["a", "b"].map((digit) => digit.repeat(32));

const coredump = "fc2e22bc6ee647b6b90729ab34a250b1";

/** Texts that a reader or a writer of JSON could trip over. */
const messages: readonly (string | Buffer)[] = [
  "",
  "plain",
  "two\nlines",
  "trailing newline\n",
  "\n",
  'quotes " and \\ backslashes \\u0041 \\',
  "controls \u0001\u0007\b\t\f\r\u001b[31m\u007f\u0085 end",
  "separators \u2028 and \u2029",
  "\ufeffstarts with a byte order mark",
  "noncharacters \ufffe \uffff \ufdd0",
  "astral \u{1f600} combining e\u0301, right to left \u202e",
  Buffer.from("nul \0 inside"),
  Buffer.from([0]),
  Buffer.from([0xff, 0xfe, 0x80, 0x41]),
  Buffer.from("lone surrogates \xed\xa0\x80 \xed\xb0\x80 end", "latin1"),
  Buffer.from("overlong \xc0\xaf \xe0\x80\xaf, beyond \xf4\x90\x80\x80", "latin1"),
  Buffer.from("cut off \xe2\x82", "latin1"),
  Buffer.from("\xf0\x9f\x98", "latin1"),
  "MESSAGE=looks like a field",
  "x".repeat(511),
  "y".repeat(512),
  "z".repeat(4097),
  "é".repeat(5000),
];

const text = (name: string, value: string): Field => [name, value];

/** Fields of an entry of a service, as journald would write them. */
function serviceFields(unit: string, pid: number): readonly Field[] {
  return [
    text("_SYSTEMD_UNIT", unit),
    text("_SYSTEMD_SLICE", "system.slice"),
    text("_PID", String(pid)),
    text("_UID", "33"),
    text("_TRANSPORT", "stdout"),
    text("SYSLOG_IDENTIFIER", unit.replace(/\.service$/, "")),
  ];
}

/** Entries of special meaning to `journalctl -u`, to its priorities and to the mapping, each as its fields. */
export const specialEntries: readonly (readonly Field[])[] = [
  // What systemd says about a unit counts as the unit's; what others say in its name does not.
  [text("MESSAGE", "Started a."), text("_PID", "1"), text("UNIT", "a.service"), text("_SYSTEMD_UNIT", "init.scope")],
  [text("MESSAGE", "forged"), text("_PID", "777"), text("UNIT", "a.service"), text("_UID", "1000")],
  [text("MESSAGE", "Failed."), text("_PID", "1"), text("UNIT", ""), text("_SYSTEMD_UNIT", "init.scope")],
  [text("MESSAGE", "forged by c"), text("_PID", "778"), text("UNIT", "a.service"), text("_SYSTEMD_UNIT", "c.service")],
  [
    text("MESSAGE", "claimed by c"),
    text("_UID", "1000"),
    text("OBJECT_SYSTEMD_UNIT", "b.service"),
    text("COREDUMP_UNIT", "a.service"),
    text("MESSAGE_ID", coredump),
    text("_SYSTEMD_UNIT", "c.service"),
  ],
  [
    text("MESSAGE", "two units at once"),
    text("_PID", "1"),
    text("UNIT", "a.service"),
    text("UNIT", "b.service"),
    text("_SYSTEMD_UNIT", "init.scope"),
  ],
  [text("MESSAGE", "forged as ten"), text("_PID", "10"), text("UNIT", "a.service")],
  [text("MESSAGE", "dumped core"), text("MESSAGE_ID", coredump), text("_UID", "0"), text("COREDUMP_UNIT", "a.service")],
  [text("MESSAGE", "not dumped"), text("MESSAGE_ID", coredump), text("_UID", "5"), text("COREDUMP_UNIT", "a.service")],
  [text("MESSAGE", "no id"), text("_UID", "0"), text("COREDUMP_UNIT", "a.service")],
  [text("MESSAGE", "about b"), text("_UID", "0"), text("OBJECT_SYSTEMD_UNIT", "b.service"), text("_PID", "400")],
  [text("MESSAGE", "claims b"), text("_UID", "1000"), text("OBJECT_SYSTEMD_UNIT", "b.service")],
  [
    text("MESSAGE", "of a and about b"),
    text("_SYSTEMD_UNIT", "a.service"),
    text("_UID", "0"),
    text("OBJECT_SYSTEMD_UNIT", "b.service"),
  ],
  [text("MESSAGE", "cpu0"), text("_TRANSPORT", "kernel"), text("SYSLOG_IDENTIFIER", "kernel"), text("PRIORITY", "4")],
  [text("MESSAGE", "no id"), text("_TRANSPORT", "kernel"), text("_SYSTEMD_UNIT", "a.service")],
  [
    text("MESSAGE", "user unit"),
    text("_SYSTEMD_UNIT", "user@1000.service"),
    text("_SYSTEMD_USER_UNIT", "a.service"),
    text("_SYSTEMD_SLICE", "user-1000.slice"),
  ],
  [
    text("MESSAGE", "user manager"),
    text("_SYSTEMD_UNIT", "user@1000.service"),
    text("USER_UNIT", "b.service"),
    text("_UID", "1000"),
  ],
  [text("MESSAGE", "in a slice"), text("_SYSTEMD_UNIT", "web@1.service"), text("_SYSTEMD_SLICE", "web.slice")],
  [text("MESSAGE", "of the slice"), text("_SYSTEMD_UNIT", "web.slice")],
  [text("MESSAGE", "escaped"), text("_SYSTEMD_UNIT", "dev-disk-by\\x2dlabel-a.mount")],
  ...["9", "x", "", "03", " 3", "-1", "10", "7", "0"].map((priority) => [
    text("MESSAGE", `priority ${JSON.stringify(priority)}`),
    text("PRIORITY", priority),
  ]),
  [text("MESSAGE", "no priority")],
  [text("PRIORITY", "3")],
  [text("MESSAGE", "first"), text("MESSAGE", "second"), text("PRIORITY", "3"), text("PRIORITY", "6")],
  [
    text("MESSAGE", "worse comes second"),
    text("PRIORITY", "7"),
    text("PRIORITY", "2"),
    text("_PID", "12"),
    text("_PID", "11"),
  ],
  [text("MESSAGE", "same twice"), text("MESSAGE", "same twice")],
  [["MESSAGE", Buffer.from([1, 2, 3])], ["MESSAGE", Buffer.from([0xfe])], text("_SYSTEMD_UNIT", "a.service")],
  [["MESSAGE", Buffer.from([0xff])], text("MESSAGE", "text after bytes")],
  [text("MESSAGE", "two units"), text("_SYSTEMD_UNIT", "a.service"), text("_SYSTEMD_UNIT", "c.service")],
  [text("MESSAGE", "two hosts"), text("_HOSTNAME", "one"), text("_HOSTNAME", "other")],
  [text("MESSAGE", "syslog pid"), text("SYSLOG_PID", "4321"), text("SYSLOG_IDENTIFIER", "su")],
  [text("MESSAGE", "pid is not a number"), text("SYSLOG_PID", "abc"), text("SYSLOG_IDENTIFIER", "sshd")],
  [text("MESSAGE", "both pids"), text("_PID", "21"), text("SYSLOG_PID", "22"), text("SYSLOG_IDENTIFIER", "")],
  [text("MESSAGE", "long identifier"), text("SYSLOG_IDENTIFIER", "i".repeat(600))],
  [text("MESSAGE", "odd identifier"), text("SYSLOG_IDENTIFIER", 'a "b" \u2028 é')],
  [["SYSLOG_IDENTIFIER", Buffer.from([0x66, 0xff])], text("MESSAGE", "identifier of bytes")],
  [text("MESSAGE", `huge ${"0123456789abcdef".repeat(80_000)}`), text("_SYSTEMD_UNIT", "a.service")],
  [["MESSAGE", Buffer.alloc(1_200_000, Buffer.from([0, 1, 2, 254, 255]))], text("_SYSTEMD_UNIT", "b.service")],
  [text("CODE_FILE", "a field that nobody asks for"), text("_SYSTEMD_UNIT", "a.service")],
];

const services = [
  "a.service",
  "b.service",
  "c.service",
  "nginx.service",
  "app-1.service",
  "app-2.service",
  "getty@tty1.service",
];

/** Fields of an everyday entry, now and then with a message that is not. */
function everydayFields(random: Random, position: number): readonly Field[] {
  const unit = random.pick(services);
  const message = random.chance(0.15) ? random.pick(messages) : `request ${position} took ${random.integer(900)} ms`;
  const fields: Field[] = [
    ...serviceFields(unit, 1000 + random.integer(5)),
    text("_HOSTNAME", "host"),
    ["MESSAGE", message],
  ];
  if (random.chance(0.9)) fields.push(text("PRIORITY", String(random.integer(8))));
  return fields;
}

/** All the odd messages, each as an entry of its own. */
export const messageEntries: readonly (readonly Field[])[] = messages.map((message) => [
  ["MESSAGE", message],
  text("_SYSTEMD_UNIT", "b.service"),
  text("PRIORITY", "5"),
]);

/** Where a run of entries stands in time. */
export interface Clock {
  readonly bootId: string;
  readonly realtime: number;
  readonly monotonic: number;
}

/** Gives the entries times from `clock` on, some of them in one and the same microsecond. */
export function timed(random: Random, clock: Clock, entries: readonly (readonly Field[])[]): readonly NewEntry[] {
  let passed = 0;
  return entries.map((fields) => {
    passed += random.chance(0.2) ? 0 : random.chance(0.1) ? 60_000_000 : 1 + random.integer(2_000);
    return { bootId: clock.bootId, realtime: clock.realtime + passed, monotonic: clock.monotonic + passed, fields };
  });
}

/** So many everyday entries from `clock` on. */
export const everyday = (random: Random, clock: Clock, count: number): readonly NewEntry[] =>
  timed(
    random,
    clock,
    Array.from({ length: count }, (_, position) => everydayFields(random, position)),
  );
