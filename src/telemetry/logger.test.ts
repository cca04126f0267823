import { expect, it } from "vitest";
import { onceAMinute } from "./logger.ts";

it("repeated log messages are logged once a minute", () => {
  const said: string[] = [];
  let now = 0;
  const tell = onceAMinute(
    (message, aside) => void said.push(`${message} ${aside ?? ""}`.trim()),
    () => now,
  );
  for (let count = 0; count < 1000; count += 1) tell("database or disk is full");
  tell("file is not a database", "traces.db.damaged");
  now = 59_999;
  tell("database or disk is full");
  expect(said).toEqual(["database or disk is full", "file is not a database traces.db.damaged"]);
  now = 60_000;
  tell("database or disk is full");
  expect(said).toHaveLength(3);
});

it("repeated log messages are remembered in a bounded number", () => {
  let said = 0;
  const tell = onceAMinute(
    () => {
      said += 1;
    },
    () => 0,
  );
  for (let count = 0; count < 250; count += 1) tell(`trouble ${count}`);
  tell("trouble 0");
  expect(said).toBe(251);
});
