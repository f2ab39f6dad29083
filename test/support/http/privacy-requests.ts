// Requests with a marker wherever a client may type.

import { chat } from "../judge-server.js";
import { apiRequests } from "./api-requests.js";
import { key, marker, type Probe, wrongKey } from "./privacy-leaks.js";
import { chatPath } from "./raw-socket.js";

export const text = `tell nobody ${marker}`;

/** A chat request about `content`, as JSON. */
export function json(content: unknown, more: object = {}): string {
  return JSON.stringify(chat(content, more));
}

/** What must hold for every API, each with the status it gets. */
const ofEveryApi = [
  ...apiRequests(text).map((sent) => [200, "an answer", sent] as const),
  ...apiRequests(text, { stream: true }).map((sent) => [200, "a stream", sent] as const),
  ...apiRequests(text, { model: marker }).map((sent) => [404, "an unknown model", sent] as const),
  ...apiRequests(text, { stream: marker }).map((sent) => [400, "a stream of a wrong type", sent] as const),
].map(([status, name, { api, path, body }]) => [`${name} of ${api.name}`, [status, { path, body }]] as const);

/** Where a client may type, each with the status it gets. */
export const requests: Readonly<Record<string, readonly [number, Probe]>> = {
  ...Object.fromEntries(ofEveryApi),
  "a judged text and every other field": [
    200,
    { body: json(text, { user: text, stop: [text], metadata: { [marker]: text }, tools: [{ name: text }] }) },
  ],
  "a score": [200, { path: "/v1/score", body: JSON.stringify({ prompts: [text, text] }) }],
  "a response's instructions": [
    200,
    { path: "/v1/responses", body: JSON.stringify({ input: text, instructions: text }) },
  ],
  "a message's system and user": [
    200,
    { path: "/v1/messages", body: json(text, { system: text, metadata: { user_id: text } }) },
  ],
  "a schema of custom mode": [
    200,
    {
      body: json(text, {
        response_format: {
          type: "json_schema",
          json_schema: {
            name: "switchyard_classifier_response",
            schema: { $ref: `http://${marker}`, pattern: marker },
          },
        },
      }),
    },
  ],
  "an unknown model of a message": [404, { path: "/v1/messages", body: json(text, { model: marker }) }],
  "an input of a wrong type": [
    400,
    { path: "/v1/responses", body: JSON.stringify({ input: { [marker]: text } }) },
  ],
  "a request id that is no id": [200, { body: json(text), headers: { "x-request-id": `${marker}/../x` } }],
  "an unknown model": [404, { body: json(text, { model: marker }) }],
  "an unknown model of a score": [
    404,
    { path: "/score", body: `{"model":"${marker}","prompts":["${text}"]}` },
  ],
  "an unknown model in the path": [404, { path: `/v1/models/${marker}`, method: "GET" }],
  "an unknown path": [404, { path: `/${marker}/${marker}?${marker}=${marker}`, body: json(text) }],
  "a query": [405, { path: `${chatPath}?api-key=${key}&${marker}`, method: "DELETE" }],
  "broken JSON": [400, { body: `{"messages":[{"role":"user","content":"${text}" ${marker}}]}` }],
  "JSON that stops in the text": [400, { body: `{"messages":[{"role":"user","content":"${text}` }],
  "bytes that are not UTF-8": [400, { body: Buffer.concat([Buffer.from(json(text)), Buffer.from([0xff])]) }],
  "a model of a wrong type": [400, { body: json(text, { model: [marker] }) }],
  "a role of a wrong type": [400, { body: JSON.stringify({ messages: [{ role: { [marker]: 1 } }] }) }],
  "content of a wrong type": [400, { body: json({ [marker]: text }) }],
  "a part of a wrong type": [400, { body: json([{ type: "text", text: { [marker]: text } }]) }],
  "an n and a stream of a wrong type": [400, { body: json(text, { n: marker, stream: marker }) }],
  "a prompt of a wrong type": [
    400,
    { path: "/score", body: JSON.stringify({ prompts: [{ [marker]: text }] }) },
  ],
  "a key that a score does not know": [
    400,
    { path: "/score", body: JSON.stringify({ prompts: [text], [marker]: 1 }) },
  ],
  "a body that is text": [400, { body: JSON.stringify(text) }],
  "a coding of the body": [415, { body: json(text), headers: { "content-encoding": marker } }],
  "a charset": [415, { body: json(text), headers: { "content-type": `text/plain; charset=${marker}` } }],
  "a wrong key": [401, { body: json(text), headers: { authorization: `Bearer ${wrongKey}` } }],
  "a wrong scheme": [401, { body: json(text), headers: { authorization: `${marker} ${key}` } }],
  "another method": [405, { path: chatPath, method: "PATCH", body: json(text) }],
};
