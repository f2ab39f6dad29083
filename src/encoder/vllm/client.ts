// Asks one vLLM server: token ids in, the path of a file out. Opens no file, and waits as long as its signal.
import {
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import * as z from "zod";
import { JudgeError } from "../../errors.js";
import { parseReply, refusalOf } from "./reply.js";
import { connectionLost } from "./server-faults.js";

export interface ClientParts {
  /** the model's name on the server */
  readonly servedModel: string;
  readonly apiKey: string | null;
  /** sockets at most */
  readonly maxInFlight: number;
}

export interface ServedModel {
  readonly id: string;
  /** tokens that the server takes, the generated one included; null where it does not say */
  readonly contextLength: number | null;
}

export interface Prefilled {
  /** of the file, as the server names it, unchecked */
  readonly path: string;
  /** of the server's configuration; null where it tells none */
  readonly fingerprint: string | null;
}

export interface Client {
  /** name and port of the server, for messages */
  readonly host: string;
  /**
   * One prefill.
   * @param id becomes a part of the file's name
   * @throws JudgeError `encoder_down` when the server does not answer, as a ServerLost where the
   *   connection was lost; `encoder_error` for what it refuses; `overloaded`; `signal.reason` when aborted
   */
  prefill(ids: readonly number[], id: string, signal: AbortSignal): Promise<Prefilled>;
  /** What the server offers. Fails as above. */
  models(signal: AbortSignal): Promise<ServedModel[]>;
  /** The server's own token ids of a text, special tokens included. Fails as above. */
  tokenize(text: string, signal: AbortSignal): Promise<number[]>;
  /** Ends every socket. */
  close(): void;
}

const maxReplyBytes = 1 << 20;
/** Below the 5 seconds after which the server ends idle sockets, so that none is reused just as it ends. */
const idleSocketMs = 4000;
const PrefillReply = z.looseObject({
  kv_transfer_params: z.looseObject({ hidden_states_path: z.string().min(1) }),
  system_fingerprint: z.string().nullish().catch(null),
});
const ModelsReply = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), max_model_len: z.int().positive().nullish() })),
});
const TokenizeReply = z.looseObject({ tokens: z.array(z.int().nonnegative()) });

/** @param baseUrl such as `http://127.0.0.1:8000/v1` */
export function createClient(baseUrl: string, { servedModel, apiKey, maxInFlight }: ClientParts): Client {
  const base = baseUrl.replace(/\/+$/, "");
  const isTls = base.startsWith("https:");
  const settings = { keepAlive: true, maxSockets: maxInFlight, timeout: idleSocketMs };
  const agent = isTls ? new HttpsAgent(settings) : new HttpAgent(settings);
  const send = isTls ? requestHttps : requestHttp;

  /** The JSON of a reply with status 200; null for what is no JSON. */
  async function ask(
    url: string,
    body: object | null,
    signal: AbortSignal,
    more: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const text = body === null ? null : JSON.stringify(body);
    const headers = {
      ...(text !== null && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
      ...more,
    };
    const method = text === null ? "GET" : "POST";
    try {
      const reply = await exchange(send, new URL(url), { method, agent, headers, signal }, text);
      if (reply.status !== 200) throw refusalOf(reply.status, reply.text);
      return parseReply(reply.text);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof JudgeError ? error : connectionLost(error);
    }
  }

  return {
    host: new URL(base).host,
    async models(signal) {
      const reply = ModelsReply.safeParse(await ask(`${base}/models`, null, signal));
      const models = reply.data?.data ?? [];
      return models.map(({ id, max_model_len: length }) => ({ id, contextLength: length ?? null }));
    },
    async prefill(ids, id, signal) {
      const body = {
        model: servedModel,
        prompt: ids,
        max_tokens: 1,
        kv_transfer_params: { include_output_tokens: false },
      };
      const named = { "x-request-id": id };
      const reply = PrefillReply.safeParse(await ask(`${base}/completions`, body, signal, named));
      if (!reply.success)
        throw new JudgeError("encoder_error", {
          found: "the vLLM server's reply names no hidden_states_path",
          remedy: "start it with extract_hidden_states and the ExampleHiddenStatesConnector",
        });
      const { kv_transfer_params: params, system_fingerprint: fingerprint = null } = reply.data;
      return { path: params.hidden_states_path, fingerprint };
    },
    async tokenize(text, signal) {
      const body = { model: servedModel, prompt: text, add_special_tokens: true };
      const url = `${base.replace(/\/v1$/, "")}/tokenize`;
      const reply = TokenizeReply.safeParse(await ask(url, body, signal));
      if (reply.success) return reply.data.tokens;
      throw new JudgeError("encoder_error", { found: "the vLLM server's reply names no tokens" });
    },
    close: () => agent.destroy(),
  };
}

interface Exchange {
  readonly status: number;
  readonly text: string;
}

/** A request whose kept socket the server ended meanwhile is sent again: a prefill changes nothing. */
async function exchange(
  send: typeof requestHttp,
  url: URL,
  options: RequestOptions,
  body: string | null,
): Promise<Exchange> {
  for (;;) {
    const request = send(url, options);
    try {
      return await new Promise((resolve, reject) => {
        request.on("response", (response) => {
          readText(response).then((text) => resolve({ status: response.statusCode!, text }), reject);
        });
        request.on("error", reject);
        // without a listener Node drops the connection and tells nobody
        request.on("upgrade", (_, socket) => {
          socket.destroy();
          reject(new Error("the server switches protocols"));
        });
        request.end(body);
      });
    } catch (error) {
      const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === "ECONNRESET";
      if (!isStale) throw error;
    }
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    // leaving the loop ends the socket
    if (size > maxReplyBytes) {
      throw new JudgeError("encoder_error", {
        found: "the vLLM server's reply is over 1 MiB",
        remedy: "set base_url to a vLLM server",
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
