import { timeRequests } from "../time-requests.ts";

/** Runs inside the test host: `time-requests.ts URL COUNT`, the key in STEWARD_API_KEY. Prints the times as JSON. */
const [, , url = "", count = "1"] = process.argv;
const { medianMs, body } = await timeRequests(
  url,
  { "X-API-Key": process.env["STEWARD_API_KEY"] ?? "" },
  Number(count),
);
const { services, total } = JSON.parse(body) as { services: readonly unknown[]; total: number };
console.log(JSON.stringify({ medianMs, listed: services.length, total }));
