// A message of a request, whatever API it came through.

/** A message whose content was reduced to its text parts. */
export interface Message {
  readonly role: string;
  readonly content: MessageContent;
}

export interface MessageContent {
  /** the texts of its text parts, in order */
  readonly texts: readonly string[];
  /** the number of parts that are not text: images, audio, files */
  readonly otherParts: number;
  /** what is malformed in it, and where; it is an error only if the message must be read */
  readonly fault?: { readonly place: string; readonly found: string };
}
