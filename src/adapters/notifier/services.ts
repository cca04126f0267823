import { type ChatTarget, chatService } from "./chat.ts";
import { type GotifyTarget, gotifyService } from "./gotify.ts";
import type { HttpService } from "./http.ts";
import { type MatrixTarget, matrixService } from "./matrix.ts";
import { type NtfyTarget, ntfyService } from "./ntfy.ts";
import { type OpsgenieTarget, opsgenieService } from "./opsgenie.ts";
import { type PagerdutyTarget, pagerdutyService } from "./pagerduty.ts";
import { type TeamsTarget, teamsService } from "./teams.ts";
import { type TelegramTarget, telegramService } from "./telegram.ts";
import { type WebhookTarget, webhookService } from "./webhook.ts";

export type HttpTarget =
  | ChatTarget
  | NtfyTarget
  | GotifyTarget
  | TelegramTarget
  | MatrixTarget
  | TeamsTarget
  | PagerdutyTarget
  | OpsgenieTarget
  | WebhookTarget;

/** @param host name of this host, for services that want to know what a message comes from. */
export function httpService(target: HttpTarget, host: string): HttpService {
  switch (target.service) {
    case "chat":
      return chatService(target);
    case "ntfy":
      return ntfyService(target);
    case "gotify":
      return gotifyService(target);
    case "telegram":
      return telegramService(target);
    case "matrix":
      return matrixService(target);
    case "teams":
      return teamsService(target);
    case "pagerduty":
      return pagerdutyService(target, host);
    case "opsgenie":
      return opsgenieService(target, host);
    case "webhook":
      return webhookService(target, host);
  }
}
