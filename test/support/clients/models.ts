// An OpenAI-compatible endpoint in the place of a router's models. Every model answers with its own id.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface Models {
  /** without /v1 */
  readonly url: string;
  close(): void;
}

export async function startModels(): Promise<Models> {
  const server = createServer(async (request, response) => {
    const { model } = (await json(request)) as { model: string };
    const message = { role: "assistant", content: model };
    const body = {
      id: "chatcmpl-model",
      object: "chat.completion",
      created: 0,
      model,
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
