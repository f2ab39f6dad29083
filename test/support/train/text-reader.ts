// Prompts read as the server reads them, for tests of label files.
import { ChatRequest, toMessages } from "../../../src/http/apis/chat-schema.js";
import type { TextReader } from "../../../src/labels/label-record.js";
import { judgedText, readableText } from "../../../src/prompt/judged-text.js";

export const textReader: TextReader = {
  readPrompt: readableText,
  readMessages(messages) {
    const request = ChatRequest.safeParse({ messages });
    return request.success ? judgedText(toMessages(request.data)).text : null;
  },
};
