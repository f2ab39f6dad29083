// Asks vLLM servers in turn for one prefill: token ids in, the path of a file out. Opens no file.
import {
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import * as z from "zod";
import { withTimeout } from "../../abort.js";
import { JudgeError } from "../../errors.js";
import { parseReply, refusalOf } from "./reply.js";

export interface ClientParts {
  /** such as `http://127.0.0.1:8000/v1`, tried in turn */
  readonly baseUrls: readonly string[];
  /** the model's name on the server */
  readonly servedModel: string;
  readonly apiKey: string | null;
  /** how long one server may take for one reply */
  readonly timeoutMs: number;
  readonly maxInFlight: number;
}

export interface ServedModel {
  readonly id: string;
  /** tokens that the server takes, the generated one included; null where it does not say */
  readonly contextLength: number | null;
}

export interface Client {
  /**
   * One prefill.
   * @returns the path that the server names, unchecked
   * @throws JudgeError `encoder_down` when no server answers; `encoder_error` for what a server refuses;
   *   `overloaded` when all that answer are; `signal.reason` when aborted
   */
  prefill(ids: readonly number[], signal: AbortSignal): Promise<string>;
  /** What the server offers. Fails as above. */
  models(signal: AbortSignal): Promise<ServedModel[]>;
  /** Ends every socket. */
  close(): void;
}

const maxReplyBytes = 1 << 20;
/** Below the 5 seconds after which the server ends idle sockets, so that none is reused just as it ends. */
const idleSocketMs = 4000;
const Reply = z.looseObject({
  kv_transfer_params: z.looseObject({ hidden_states_path: z.string().min(1) }),
});
const ModelsReply = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), max_model_len: z.int().positive().nullish() })),
});

export function createClient(parts: ClientParts): Client {
  const { baseUrls, servedModel, apiKey } = parts;
  const options = { keepAlive: true, maxSockets: parts.maxInFlight, timeout: idleSocketMs };
  const agents = { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };
  const late = () =>
    new JudgeError("encoder_down", {
      found: `the vLLM server gave no reply within ${parts.timeoutMs} ms`,
      remedy: "see its own log, or raise request_timeout_ms",
    });
  /** the server that answered last is asked first */
  let preferred = 0;

  /** The JSON of a reply with status 200. */
  async function ask(
    baseUrl: string,
    path: string,
    body: string | null,
    signal: AbortSignal,
  ): Promise<unknown> {
    const url = new URL(`${baseUrl.replace(/\/+$/, "")}${path}`);
    const agent = agents[url.protocol as keyof typeof agents];
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const headers = {
      ...(body !== null && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
    };
    const method = body === null ? "GET" : "POST";
    const { status, text } = await exchange(send, url, { method, agent, headers, signal }, body);
    if (status !== 200) throw refusalOf(status, text, path);
    return parseReply(text);
  }

  /** Asks the servers in turn until one answers. */
  async function askInTurn(path: string, body: string | null, signal: AbortSignal): Promise<unknown> {
    let fault: unknown;
    for (let turn = 0; turn < baseUrls.length; turn++) {
      const index = (preferred + turn) % baseUrls.length;
      try {
        const reply = await withTimeout(parts.timeoutMs, late, signal, (limited) =>
          ask(baseUrls[index]!, path, body, limited),
        );
        preferred = index;
        return reply;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof JudgeError && error.code === "encoder_error") throw error;
        // "overloaded" outlives "down": that server will answer again
        if (!(fault instanceof JudgeError && fault.code === "overloaded")) fault = error;
      }
    }
    throw fault instanceof JudgeError
      ? fault
      : new JudgeError("encoder_down", {
          found: "no vLLM server answers",
          remedy: "check base_url and the server's own log",
          cause: fault,
        });
  }

  return {
    async models(signal) {
      const reply = ModelsReply.safeParse(await askInTurn("/models", null, signal));
      const models = reply.data?.data ?? [];
      return models.map(({ id, max_model_len: length }) => ({ id, contextLength: length ?? null }));
    },
    async prefill(ids, signal) {
      const body = JSON.stringify({
        model: servedModel,
        prompt: ids,
        max_tokens: 1,
        kv_transfer_params: { include_output_tokens: false },
      });
      const reply = Reply.safeParse(await askInTurn("/completions", body, signal));
      if (reply.success) return reply.data.kv_transfer_params.hidden_states_path;
      throw new JudgeError("encoder_error", {
        found: "the vLLM server's reply names no hidden_states_path",
        remedy: "start it with extract_hidden_states and the ExampleHiddenStatesConnector",
      });
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
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
