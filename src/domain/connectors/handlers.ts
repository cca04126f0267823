import type { connectors as rows } from "#contract/connectors.ts";
import { EventStream, type Handlers } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { ConnectorDefinition } from "#domain/ports/connectors.ts";
import { counted } from "#kernel/text.ts";
import type { Chat } from "./chat.ts";
import type { ChosenConnector } from "./chat-call.ts";
import type { Connectors } from "./connectors.ts";

const describeConnector = ({ name, provider, model }: ConnectorDefinition): string =>
  `connector ${name} (${provider}, model ${model})`;

const chatStep = ({ definition }: ChosenConnector, messages: number): string =>
  `send ${counted(messages, "message")} to ${describeConnector(definition)}`;

export function connectorHandlers(ports: {
  readonly connectors: Connectors;
  readonly chat: Chat;
}): Handlers<typeof rows> {
  const { connectors, chat } = ports;
  return {
    async listConnectors() {
      await connectors.ready();
      return connectors.list();
    },
    async getConnector({ params: { name } }) {
      await connectors.ready();
      const connector = connectors.list().connectors.find((each) => each.name === name);
      if (connector === undefined) throw new DomainError("NOT_FOUND", `cannot find connector ${name}`);
      return connector;
    },
    async testConnector({ params, query }, context) {
      await connectors.ready();
      const definition = connectors.find(params.name);
      if (definition === undefined) throw new DomainError("NOT_FOUND", `cannot find connector ${params.name}`);
      if (query.dry_run) return createPlan([`ask ${describeConnector(definition)} whether it would answer`]);
      return connectors.test(definition, context.signal());
    },
    async chat({ query, body }, context) {
      const { connector, messages, max_tokens: maxTokens, temperature, stream = false } = body;
      const input = { connector, messages, maxTokens, temperature };
      if (query.dry_run) return createPlan([chatStep(await chat.choose(connector, context), messages.length)]);
      return stream ? new EventStream(chat.stream(input, context)) : chat.ask(input, context);
    },
  };
}
