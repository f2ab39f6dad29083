// The words of the contract: a call that every client makes, and what its user sees.

/** A call in the words of the wire; an adapter brings it into the words of its client. */
export interface Call {
  readonly kind: "chat" | "stream" | "parse" | "parse-stream" | "models" | "model";
  /** base URL, with /v1 */
  readonly url: string;
  /** null: the client sends none */
  readonly key: string | null;
  /** a chat request; of kind `model`, its `model` alone */
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

/** What a user of the client sees; what does not apply to a call is left out. */
export interface Outcome {
  /** the text of every choice */
  readonly contents?: readonly string[];
  readonly finishReasons?: readonly unknown[];
  /** of the first choice */
  readonly logprobs?: unknown;
  readonly usage?: Usage | null;
  /** what the client's structured-output feature made of the text */
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
