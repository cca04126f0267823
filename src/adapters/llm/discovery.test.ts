import { expect, it } from "vitest";
import { ollamaAddress } from "./discovery.ts";

it.each([
  [undefined, "http://127.0.0.1:11434"],
  ["", "http://127.0.0.1:11434"],
  ["127.0.0.1", "http://127.0.0.1:11434"],
  ["127.0.0.1:9000", "http://127.0.0.1:9000"],
  [" localhost:9000 ", "http://localhost:9000"],
  [":9000", "http://127.0.0.1:9000"],
  ["0.0.0.0", "http://127.0.0.1:11434"],
  ["0.0.0.0:9000", "http://127.0.0.1:9000"],
  ["[::]:9000", "http://[::1]:9000"],
  ["[::1]", "http://[::1]:11434"],
  ["http://127.0.0.1:9000/", "http://127.0.0.1:9000"],
  ["https://localhost:9000/path/", "https://localhost:9000/path"],
  ["192.0.2.1", undefined],
  ["ollama.example.org:11434", undefined],
  ["127.0.0.1.example.org", undefined],
  ["127.0.0.1@example.org", undefined],
  ["http://me:secret@127.0.0.1", undefined],
  ["169.254.169.254", undefined],
  ["127.0.0.1:99999", undefined],
  ["127.0.0.999", undefined],
  ["ftp://127.0.0.1", undefined],
  ["not a host", undefined],
])("OLLAMA_HOST=%s means a local Ollama at %s", (host, expected) => {
  expect(ollamaAddress(host)).toBe(expected);
});
