// Reads prompts as the server reads them, for the tests of label files.

import type { TextReader } from "../../../src/labels/label-record.js";
import { judgedText, readableText } from "../../../src/prompt/judged-text.js";
import { chatDialect, messageList, readMessages } from "../../../src/prompt/message-list.js";

export const textReader: TextReader = {
  readPrompt: readableText,
  readMessages(messages) {
    const checked = messageList(chatDialect).safeParse(messages);
    return checked.success ? judgedText(readMessages(checked.data, chatDialect)).text : null;
  },
};
