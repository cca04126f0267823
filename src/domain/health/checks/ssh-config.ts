import type { SshMatch, SshServer } from "#domain/ports/network.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, type Outcome, skip } from "../check.ts";

type Options = Readonly<Record<string, string>>;

interface Finding {
  readonly option: string;
  readonly value: string;
  readonly status: "warn" | "fail";
  readonly problem: string;
  readonly advice: string;
}

const isOn = (options: Options, name: string): boolean => options[name] === "yes";

function mayAlone(options: Options, method: string): boolean {
  const lists = (options["authenticationmethods"] ?? "any").split(" ");
  return lists.some((list) => list === "any" || list.split(",").every((each) => each.split(":")[0] === method));
}

/** Options by which a password may be enough. */
const passwordWays = {
  passwordauthentication: {
    spelled: "PasswordAuthentication",
    problem: "a password is enough to log in, and passwords can be guessed",
  },
  kbdinteractiveauthentication: {
    spelled: "KbdInteractiveAuthentication",
    problem: "PAM alone is enough to log in, and asks for a password unless configured otherwise",
  },
} as const;

function passwordOption(options: Options): keyof typeof passwordWays | undefined {
  if (isOn(options, "passwordauthentication") && mayAlone(options, "password")) return "passwordauthentication";
  const asksPam = isOn(options, "usepam") && isOn(options, "kbdinteractiveauthentication");
  return asksPam && mayAlone(options, "keyboard-interactive") ? "kbdinteractiveauthentication" : undefined;
}

/** What else is wrong where a password is enough. */
const withPasswords: readonly Finding[] = [
  {
    option: "permitrootlogin",
    value: "yes",
    status: "fail",
    problem: "root may log in with a password",
    advice: "Set PermitRootLogin prohibit-password",
  },
  {
    option: "permitemptypasswords",
    value: "yes",
    status: "fail",
    problem: "accounts without a password are open to everybody",
    advice: "Set PermitEmptyPasswords no",
  },
];

const always: readonly Finding[] = [
  {
    option: "strictmodes",
    value: "no",
    status: "warn",
    problem: "key files are accepted even if other users can write to them",
    advice: "Set StrictModes yes",
  },
  {
    option: "permituserenvironment",
    value: "yes",
    status: "warn",
    problem: "users can bypass forced commands with environment variables of their own",
    advice: "Set PermitUserEnvironment no",
  },
];

function passwordFindings(options: Options): readonly Finding[] {
  const option = passwordOption(options);
  if (option === undefined) return [];
  const { problem, spelled } = passwordWays[option];
  const advice = `When all users have keys, set ${spelled} no`;
  return [{ option, value: "yes", status: "warn", problem, advice }, ...withPasswords];
}

/** Weak algorithms that no supported release offers by default. */
const broken: readonly { readonly option: string; readonly spelled: string; readonly pattern: RegExp }[] = [
  { option: "ciphers", spelled: "Ciphers", pattern: /^(3des|blowfish|cast128|arcfour)|-cbc/ },
  { option: "macs", spelled: "MACs", pattern: /^hmac-(md5|ripemd160)|^hmac-sha1-96/ },
  { option: "kexalgorithms", spelled: "KexAlgorithms", pattern: /^diffie-hellman-.*-sha1$/ },
  { option: "hostkeyalgorithms", spelled: "HostKeyAlgorithms", pattern: /^ssh-(dss|rsa)(-cert-v01@openssh\.com)?$/ },
  {
    option: "pubkeyacceptedalgorithms",
    spelled: "PubkeyAcceptedAlgorithms",
    pattern: /^ssh-(dss|rsa)(-cert-v01@openssh\.com)?$/,
  },
];

function algorithmFindings(options: Options): readonly Finding[] {
  return broken.flatMap(({ option, spelled, pattern }) => {
    const found = (options[option] ?? "").split(",").filter((name) => pattern.test(name));
    if (found.length === 0) return [];
    return [
      {
        option,
        value: found.join(","),
        status: "warn",
        problem: `${listNames(found)} ${found.length === 1 ? "is" : "are"} broken or weak`,
        advice: `Take ${listNames(found)} out of ${spelled}, or the whole line`,
      },
    ];
  });
}

function findingsIn(options: Options, { ignore }: CheckSettings): readonly Finding[] {
  const isIgnored = createIgnore(ignore.map((name) => name.toLowerCase()));
  const fixed = [...passwordFindings(options), ...always].filter(({ option, value }) => options[option] === value);
  return [...fixed, ...algorithmFindings(options)]
    .filter(({ option }) => !isIgnored(option))
    .sort((a, b) => Number(b.status === "fail") - Number(a.status === "fail"));
}

