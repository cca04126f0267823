import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";

/** Seconds from the epoch of NTP and the time protocol to that of Unix. */
const epochOffsetSeconds = 2_208_988_800;

interface Peer {
  /** What it says first. */
  readonly greeting?: () => Buffer | string;
  /** What it answers; it hangs up without one. */
  readonly answer?: (text: string) => string;
  /** Whether its answer is the last thing it says. */
  readonly hangsUp?: true;
}

function nutAnswer(text: string): string {
  const values: Readonly<Record<string, string>> = {
    "ups.status": "OL",
    "input.voltage": "230.0",
    "battery.charge": "95",
    "ups.load": "20",
    "ups.temperature": "25.0",
  };
  const answers = text.split("\n").map((line) => {
    const [verb, kind, ups, name = ""] = line.split(" ");
    if (verb === "LIST" && kind === "UPS") return 'BEGIN LIST UPS\nUPS myups "test"\nEND LIST UPS\n';
    if (verb !== "GET") return verb === "LOGOUT" ? "OK Goodbye\n" : "";
    const value = values[name];
    return value === undefined ? "ERR VAR-NOT-SUPPORTED\n" : `VAR ${ups} ${name} "${value}"\n`;
  });
  return answers.join("");
}

const http = (status: string): string =>
  `HTTP/1.1 ${status}\r\nServer: test\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n`;

/** As much of each protocol as its plugin asks for. */
const streamPeers = {
  smtp: {
    greeting: () => "220 mail.test ESMTP\r\n",
    answer: (text) => (/^QUIT/i.test(text) ? "221 bye\r\n" : "250 ok\r\n"),
  },
  ftp: { greeting: () => "220 ftp ready\r\n", answer: () => "221 bye\r\n" },
  imap: { greeting: () => "* OK imap ready\r\n", answer: () => "* BYE\r\n" },
  pop: { greeting: () => "+OK pop ready\r\n", answer: () => "+OK bye\r\n" },
  nntp: { greeting: () => "200 news ready\r\n", answer: () => "205 bye\r\n" },
  jabber: {
    answer: () =>
      "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>",
  },
  clamd: { answer: () => "PONG\n" },
  time: {
    greeting: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(Math.floor(Date.now() / 1000) + epochOffsetSeconds);
      return bytes;
    },
  },
  ups: { answer: nutAnswer },
  nsclient: { answer: (text) => (text.split("&")[1] === "4" ? "7" : "NSClient 1.0") },
  http: { answer: () => http("200 OK"), hangsUp: true },
  broken: { answer: () => http("503 Service Unavailable"), hangsUp: true },
  real: { answer: () => "RTSP/1.0 200 OK\r\nServer: test\r\n\r\n" },
  plain: { greeting: () => "hello there\n", answer: () => "bye\n" },
} as const satisfies Record<string, Peer>;

/** An NTP server of stratum 2 that agrees with the clock. */
function ntpAnswer(question: Buffer): Buffer {
  const seconds = Date.now() / 1000 + epochOffsetSeconds;
  const now = Buffer.alloc(8);
  now.writeUInt32BE(Math.floor(seconds));
  now.writeUInt32BE(Math.floor((seconds % 1) * 2 ** 32), 4);
  const head = Buffer.from([0x24, 2, 6, 0xec, 0, 0, 0, 0, 0, 0, 0, 0, 0x4c, 0x4f, 0x43, 0x4c]);
  return Buffer.concat([head, now, question.subarray(40, 48), now, now]);
}

/** The control protocol of NTP: one peer, which is the one that the clock follows. */
function ntpControlAnswer(question: Buffer): Buffer {
  const operation = (question[1] ?? 0) & 0x1f;
  const readStatus = 1;
  const data =
    operation === readStatus ? Buffer.from([0, 1, 0x96, 0x1a]) : Buffer.from("offset=0.125,jitter=0.500,stratum=2\0");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length);
  const head = Buffer.from([0x16, 0x80 | operation]);
  const status = Buffer.from([0x06, 0x15]);
  return Buffer.concat([head, question.subarray(2, 4), status, question.subarray(6, 8), Buffer.alloc(2), length, data]);
}

const datagramPeers = {
  ntp: ntpAnswer,
  ntpControl: ntpControlAnswer,
  udp: () => Buffer.from("pong"),
} as const satisfies Record<string, (question: Buffer) => Buffer>;

type PeerName = keyof typeof streamPeers | keyof typeof datagramPeers;

export interface PluginPeers {
  /** Where each listens on loopback. */
  readonly ports: Readonly<Record<PeerName, number>>;
  readonly close: () => void;
}

async function startStream({ greeting, answer, hangsUp }: Peer): Promise<{ port: number; close: () => void }> {
  const server = createServer((socket) => {
    // A plugin that has seen enough hangs up.
    socket.on("error", () => undefined);
    if (greeting !== undefined) socket.write(greeting());
    socket.on("data", (data) => {
      if (answer !== undefined) socket.write(answer(data.toString("latin1")));
      if (answer === undefined || hangsUp) socket.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

async function startDatagram(answer: (question: Buffer) => Buffer): Promise<{ port: number; close: () => void }> {
  const socket = createSocket("udp4");
  socket.on("message", (question, { port, address }) => socket.send(answer(question), port, address));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { port: socket.address().port, close: () => socket.close() };
}

/** Starts servers in this process for the network plugins of a host that shares its network. */
export async function startPluginPeers(): Promise<PluginPeers> {
  const started = await Promise.all([
    ...Object.entries<Peer>(streamPeers).map(async ([name, peer]) => [name, await startStream(peer)] as const),
    ...Object.entries(datagramPeers).map(async ([name, answer]) => [name, await startDatagram(answer)] as const),
  ]);
  const ports = Object.fromEntries(started.map(([name, { port }]) => [name, port])) as PluginPeers["ports"];
  return {
    ports,
    close: () => {
      for (const [, { close }] of started) close();
    },
  };
}

/** A port of loopback that nothing listens on. */
export async function freePort(): Promise<number> {
  const { port, close } = await startStream({});
  close();
  return port;
}
