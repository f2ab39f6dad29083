// A call that every client of the contract makes, and what its user sees.

/** A call as it is on the wire. The adapter of a client translates it for the client. */
export interface Call {
  readonly kind: "chat" | "stream" | "parse" | "parse-stream" | "models" | "model";
  /** base URL, with /v1 */
  readonly url: string;
  /** null: the client sends none */
  readonly key: string | null;
  /** a chat request; for the kind `model`, only its `model` */
  readonly body: Body;
}

export interface Body {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly stream_options?: { readonly include_usage: boolean };
  readonly [option: string]: unknown;
}

export interface Message {
  readonly role: "system" | "developer" | "user" | "assistant";
  readonly content: string | readonly Part[];
}
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };

/** What a user of the client sees. Parts that do not apply to a call are absent. */
export interface Outcome {
  /** the text of every choice */
  readonly contents?: readonly string[];
  readonly finishReasons?: readonly unknown[];
  /** that of the first choice */
  readonly logprobs?: unknown;
  readonly usage?: Usage | null;
  /** the text as the client's structured-output feature parsed it */
  readonly parsed?: unknown;
  readonly models?: readonly string[];
  readonly error?: {
    readonly className: string;
    readonly message: string;
    readonly status: number;
    readonly code: unknown;
  };
}

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}