function outcomeOf(findings: readonly Finding[], note: string, more: Outcome["details"]): Outcome {
  const details = { findings, ...more };
  const [worst, ...others] = findings;
  if (worst === undefined) return { status: "pass", message: "sshd accepts only strong authentication", details };
  const rest = others.length === 0 ? "" : ` (and ${counted(others.length, "more finding")})`;
  return { status: worst.status, message: `sshd: ${worst.problem}. ${worst.advice}${rest}${note}`, details };
}

/** Judged options that a `Match` block can set, by what is judged together: each way to sign in, and algorithms. */
const inMatches = [
  [
    "authenticationmethods",
    "kbdinteractiveauthentication",
    "passwordauthentication",
    "permitemptypasswords",
    "permitrootlogin",
  ],
  ["pubkeyacceptedalgorithms"],
] as const;

/** Blocks that can give a connection other findings than it has without them. Those that several meet count together. */
function differing(options: Options, matches: readonly SshMatch[], settings: CheckSettings): readonly SshMatch[] {
  const about = matches.filter((each) => inMatches.flat().some((option) => each.options[option] !== undefined));
  const wordsOf = (given: Options): string =>
    findingsIn(given, settings)
      .map(({ problem }) => problem)
      .join();
  const usual = wordsOf(options);
  const valuesOf = (option: string): readonly (string | undefined)[] => {
    // What is taken out of a list adds nothing to it; what is added or put in front does.
    const written = about.flatMap((each) => each.options[option]?.toLowerCase() ?? []);
    const others = written.filter((value) => !value.startsWith("-")).map((value) => value.replace(/^[+^]/, ""));
    return [...new Set([options[option], ...others])];
  };
  const isOther = ([option, ...rest]: readonly string[], given: Options): boolean =>
    option === undefined
      ? wordsOf(given) !== usual
      : valuesOf(option).some((value) => isOther(rest, value === undefined ? given : { ...given, [option]: value }));
  return inMatches.some((judged) => isOther(judged, options)) ? about : [];
}

export const sshConfigCheck = ({ ssh }: { ssh: SshServer }): BuiltInCheck => ({
  id: "ssh_config",
  name: "SSH server configuration",
  category: "security",
  severity: "high",
  about:
    "sshd's effective configuration. Fails for root with a password, empty passwords, and a configuration with " +
    "which sshd would not start. Warns for a password alone, keys that others may write, user variables, and weak " +
    "algorithms. Where a `Match` block gives some connections other findings (by user, group, address or port), it " +
    "is named (`differs`), and what does not hold without it as well as for a usual user from another network is " +
    "not known. A default Debian warns, since passwords are enough; settings can ignore `passwordauthentication`. " +
    "X11 forwarding is not reported, since it endangers clients, nor `PermitRootLogin yes` where a password is not " +
    "enough. `ignore` takes names of options.",
  meaning: "sshd permits too much, or would not start with its present configuration.",
  remedy: "Change the named option in sshd_config, test it (sshd -t) and reload, with a session kept open.",
  guardedBy: "change",
  intervalMs: 10 * 60_000,
  async run(settings, signal) {
    const config = await ssh.config(signal);
    if (config === undefined) return skip("There is no SSH server on this host");
    if (config.is === "unknown") {
      const message = `The configuration of the SSH server cannot be read: ${config.reason}`;
      return { status: "skip", message, details: { reason: config.reason } };
    }
    if (config.is === "refused") {
      const message = `sshd would not start with its configuration: ${config.message}`;
      return { status: "fail", message, details: { error: config.message } };
    }
    const differs = differing(config.options, config.matches, settings);
    const all = findingsIn(config.options, settings);
    if (differs.length === 0) return outcomeOf(all, "", {});
    const [port = "22"] = (config.options["port"] ?? "22").split("\n");
    const others = await ssh.fromElsewhere(signal, port);
    const ofOthers = others.is === "valid" ? findingsIn(others.options, settings) : [];
    const certain = all.filter(({ option }) => ofOthers.some((each) => each.option === option));
    const by = listNames(differs.map(({ match }) => match));
    const details = { differs: differs.map(({ match }) => match) };
    if (certain.length > 0) return outcomeOf(certain, `; it differs by connection (${by})`, details);
    const message = `What sshd accepts differs by connection (${by}), so it is not known`;
    return skip(message, { findings: [], ...details });
  },
});
