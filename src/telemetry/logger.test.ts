import { expect, it } from "vitest";
import { createLogs, onceAMinute } from "./logger.ts";

it("repeated log messages are logged once a minute", () => {
  const said: string[] = [];
  let now = 0;
  const report = onceAMinute(
    (message, aside) => void said.push(`${message} ${aside ?? ""}`.trim()),
    () => now,
  );
  for (let count = 0; count < 1000; count += 1) report("database or disk is full");
  report("file is not a database", "traces.db.damaged");
  now = 59_999;
  report("database or disk is full");
  expect(said).toEqual(["database or disk is full", "file is not a database traces.db.damaged"]);
  now = 60_000;
  report("database or disk is full");
  expect(said).toHaveLength(3);
});

it("repeated log messages are remembered in a bounded number", () => {
  let said = 0;
  const report = onceAMinute(
    () => {
      said += 1;
    },
    () => 0,
  );
  for (let count = 0; count < 250; count += 1) report(`trouble ${count}`);
  report("trouble 0");
  expect(said).toBe(251);
});

it("the line of a request has its members in one form, whatever they hold, at the levels that are written", () => {
  const lines: string[] = [];
  const { log, requestLog } = createLogs({ level: "info", writer: { write: (line) => void lines.push(line) } });
  const line = {
    request_id: "AbCdEfGh-1",
    trace_id: undefined,
    key_id: undefined,
    session_id: undefined,
    method: "GET",
    endpoint: "/api/v1/system/services/{name}",
    status: 200,
    duration_ms: 0.125,
    remote_address: 'a "b"\n{}',
  };
  requestLog("debug", line);
  requestLog("info", line);
  log.info(line, "request");
  expect(lines).toHaveLength(2);
  const [request = "", other = ""] = lines.map((each) => each.replace(/"time":"[^"]+"/, '"time":""'));
  expect(request).toBe(other);
  expect(JSON.parse(request)).toMatchObject({ level: "info", remote_address: 'a "b"\n{}', msg: "request" });
});
