// Chat templates that print the date: the day belongs to the view, and no clock is ever read.
import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { readEncoderFolder } from "../../../../src/encoder/onnx/child/folder.js";
import { createTokenizer } from "../../../../src/encoder/tokenizer/tokenizer.js";
import type { View } from "../../../../src/encoder/view.js";
import { packagePath } from "../../../support/fixtures.js";
import { refusal } from "../../../support/refusal.js";

const { tokenizer: files } = await readEncoderFolder(packagePath("checkpoints/smollm2-135m/encoder"));
const head = '{{- bos_token }}{{- "system\\n" }}';
const user =
  "{%- for message in messages %}{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";
/** As Llama 3.1's: a variable with a day of its own. */
const fixedDay = `{%- if not date_string is defined %}\n    {%- set date_string = "26 Jul 2024" %}\n{%- endif %}\n${head}{{- "Today Date: " + date_string + "\\n" }}{{- '<|im_end|>\\n' }}${user}`;
/** As Llama 3.2's and 3.3's with strftime_now. */
const clockDay = `{%- if not date_string is defined %}\n    {%- if strftime_now is defined %}\n        {%- set date_string = strftime_now("%d %b %Y") %}\n    {%- else %}\n        {%- set date_string = "26 Jul 2024" %}\n    {%- endif %}\n{%- endif %}\n${head}{{- "Today Date: " + date_string + "\\n" }}{{- '<|im_end|>\\n' }}${user}`;
/** As others do: printed in a form of its own, and no variable to set. */
const printed = `${head}{{- "Current date: " + strftime_now("%A, %B %-d, %Y (%y-%m-%d %H:%M)") + "\\n" }}{{- '<|im_end|>\\n' }}${user}`;

function viewOf(templateArguments: NonNullable<View["templateArguments"]>): View {
  return { template: "chat", templateArguments, maxTokens: 2048, truncation: "middle" };
}

function ids(
  chatTemplate: string,
  templateArguments: NonNullable<View["templateArguments"]>,
): readonly number[] {
  return createTokenizer({ ...files, chatTemplate }).tokenize("Why?", viewOf(templateArguments)).ids;
}

/** The ids of the same words without any template logic. */
function written(day: string, label = "Today Date: "): readonly number[] {
  return ids(`${head}{{- "${label}${day}\\n" }}{{- '<|im_end|>\\n' }}${user}`, {});
}

/** What `work` gives at each time of the machine. */
function atTimes<T>(times: readonly string[], work: () => T): T[] {
  return times.map((time) => {
    mock.timers.enable({ apis: ["Date"], now: new Date(time) });
    try {
      return work();
    } finally {
      mock.timers.reset();
    }
  });
}

const midnight = ["2026-06-30T23:59:59Z", "2026-07-01T00:00:01Z"];

describe("a chat template that prints the date", () => {
  test("reads the day of the view, on every day alike", () => {
    for (const template of [fixedDay, clockDay]) {
      for (const day of ["30 Jun 2026", "26 Jul 2024"]) {
        const wanted = written(day);
        for (const found of atTimes(midnight, () => ids(template, { date_string: day }))) {
          assert.deepEqual(found, wanted);
        }
      }
    }
    assert.notDeepEqual(written("30 Jun 2026"), written("26 Jul 2024"));
  });

  test("tells the view's day in whatever form it wants", () => {
    const wanted = written("Tuesday, June 30, 2026 (26-06-30 00:00)", "Current date: ");
    for (const day of ["30 Jun 2026", "30 June 2026", "June 30, 2026", "2026-06-30"]) {
      for (const found of atTimes(midnight, () => ids(printed, { date_string: day })))
        assert.deepEqual(found, wanted, day);
    }
  });

  test("with a tokenizer that was made before midnight reads texts after it", () => {
    const tokenizer = createTokenizer({ ...files, chatTemplate: clockDay });
    const view = viewOf({ date_string: "30 Jun 2026" });
    const found = atTimes(midnight, () => tokenizer.tokenize("Why?", view).ids);
    assert.deepEqual(found, [written("30 Jun 2026"), written("30 Jun 2026")]);
    assert.deepEqual(...(atTimes(midnight, () => tokenizer.sharedPrefix(view)) as [number[], number[]]));
  });

  test("is refused without a day, with the remedy", () => {
    for (const template of [clockDay, printed]) {
      for (const message of atTimes(midnight, () => refusal("encoder", () => ids(template, {})).message)) {
        assert.match(message, /prints the date, and chat_template_kwargs name none; /);
        assert.match(message, /--chat-template-kwargs '\{"date_string":"26 Jul 2024"\}'/);
      }
    }
    for (const wrong of ["today", "31 Feb 2026", 5, "5"]) {
      const { message } = refusal("encoder", () => ids(printed, { date_string: wrong }));
      assert.match(message, /date_string is not a day such as "26 Jul 2024"/);
    }
  });

  test("that has a day of its own needs none", () => {
    assert.deepEqual(ids(fixedDay, {}), written("26 Jul 2024"));
    assert.deepEqual(ids(fixedDay, { date_string: "any words" }), written("any words"));
  });

  test("is as large in the encoder's facts on every day", () => {
    const sizes = atTimes(midnight, () =>
      createTokenizer({ ...files, chatTemplate: printed }).templateSize("chat"),
    );
    assert.equal(sizes[0], sizes[1]);
  });
});

describe("a chat template that fails", () => {
  test("is refused when the tokenizer is made, with its error", () => {
    const wrong = "{{ raise_exception('only for tools') }}";
    const { message } = refusal("encoder", () => createTokenizer({ ...files, chatTemplate: wrong }));
    assert.match(message, /^the chat template fails: only for tools; mend chat_template\.jinja/);
    assert.match(
      refusal("encoder", () => createTokenizer({ ...files, chatTemplate: "{% if %}" })).message,
      /^the chat template fails: .+; mend/,
    );
  });

  test("with the view's arguments alone is refused for that view", () => {
    const template = `{%- if strict %}{{ raise_exception('not strict') }}{%- endif %}${user}`;
    const tokenizer = createTokenizer({ ...files, chatTemplate: template });
    assert.ok(tokenizer.tokenize("Why?", viewOf({})).ids.length > 0);
    const { message } = refusal("encoder", () => tokenizer.tokenize("Why?", viewOf({ strict: true })));
    assert.match(message, /the chat template fails: not strict; /);
  });

  test("on some texts fails those alone, and tells nothing of them", () => {
    const template = `{%- if 'secret' in messages[0]['content'] %}{{ raise_exception(messages[0]['content']) }}{%- endif %}${user}`;
    const tokenizer = createTokenizer({ ...files, chatTemplate: template });
    assert.ok(tokenizer.tokenize("Why?", viewOf({})).ids.length > 0);
    assert.throws(() => tokenizer.tokenize("a secret", viewOf({})));
  });
});
