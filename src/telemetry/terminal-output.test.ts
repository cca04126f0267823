import { expect, it } from "vitest";
import { createLogs } from "./logger.ts";
import { forPeople } from "./outputs.ts";

it("log lines at a terminal have local time, level, message and members, and nothing that a terminal acts upon", () => {
  const lines: string[] = [];
  const { log } = createLogs({ level: "info", writer: forPeople({ write: (line) => lines.push(line) }) });
  log.info("system bus connected");
  log.warn({ method: "GET", status: 503, caller: null, agent: 'a "b"\u001b[2J\u0007\u202e\nc', empty: "" });
  log.error({ api_key: "stw_secret", err: new Error("no space") }, "key store lost");
  const time = /^\d\d:\d\d:\d\d /;
  for (const line of lines) expect(line).toMatch(time);
  const [connected, refused, lost = ""] = lines.map((line) => line.replace(time, ""));
  expect(connected).toBe("info  system bus connected\n");
  expect(refused).toBe('warn   method=GET status=503 caller=null agent="a \\"b\\"\\u001b[2J\\u0007 \\nc" empty=""\n');
  expect(lost).toMatch(/^error key store lost api_key=\[secret\] err=\{"type":"Error","message":"no space"/);
  expect(lines.join("").match(/\n/g)).toHaveLength(3);
});
