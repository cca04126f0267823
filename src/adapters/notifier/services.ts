import { type ChatTarget, chatService } from "./chat.ts";
import type { HttpService } from "./http.ts";

export type HttpTarget = ChatTarget;

export const httpService = (target: HttpTarget): HttpService => chatService(target);
